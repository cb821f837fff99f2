"""Command lines that are parsed without click: the same options come of them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.cli.records import options_of
from vnicaudit.cli.audit.audit import command
from vnicaudit.cli.audit.plain import options_in
from vnicaudit.cli.audit.request import AUDIT_OPTIONS, AuditOptions
from vnicaudit.cli.options import COMPLETES
from vnicaudit.cli.options.records import Option
from vnicaudit.cli.output.process import at_end

OPTIONS = [one for group in AUDIT_OPTIONS for one in group.options if isinstance(one, Option)]
NAMES = [name for one in OPTIONS for name in one.names if name[0] == "-"]
CHOICES = sorted({choice for one in OPTIONS for choice in one.choices})

ODD = ["--", "-", "", "-qv", "-q-v", "--no-quiet", "--view=", "=", "--=", "-h", "--help", "--qui"]


def hooks() -> list[tuple[str, ...]]:
    """The words after ``audit`` of the hooks for pre-commit, for one file."""
    file = Path(__file__).parents[2] / ".pre-commit-hooks.yaml"
    found = YAML(typ="safe").load(file.read_text("utf-8"))
    lines = (shlex.split(hook["entry"]) + hook["args"] for hook in found)
    return [(*line[line.index("audit") + 1 :], "a.conf") for line in lines]


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
        *hooks(),
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


@pytest.mark.parametrize(
    "variable", [COMPLETES, *(one.variable for one in OPTIONS if one.variable)]
)
def test_a_variable_leaves_it_to_click(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "1")
    assert options_in(["a.xml"]) is None


def test_a_traceback_is_to_be_had_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VNICAUDIT_DEBUG", "1")
    assert options_in(["a.xml"]) is not None


@pytest.mark.parametrize("text", ["[libvirt]\nuse_virtio_for_bridges = false\n", "[DEFAULT]\n", ""])
def test_both_ways_give_the_same(text: str, tmp_path: Path) -> None:
    (tmp_path / "nova.conf").write_text(text)
    plain, by_click = (
        inside("audit", *more, "nova.conf", "missing.conf", cwd=tmp_path)
        for more in ((), ("--jobs", "0"))
    )
    assert (plain.returncode, plain.stderr) == (by_click.returncode, by_click.stderr)
    assert plain.stdout == by_click.stdout


def test_what_waits_for_the_end_of_a_command_is_done(tmp_path: Path) -> None:
    done: list[str] = []
    at_end(lambda: done.append("first"))
    at_end(lambda: done.append("second"))
    assert inside("audit", tmp_path / "missing.conf").returncode == 4
    assert done == ["second", "first"]
