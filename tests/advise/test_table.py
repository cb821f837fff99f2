"""The decision table says what its sources say, and its conditions are about facts that exist."""

import re
import shlex
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.cli.bench.run import command as bench_run
from vnicaudit.knowledge.attachments import UNSAID, AttachmentRow, attachment_table, holds
from vnicaudit.model.decoding import converted
from vnicaudit.model.scenario import NetworkNeeds, PlatformKind, ScenarioPlatform, TrafficFlow

TABLE = attachment_table()
ROWS = TABLE.row
EXCERPTS = Path(__file__).parent / "excerpts"
PARTS = {"platform": ScenarioPlatform, "needs": NetworkNeeds, "flow": TrafficFlow}
WORKED_OUT = {
    "flow.between",
    "flow.size",
    "advice.attachments",
    "advice.depends",
    "advice.withheld",
}
OURS = {"host", "vnicaudit"}
"""Sources that are no documents."""


def words(text: str) -> str:
    return " ".join(text.split())


def excerpt(source: str) -> str:
    return words((EXCERPTS / f"{source}.txt").read_text("utf-8").partition("\n\n")[2])


def quoted(row: AttachmentRow) -> list[str]:
    """All that stands in quotation marks in a row, in all its cases."""
    texts = [row.figure, row.limits, *(case.limits or "" for case in row.cases)]
    return [*row.quotations, *(one for text in texts for one in re.findall(r'"([^"]*)"', text))]


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_quotations_and_figures_are_in_the_source(row: AttachmentRow) -> None:
    missing = [one for one in quoted(row) if words(one) not in excerpt(row.source)]
    assert missing == []


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if row.figure], ids=lambda row: row.id
)
def test_measured_numbers_are_quoted_and_only_in_figures(row: AttachmentRow) -> None:
    named = r"rr1c-200x1000|\d+ connections?|25 clients|128 B"  # loads, not results
    outside = re.sub(rf'"[^"]*"|{named}', "", row.figure)
    assert not re.search(r"\d", outside)
    assert row.direction
    assert not re.search(r"\b\d", row.direction)


MEASURED_ON = {
    "busch": {"z-vm", "z-kvm"},
    "vduse": {"x86"},
    "large-scale": {"x86", "other"},
    "cozystack": {"x86", "other"},
    "hoppmann": {"z-vm", "z-kvm", "z-lpar"},
}


def test_a_source_says_for_each_platform_whether_it_measured_there() -> None:
    others = {name: source.excluded for name, source in TABLE.source.items() if source.excluded}
    kinds = {*get_args(PlatformKind)}
    assert {name: kinds - each["platform.kind"].keys() for name, each in others.items()} == (
        MEASURED_ON
    )


def test_every_source_has_an_excerpt_with_its_origin() -> None:
    used = {row.source for row in ROWS.values()}
    assert used == set(TABLE.source)
    assert {path.stem for path in EXCERPTS.iterdir()} == used - OURS
    for path in EXCERPTS.iterdir():
        head = path.read_text("utf-8").partition("\n\n")[0]
        assert re.match(r"Author: .+\nTitle: .+\n(?:.*\n)*Compared with: .+", head), path.name


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda row: row.id)
def test_conditions_are_about_facts_of_a_scenario(row: AttachmentRow) -> None:
    for case in row.cases:
        for name, condition in case.conditions():
            part, _, key = name.partition(".")
            if name in WORKED_OUT:
                continue
            hint = get_type_hints(PARTS[part])[key]
            for allowed in condition if isinstance(condition, tuple) else (condition,):
                if allowed == UNSAID or (isinstance(allowed, str) and allowed[0] in "<>"):
                    continue
                assert converted(allowed, hint) == allowed


def test_rows_name_rows_commands_and_sources_that_exist() -> None:
    for row in ROWS.values():
        beats = {one for case in row.cases for one in case.beats or ()} | {*row.beats, *row.against}
        assert beats <= ROWS.keys() - {row.id}
        assert row.source in TABLE.source
        assert bool(row.decides) == bool(row.command) or row.kind == "decides"
        assert not row.command or row.command in TABLE.command
        assert row.kind != "depends" or row.command


def test_placements_do_not_contradict_each_other() -> None:
    """A row that keeps apart beats every one that keeps together."""
    apart = [row for row in ROWS.values() if row.placement == "apart"]
    together = {row.id for row in ROWS.values() if row.placement == "same-node"}
    assert all(together <= {*row.beats} for row in apart)


def test_only_hard_rows_exclude() -> None:
    excluding = {
        row.id for row in ROWS.values() if row.excludes or any(c.excludes for c in row.cases)
    }
    assert {ROWS[one].kind for one in excluding} == {"hard"}


def test_all_cases_of_a_row_are_about_one_part() -> None:
    for row in ROWS.values():
        assert {bool(case.flow) for case in row.cases} in ({True}, {False}), row.id
        if row.about() == "flow":
            assert all("between" in case.flow for case in row.cases), row.id


@pytest.mark.parametrize("command", TABLE.command.values(), ids=TABLE.command)
def test_commands_are_understood(command: str) -> None:
    program, *arguments = shlex.split(command, comments=True)
    assert program == "vnicaudit"
    assert arguments[:2] == ["bench", "run"]
    context = bench_run.make_context("run", arguments[2:])
    assert load_profile(context.params["profile"]).workloads
    assert parse_paths(context.params["paths"]) or context.params["cluster"]


@pytest.mark.parametrize(
    ("condition", "value", "expected"),
    [
        (">=50", 50, True),
        (">=50", 49, False),
        (">=25 <=100", 100, True),
        (">=25 <=100", 101, False),
        ("<4.18", "4.9", True),  # as a number it would be more
        ("<4.18", "4.18.3", False),
        (">=1.3 <1.4.1", "v1.4.0", True),
        (">=1.3 <1.4.1", "v1.4.1", False),
        ((">=1.3 <1.4.1", ">=1.5 <1.5.2"), "1.5.1", True),
        (("cross", "either"), "either", True),
        (False, True, False),
        ("same", None, None),
        (("same", "unsaid"), None, True),
    ],
)
def test_condition(condition: object, value: object, expected: object) -> None:
    assert holds(condition, value) is expected  # type: ignore[arg-type]
