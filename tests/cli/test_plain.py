"""Command lines that are parsed without click: the same options come of them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.records import options_of
from vnicaudit.cli.audit.audit import command
from vnicaudit.cli.audit.plain import options_in
from vnicaudit.cli.audit.request import AUDIT_OPTIONS, AuditOptions
from vnicaudit.cli.options.records import Option

OPTIONS = [one for group in AUDIT_OPTIONS for one in group.options if isinstance(one, Option)]
NAMES = [name for one in OPTIONS for name in one.names if name[0] == "-"]
CHOICES = sorted({choice for one in OPTIONS for choice in one.choices})

ODD = ["--", "-", "", "-qv", "-q-v", "--no-quiet", "--view=", "=", "--=", "-h", "--help", "--qui"]
HOOK = ("--view", "full", "--skip-unrecognised", "--force-exclude", "--", "a.conf")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("VNICAUDIT_")]:
        monkeypatch.delenv(name)


def words() -> st.SearchStrategy[list[str]]:
    value = st.sampled_from([*CHOICES, "nova.conf", "é", "5"])
    given_value = st.tuples(st.sampled_from(NAMES), value).map("=".join)
    every = st.one_of(st.sampled_from(NAMES), value, given_value, st.sampled_from(ODD))
    return st.lists(every, max_size=6)


def as_by_click(line: Iterable[str]) -> AuditOptions:
    found = options_of(command, *line)
    assert isinstance(found, AuditOptions)
    return found


@settings(
    max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(words())
def test_what_is_parsed_without_click_is_as_by_click(line: list[str]) -> None:
    found = options_in(line)
    if found is not None:
        assert found == as_by_click(line)


@pytest.mark.parametrize(
    "line",
    [
        ("nova.conf",),
        ("--exit-zero", "nova.conf"),
        ("-q", "a.xml", "--color=never", "-"),
        ("--group-by", "rule", "--min-confidence", "medium", "definitions/"),
        HOOK,
        ("--fix", *HOOK),
    ],
    ids=" ".join,
)
def test_simple_ones_are_parsed_without_click(line: tuple[str, ...]) -> None:
    assert options_in(line) == as_by_click(line)


@pytest.mark.parametrize(
    "line",
    [
        (),
        ("--quiet",),
        ("--help", "a.xml"),
        ("--view", "wide", "a.xml"),
        ("--view",),
        ("--quiet=yes", "a.xml"),
        ("--format", "json", "a.xml"),
        ("--exclude", "*.bak", "a.xml"),
        ("-qv", "a.xml"),
        ("--unknown", "a.xml"),
        ("severities", "--severities", "a.xml"),
    ],
    ids=" ".join,
)
def test_click_parses_all_others(line: tuple[str, ...]) -> None:
    assert options_in(line) is None


@pytest.mark.parametrize("option", OPTIONS, ids=lambda one: one.field)
def test_a_variable_leaves_it_to_click(option: Option, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = option.settings.get("envvar")
    if isinstance(variable, str):
        monkeypatch.setenv(variable, "1")
        assert options_in(["a.xml"]) is None
