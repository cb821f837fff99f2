"""Every rule file has a rule, whose judges are for what they say, and the index has them all."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import msgspec
import pytest

import vnicaudit.rules
from vnicaudit.audit.judging.catalogue import RuleSet, rule_ids, shipped_catalogue
from vnicaudit.audit.judging.rule_files import index_text, rule_in, shipped_rules
from vnicaudit.audit.kinds import KINDS
from vnicaudit.errors import UsageError
from vnicaudit.model.cluster import ClusterFacts, ClusterGuest
from vnicaudit.model.domain import DomainConfig, DomainState
from vnicaudit.model.finding import AuditedScope, Location
from vnicaudit.model.host import HostConfig, SiteNode
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import UNKNOWN, Effective, NicConfig, Resolved, RunningNic
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.model.rule import (
    AnyJudge,
    DomainSubject,
    HostSubject,
    LinkSubject,
    MacSubject,
    NicSeen,
    Rule,
    SiteSubject,
    Subject,
    VisitedHost,
)

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
_CLUSTER = ClusterFacts(target="kube:lab", name="lab", location=Location("kube:lab"))
_VISITED = VisitedHost(HostConfig(), facts=HostFacts())
SUBJECTS: dict[str, tuple[Any, ...]] = {
    "nic": (_BARE, _LIVE),
    "domain": (
        DomainSubject((), DomainConfig(), HostConfig()),
        DomainSubject((_LIVE,), DomainConfig(), HostConfig(), DomainState()),
    ),
    "host": (HostSubject(HostConfig()), _VISITED),
    "link": (LinkSubject(HostLink(name="eth0"), _VISITED),),
    "config": (NovaConfig("nova.conf", "nova.conf"),),
    "image": (Image("f", "i", Location("f")),),
    "flavor": (Flavor("f", "m1", Location("f")),),
    "preference": (Preference("f", "p", Location("f")),),
    "cluster": (_CLUSTER,),
    "guest": (ClusterGuest(cluster=_CLUSTER, name="web", namespace="demo"),),
    "site": (SiteSubject(SiteNode("nova.conf", ("nova.conf",), (), "", ())),),
    "mac": (MacSubject(_SEEN, ()), MacSubject(_SEEN, (_SEEN,))),
}
"""For each scope a subject of which nothing is known, and one with all its parts."""


def test_every_scope_has_a_judge_and_subjects() -> None:
    kinds = {"nic", "guest", "link", *get_args(AuditedScope)} - {"interface"}  # its NIC is judged
    judged = {judge.scope for each in rule_ids() for judge in shipped_catalogue().rule(each).judges}
    assert kinds == set(SUBJECTS) == {"nic", "guest", "link", *KINDS} - {"interface"} == judged


@pytest.mark.parametrize("rule_id", rule_ids())
def test_rule_can_be_asked_for_every_subject_of_its_scopes(rule_id: str) -> None:
    for judge in shipped_catalogue().rule(rule_id).judges:
        for subject in SUBJECTS[judge.scope]:
            asked: Any = judge
            applies = asked.applies(subject)
            assert applies in (True, False)
            if applies or type(subject) is not HostSubject:  # of one that was not visited
                assert {need.known(subject) for need in asked.needs} <= {True, False}


def test_the_index_is_in_step_with_the_rules() -> None:
    """Nothing else tells, before a rule is loaded, what it judges: it would never be asked."""
    (folder,) = vnicaudit.rules.__path__
    index = (Path(folder) / "index.json").read_text("utf-8")
    assert index == index_text(), "run python docs/generate_rules.py"


def test_a_rule_that_is_not_in_the_index_yet_is_asked_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder,) = vnicaudit.rules.__path__
    index = json.loads((Path(folder) / "index.json").read_text("utf-8"))
    (tmp_path / "index.json").write_text(json.dumps(index[1:]), "utf-8")
    for path in Path(folder).glob("vnic*.py"):
        (tmp_path / path.name).touch()
    monkeypatch.setattr(vnicaudit.rules, "__path__", [str(tmp_path)])
    assert shipped_rules.__wrapped__() == shipped_rules()


def test_rules_without_a_judge_of_that_kind_are_not_loaded() -> None:
    assert not RuleSet("nic", ["VNIC060", "VNIC069"])


RIGHT = shipped_catalogue().rule("VNIC001")


def _judge(**wrong: Any) -> AnyJudge:
    return msgspec.structs.replace(RIGHT.judges[0], **wrong)


def _module(rule: object) -> ModuleType:
    module = ModuleType("acme001", "Its manual.")
    module.__file__ = "/rules/acme001.py"
    vars(module)["RULE"] = rule
    return module


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": None}, "name"),
        ({"name": "Two Words"}, "name"),
        ({"severity": "severe"}, "severity"),
        ({"groups": "models"}, "groups"),
        ({"groups": ("No Group",)}, "groups"),
        ({"forms": ("server", "xml")}, "forms"),
        ({"forms": ()}, "forms"),
        ({"judges": ()}, "judges"),
        ({"judges": RIGHT.judges[0]}, "judges"),
        ({"judges": ("nic",)}, "judges"),
        ({"judges": RIGHT.judges * 2}, "judges"),
        ({"judges": (_judge(applies=None),)}, "judges: applies of the one for nic"),
        ({"judges": (_judge(check="x"),)}, "judges: check of the one for nic"),
        ({"judges": (_judge(needs=("model",)),)}, "judges: needs of the one for nic"),
    ],
)
def test_a_rule_of_another_shape_is_refused_with_file_and_field(
    wrong: dict[str, Any], field: str
) -> None:
    with pytest.raises(UsageError, match=f"^/rules/acme001.py: {field}"):
        rule_in(_module(msgspec.structs.replace(RIGHT, **wrong)))


@pytest.mark.parametrize("rule", [None, 1, "rule", Rule])
def test_a_file_without_a_rule_is_refused(rule: object) -> None:
    with pytest.raises(UsageError, match=r"^/rules/acme001.py: RULE is missing"):
        rule_in(_module(rule))


def test_a_rule_without_a_manual_is_refused() -> None:
    module = _module(RIGHT)
    module.__doc__ = None
    with pytest.raises(UsageError, match=r"^/rules/acme001.py: the docstring is missing"):
        rule_in(module)
