"""Every rule module is what :mod:`vnicaudit.model.rule` says a rule of its scope is.

mypy cannot tell: the engine finds rules by their place, and a module found so has no type.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from vnicaudit.audit.catalogue import MANIFESTS, SERVERS, judges, load_for, module_of, rule_ids
from vnicaudit.audit.facts import FACTS
from vnicaudit.model.domain import DomainConfig, DomainState
from vnicaudit.model.effective import UNKNOWN, Effective, Resolved
from vnicaudit.model.host import HostConfig
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.macs import NicSeen
from vnicaudit.model.nic import NicConfig, RunningNic
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.rule import (
    ConfigSubject,
    DomainSubject,
    FlavorSubject,
    HostSubject,
    ImageSubject,
    MacSubject,
    PreferenceSubject,
    Scope,
    SiteSubject,
    Subject,
)
from vnicaudit.model.rule_module import (
    ConfigRule,
    DomainRule,
    FlavorRule,
    HostRule,
    ImageRule,
    MacRule,
    NicRule,
    PreferenceRule,
    Rule,
    SiteRule,
)
from vnicaudit.model.site import Node

PROTOCOLS: dict[str, Any] = {
    "nic": NicRule,
    "domain": DomainRule,
    "host": HostRule,
    "config": ConfigRule,
    "image": ImageRule,
    "flavor": FlavorRule,
    "preference": PreferenceRule,
    "site": SiteRule,
    "mac": MacRule,
}

_NOTHING: Resolved[Any] = Resolved(None, None, "", UNKNOWN)
_BARE = Subject(
    NicConfig(),
    Effective(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING),
    DomainConfig(),
    HostConfig(),
)
_LIVE = msgspec.structs.replace(
    _BARE, running=RunningNic("virtio-net-pci", "virtio"), state=DomainState()
)
_SEEN = NicSeen("52:54:00:00:00:01", "a", None, "r", "t", Location("f"), 0, "bridge")
SUBJECTS: dict[str, tuple[Any, ...]] = {
    "nic": (_BARE, _LIVE),
    "domain": (
        DomainSubject((), DomainConfig(), HostConfig()),
        DomainSubject((_LIVE,), DomainConfig(), HostConfig(), DomainState()),
    ),
    "host": (HostSubject(HostConfig()),),
    "config": (ConfigSubject(NovaConfig("nova.conf", "nova.conf")),),
    "image": (ImageSubject(Image("f", "i", Location("f"))),),
    "flavor": (FlavorSubject(Flavor("f", "m1", Location("f"))),),
    "preference": (PreferenceSubject(Preference("f", "p", Location("f"))),),
    "site": (SiteSubject(Node("nova.conf", ("nova.conf",), (), "", ())),),
    "mac": (MacSubject(_SEEN, ()), MacSubject(_SEEN, (_SEEN,))),
}
"""For each scope a subject of which nothing is known, and one with all its parts."""


def test_every_scope_has_a_protocol_and_subjects() -> None:
    assert set(PROTOCOLS) == set(SUBJECTS) == set(get_args(Scope))


@pytest.mark.parametrize("rule_id", rule_ids())
def test_rule_meets_the_protocol_of_its_scope(rule_id: str) -> None:
    assert _differences(module_of(rule_id)) == []


@pytest.mark.parametrize("rule_id", rule_ids())
def test_each_need_is_a_fact_that_the_scope_has(rule_id: str) -> None:
    module = module_of(rule_id)
    for need in module.NEEDS:
        for subject in SUBJECTS[module.SCOPE]:
            assert FACTS[need].known(subject) in (True, False)


@pytest.mark.parametrize("rule_id", rule_ids())
def test_what_a_rule_judges_beside_its_scope_meets_the_protocol(rule_id: str) -> None:
    module = module_of(rule_id)
    for scope in PROTOCOLS.keys() - {module.SCOPE}:
        if scope not in judges(rule_id):
            names = (f"{scope.upper()}_NEEDS", f"applies_{scope}", f"check_{scope}")
            assert not [name for name in names if hasattr(module, name)]
            continue
        rule = load_for(rule_id, scope)
        assert _shape(rule.applies) == _shape(PROTOCOLS[scope].applies)
        assert _shape(rule.check) == _shape(PROTOCOLS[scope].check)
        for need in rule.needs:
            assert FACTS[need].known(SUBJECTS[scope][0]) in (True, False)


@pytest.mark.parametrize("rule_id", rule_ids())
def test_the_scopes_read_from_the_text_are_those_of_the_module(rule_id: str) -> None:
    module = module_of(rule_id)
    beside = {scope for scope in PROTOCOLS if hasattr(module, f"check_{scope}")}
    marks = {mark for mark in (MANIFESTS, SERVERS) if getattr(module, mark.upper(), False)}
    assert judges(rule_id) == {module.SCOPE} | beside | marks


def _applies(subject: HostSubject) -> bool:
    return subject.host.kvm is True


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        ({"NAME": None}, "NAME"),
        ({"SEVERITY": "severe"}, "SEVERITY"),
        ({"NEEDS": ["model"]}, "NEEDS"),
        ({"NEEDS": "model"}, "NEEDS"),
        ({"__doc__": None}, "__doc__"),
        ({"applies": _applies}, "applies"),
        ({"applies": lambda subject: True}, "applies"),  # noqa: ARG005
        ({"check": None}, "check"),
    ],
)
def test_a_rule_of_another_shape_is_found(wrong: dict[str, Any], found: str) -> None:
    right = vars(module_of("VNIC001"))
    assert _differences(SimpleNamespace(**{**right, **wrong})) == [found]


def _differences(module: Any) -> list[str]:
    """The names in a rule module that are not as its protocol has them."""
    attributes = get_type_hints(Rule)
    wrong = [name for name, kind in attributes.items() if not _is(getattr(module, name), kind)]
    if not module.__doc__:
        wrong.append("__doc__")
    protocol = PROTOCOLS[module.SCOPE]
    for name in ("applies", "check"):
        if _shape(getattr(module, name)) != _shape(getattr(protocol, name)):
            wrong.append(name)
    return wrong


def _is(value: object, kind: Any) -> bool:
    """Whether a value has a type; equal after conversion, so that a list is no tuple."""
    try:
        return bool(msgspec.convert(value, kind) == value)
    except msgspec.ValidationError:
        return False


def _shape(function: Any) -> object:
    """Parameters, apart from ``self``, and all annotated types of a function."""
    if not inspect.isfunction(function):
        return None
    parameters = inspect.signature(function).parameters.values()
    kinds = [(each.name, each.kind, each.default) for each in parameters if each.name != "self"]
    return kinds, get_type_hints(function)
