"""What is said of runs, from what they left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from vnicaudit.errors import KeptError
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.journal import NAME, Journal
from vnicaudit.remedy.applying.means import Definitions
from vnicaudit.remedy.applying.sheet import RunSheet, UnitSheet
from vnicaudit.remedy.applying.state import StateFolder
from vnicaudit.remedy.applying.task import Task
from vnicaudit.remedy.history import (
    TAKEN_BACK,
    Past,
    begin_run,
    damaged,
    past,
    record,
    runs,
    unfinished,
)

A, B = (
    UnitSheet(key, f"guest-{key}", "qemu:///system", (f"step-{key}",), ("52:54:00:00:00:01",), key)
    for key in ("a", "b")
)
Line = tuple[str, str, dict[str, Any]]
TASK = Task("a", "guest-a", A.target, A.steps, (), "restart", "sha256:1", "sha256:2", "a")
BEGIN_A: Line = ("begin", "a", {"task": to_builtins(TASK)})
DONE_A: Line = ("done", "a", {"outcome": "applied", "checks": [["device", "ok", "as wanted"]]})
DONE_B: Line = ("done", "b", {"outcome": "rolled-back", "message": "the domain is off"})
FAILED_B: Line = ("done", "b", {"outcome": "failed", "message": "libvirt says no"})
END: Line = ("end", "", {"stopped": ""})
BACK: Line = ("end", "", {"stopped": TAKEN_BACK})


def run_with(state: StateFolder, *lines: Line) -> Past:
    """A run of two units with these lines in its journal."""
    sheet = RunSheet("", "apply", "2026-11-21T10:00:00.000Z", "sha256:0", "restart", (A, B))
    found = begin_run(state, sheet)
    journal = Journal(found.folder)
    for event, unit, data in lines:
        journal.write(event, unit, **data)
    journal.close()
    again = past(found.folder)
    assert again is not None
    return again


@pytest.mark.parametrize(
    ("lines", "outcome", "units"),
    [
        ([], "unfinished", ["not-reached", "not-reached"]),
        ([BEGIN_A], "unfinished", ["unfinished", "not-reached"]),
        ([BEGIN_A, DONE_A], "unfinished", ["applied", "not-reached"]),
        ([BEGIN_A, DONE_A, END], "failed", ["applied", "not-reached"]),
        ([BEGIN_A, DONE_A, DONE_B, END], "rolled-back", ["applied", "rolled-back"]),
        ([BEGIN_A, DONE_A, FAILED_B, END], "failed", ["applied", "failed"]),
        ([BACK], "rolled-back", ["not-reached", "not-reached"]),
        ([BEGIN_A, DONE_A, DONE_B, BACK], "rolled-back", ["applied", "rolled-back"]),
        ([BEGIN_A, DONE_A, FAILED_B, BACK], "failed", ["applied", "failed"]),
    ],
)
def test_what_became_of_a_run(
    tmp_path: Path, lines: list[Line], outcome: str, units: list[str]
) -> None:
    found = run_with(StateFolder(str(tmp_path)), *lines)
    shown = record(found)
    assert (shown.outcome, [unit.outcome for unit in shown.steps]) == (outcome, units)
    assert (shown.finished is None) == (outcome == "unfinished")
    assert runs(str(tmp_path)) == [shown]


def test_what_is_said_of_a_unit(tmp_path: Path) -> None:
    shown = record(run_with(StateFolder(str(tmp_path)), BEGIN_A, DONE_A, DONE_B, END))
    first, second = shown.steps
    assert first.checks == (Check("device", "ok", "as wanted"),)
    assert (second.name, second.message) == ("guest-b", "the domain is off")


def test_newest_first_and_those_that_did_not_end(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path))
    made = [run_with(state, *lines).sheet.id for lines in ([END], [], [BEGIN_A])]
    assert [run.id for run in runs(str(tmp_path))] == made[::-1]
    assert [found.sheet.id for found in unfinished(state)] == [made[2], made[1]]


def test_a_run_that_was_ended_before_anything_was_noted_of_it(tmp_path: Path) -> None:
    folder = StateFolder(str(tmp_path)).new()
    assert past(folder) is None
    assert runs(str(tmp_path)) == []


def test_an_edited_sheet_is_named(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)))
    (found.folder / "run.json").write_text("{}")
    (run,) = runs(str(tmp_path))
    assert [unit.name for unit in run.steps] == ["guest-a", "guest-b"]
    (said,) = run.damage
    assert "run.json: not the sheet of a run" in said


def test_a_run_of_which_nothing_can_be_told_is_named_and_passed_over(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)))
    (found.folder / "run.json").write_text("{}")
    (found.folder / NAME).unlink()
    assert runs(str(tmp_path)) == []
    (said,) = damaged(StateFolder(str(tmp_path)))
    assert said.startswith(f"{found.folder / 'run.json'}: not the sheet of a run")


def test_a_journal_without_a_line_in_the_middle_is_not_read_on(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)), BEGIN_A)
    with (found.folder / NAME).open("ab") as stream:
        stream.write(b'{"at":"2026-')
    assert record(found).outcome == "unfinished"
    assert [entry.event for entry in found.entries] == ["run", "begin"]


def test_a_definition_that_was_kept_and_is_gone(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)))
    kept = Definitions(found.folder, "a")
    made = kept.keep("before", b"<domain/>")
    assert kept.get("before", made) == b"<domain/>"
    with pytest.raises(KeptError, match=r"a.goal.xml was kept and cannot be read \(No such file"):
        kept.get("goal", made)
