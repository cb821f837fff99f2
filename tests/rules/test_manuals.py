"""A rule's docstring is its manual page: its sections are all there, and its examples are true.

An example is a fenced block under ``## Bad`` or ``## Good``. One that begins with ``xml`` is run:
a bad one must make the rule fire, a good one must not; so is one that begins with ``ini`` in the
manual of a rule for nova.conf, and one of ``sh`` that is a QEMU command line. What surrounds the
example stands on the fence line after the word ``xml``, in the keys of the data files:
``domain.vcpus=4 host.qemu_version=10.0``.
Examples in other languages are not run.
"""

import re
from typing import Any, NamedTuple

import pytest
from ruamel.yaml import YAML

from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.report import Audited
from vnicaudit.rule_cases.cases import Case
from vnicaudit.rule_cases.judging import judge

SECTIONS = (
    "What is wrong",
    "Why it matters",
    "Bad",
    "Good",
    "Fix",
    "Fix safety",
    "When it does not fire",
)
_FENCE = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_YAML = YAML(typ="safe", pure=True)


class Example(NamedTuple):
    """One runnable example of a manual."""

    rule_id: str
    case: Case


@pytest.mark.parametrize("rule_id", rule_ids())
def test_manual_has_its_sections_in_order(rule_id: str) -> None:
    rule = shipped_catalogue().info(rule_id)
    assert tuple(sections_of(rule.manual)) == SECTIONS
    assert all(sections_of(rule.manual).values()), "an empty section"


@pytest.mark.parametrize("rule_id", rule_ids())
def test_manual_begins_with_a_summary_of_one_line(rule_id: str) -> None:
    first, blank, _rest = shipped_catalogue().info(rule_id).manual.split("\n", 2)
    assert first.endswith(".")
    assert blank == ""


@pytest.mark.parametrize("rule_id", rule_ids())
def test_manual_shows_bad_and_good(rule_id: str) -> None:
    sections = sections_of(shipped_catalogue().info(rule_id).manual)
    assert _FENCE.search(sections["Bad"])
    assert _FENCE.search(sections["Good"])


def sections_of(manual: str) -> dict[str, str]:
    parts = re.split(r"^## (.+)$", manual, flags=re.MULTILINE)[1:]
    return {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}


def _examples(section: str) -> list[Any]:
    found = []
    for rule_id in rule_ids():
        text = sections_of(shipped_catalogue().info(rule_id).manual).get(section, "")
        for number, match in enumerate(_FENCE.finditer(text), 1):
            config = match.group(1) == "ini" and _judges_config(rule_id)
            manifest = (
                match.group(1) == "yaml" and "manifest" in shipped_catalogue().listed(rule_id).forms
            )
            command = match.group(1) == "sh" and match.group(3).startswith("qemu-system-")
            if config or manifest or command or match.group(1) == "xml":
                kind = "nova_conf" if config else "manifest" if manifest else "xml"
                kind = "command" if command else kind
                case = _case(match.group(2), match.group(3), kind)
                found.append(pytest.param(Example(rule_id, case), id=f"{rule_id}-{number}"))
    return found


def _judges_config(rule_id: str) -> bool:
    return "config" in shipped_catalogue().listed(rule_id).scopes


def _case(around: str, example: str, kind: str) -> Case:
    """A case from a fence: ``domain.vcpus=4 owner=nova`` and the text."""
    facts: dict[str, Any] = {}
    for word in around.split():
        name, _equals, text = word.partition("=")
        place, _dot, key = name.rpartition(".")
        if place == "staged":
            running, _arrow, new = text.partition("->")
            facts.setdefault("staged", []).append({"fields": [[key, running, new]]})
        elif place:
            facts.setdefault(place, {})[key] = _YAML.load(text)
        else:
            facts[key] = text
    facts[kind] = example
    return Case(name="example", **facts)


@pytest.mark.parametrize("example", _examples("Bad"))
def test_bad_example_fires(example: Example) -> None:
    assert example.rule_id in _fired(judge(*example, every_platform()))


@pytest.mark.parametrize("example", _examples("Good"))
def test_good_example_does_not_fire(example: Example) -> None:
    audited = judge(*example, every_platform())
    assert _fired(audited) == []
    assert audited.skipped == ()


def _fired(audited: Audited) -> list[str]:
    assert audited.crashed == ()
    return [finding.rule for finding in audited.findings]
