"""Find the rule modules and say what they are."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Iterable
from functools import cache
from types import ModuleType
from typing import Any

import msgspec

import vnicaudit.rules
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Severity
from vnicaudit.model.report import RuleInfo

MANIFESTS = "manifests"
"""Stands among the scopes of a rule whose module says ``MANIFESTS = True``."""

SERVERS = "servers"
"""The same for ``SERVERS = True``."""

_MARKS = {"manifest": MANIFESTS, "server": SERVERS}
"""Form of a domain that is judged only by rules which say so -> how they say it."""

_MODULE = re.compile(r"vnic\d{3}\.py")
_SCOPE = b'\nSCOPE: Scope = "'
_BESIDE = b"\ndef check_"
_SAID = {mark: f"\n{mark.upper()} = True\n".encode() for mark in _MARKS.values()}


class LoadedRule(msgspec.Struct, frozen=True):
    """What a rule module is asked about everything of one scope, looked up once."""

    id: str
    name: str
    severity: Severity
    scope: str
    needs: tuple[str, ...]
    applies: Any
    check: Any
    unasked: bool = False
    """``UNASKED = True``: what it finds comes about by itself, so a plan tells what it leaves."""


@cache
def rule_ids() -> tuple[str, ...]:
    """The ids of all rules, ordered. Reads the folder, imports nothing."""
    names = [name for folder in vnicaudit.rules.__path__ for name in os.listdir(folder)]
    return tuple(sorted(name[:-3].upper() for name in names if _MODULE.fullmatch(name)))


def module_of(rule_id: str) -> ModuleType:
    """The module of a rule. Raises UsageError when there is no such rule."""
    if rule_id.upper() not in rule_ids():
        raise UsageError(f"no rule {rule_id!r}; `vnicaudit rules` lists them")
    return importlib.import_module(f"vnicaudit.rules.{rule_id.lower()}")


def load(rule_id: str) -> LoadedRule:
    """One rule, ready to be asked."""
    module = module_of(rule_id)
    return LoadedRule(
        id=rule_id.upper(),
        name=module.NAME,
        severity=module.SEVERITY,
        scope=module.SCOPE,
        needs=module.NEEDS,
        applies=module.applies,
        check=module.check,
        unasked=getattr(module, "UNASKED", False),
    )


def load_for(rule_id: str, scope: str) -> LoadedRule:
    """A rule as it judges what is of ``scope``: its own, or one it judges beside."""
    module = module_of(rule_id)
    if scope == module.SCOPE:
        return load(rule_id)
    return msgspec.structs.replace(
        load(rule_id),
        scope=scope,
        needs=getattr(module, f"{scope.upper()}_NEEDS"),
        applies=getattr(module, f"applies_{scope}"),
        check=getattr(module, f"check_{scope}"),
    )


class RuleSet:
    """Some rules, by what they judge. A rule is imported when there is something for it."""

    def __init__(self, rule_ids: Iterable[str]) -> None:
        self._rule_ids = tuple(rule_ids)
        self._loaded: dict[tuple[str, str | None], list[LoadedRule]] = {}

    def of(self, scope: str, form: str = "") -> list[LoadedRule]:
        """The rules that judge what is of ``scope``; of NICs and domains in a ``form`` that has
        little of what libvirt and QEMU know, those that say they do."""
        mark = _MARKS.get(form)
        found = self._loaded.get((scope, mark))
        if found is None:
            wanted = {scope} if mark is None else {scope, mark}
            found = self._loaded[scope, mark] = [
                load_for(rule_id, scope) for rule_id in self._rule_ids if wanted <= judges(rule_id)
            ]
        return found


@cache
def judges(rule_id: str) -> frozenset[str]:
    """The scopes a rule judges, MANIFESTS and SERVERS. Read from the text of its module: importing
    each to ask would cost more than judging a file."""
    path = os.path.join(vnicaudit.rules.__path__[0], f"{rule_id.lower()}.py")
    with open(path, "rb", buffering=0) as stream:
        own, *beside = stream.read().split(_BESIDE)
    found = {own.partition(_SCOPE)[2].partition(b'"')[0]}
    found.update(part.partition(b"(")[0] for part in beside)
    marks = {mark for mark, said in _SAID.items() if said in own}
    return frozenset(name.decode() for name in found) | marks


def info(rule_id: str) -> RuleInfo:
    """One rule's entry in the catalogue; ``manual`` is its docstring, Markdown."""
    module = module_of(rule_id)
    manual = inspect.cleandoc(module.__doc__ or "")
    summary = manual.split("\n\n", 1)[0].replace("\n", " ").strip()
    return RuleInfo(
        id=rule_id.upper(),
        name=module.NAME,
        severity=module.SEVERITY,
        scope=module.SCOPE,
        judges=(module.SCOPE, *sorted(judges(rule_id) - {module.SCOPE})),
        summary=summary.rstrip("."),
        manual=manual,
    )


def select(wanted: tuple[str, ...], ignored: tuple[str, ...]) -> tuple[str, ...]:
    """The ids that ``--select`` and ``--ignore`` leave. Both take ids or prefixes (``VNIC03``);
    nothing wanted means all. Raises UsageError for a prefix that matches no rule."""
    for prefix in (*wanted, *ignored):
        if not any(rule_id.startswith(prefix.upper()) for rule_id in rule_ids()):
            raise UsageError(f"no rule begins with {prefix!r}; `vnicaudit rules` lists them")

    def matches(rule_id: str, prefixes: tuple[str, ...]) -> bool:
        return any(rule_id.startswith(prefix.upper()) for prefix in prefixes)

    return tuple(
        rule_id
        for rule_id in rule_ids()
        if (not wanted or matches(rule_id, wanted)) and not matches(rule_id, ignored)
    )
