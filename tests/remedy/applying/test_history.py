"""What is said of runs, from what they left behind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vnicaudit.errors import SavedTextError
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.domains.definition_transactions import DefinitionTransaction
from vnicaudit.remedy.applying.history import record, runs
from vnicaudit.remedy.applying.journal.events import (
    End,
    Event,
    Result,
    RunRequest,
    UnitRequest,
    name_of,
)
from vnicaudit.remedy.applying.journal.journal_file import NAME, Journal, KeptTexts
from vnicaudit.remedy.applying.journal.past_run import (
    PastRun,
    begin_run,
    damaged,
    read_run,
    unfinished,
)
from vnicaudit.remedy.applying.journal.state import StateFolder, begun_with

A, B = (
    UnitRequest(
        key, f"guest-{key}", "qemu:///system", (f"step-{key}",), ("52:54:00:00:00:01",), "domain",
        key,
    )
    for key in ("a", "b")
)  # fmt: skip
Line = tuple[Event, str]
TASK = DefinitionTransaction("restart", before="sha256:1", goal="sha256:2")
BEGIN_A: Line = (begun_with(TASK), "a")
DONE_A: Line = (Result("applied", checks=(Check("device", "ok", "as wanted"),)), "a")
DONE_B: Line = (Result("rolled-back", "the domain is off"), "b")
FAILED_B: Line = (Result("failed", "libvirt says no"), "b")
END: Line = (End(), "")
BACK: Line = (End("undone", rolled_back=True), "")
SOME_BACK: Line = (End("partly rolled back"), "")


def run_with(state: StateFolder, *lines: Line) -> PastRun:
    """A run of two units with these lines in its journal."""
    sheet = RunRequest("", "apply", "2026-11-21T10:00:00.000Z", "sha256:0", "restart", (A, B))
    found = begin_run(state, sheet)
    journal = Journal(found.folder)
    for event, unit in lines:
        journal.write(event, unit)
    journal.close()
    again = read_run(found.folder)
    assert again is not None
    return again


@pytest.mark.parametrize(("line", "rolled_back"), [(BACK, True), (SOME_BACK, False), (END, False)])
def test_a_run_that_was_taken_back_says_so(tmp_path: Path, line: Line, rolled_back: bool) -> None:
    assert run_with(StateFolder(str(tmp_path)), BEGIN_A, DONE_A, line).rolled_back is rolled_back


def test_a_run_that_was_not_taken_back_has_no_word_of_it(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)), BEGIN_A, DONE_A, SOME_BACK)
    assert b"rolled_back" not in (found.folder / NAME).read_bytes()


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
    made = [run_with(state, *lines).request.id for lines in ([END], [], [BEGIN_A])]
    assert [run.id for run in runs(str(tmp_path))] == made[::-1]
    assert [found.request.id for found in unfinished(state)] == [made[2], made[1]]


def test_a_run_that_was_ended_before_anything_was_noted_of_it(tmp_path: Path) -> None:
    folder = StateFolder(str(tmp_path)).new()
    assert read_run(folder) is None
    assert runs(str(tmp_path)) == []


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda _text: "{}", "not the request of a run"),
        (lambda text: text.replace("guest-a", "guest-z"), "it does not match the journal"),
    ],
)
def test_an_edited_request_is_named_and_the_journals_is_followed(
    tmp_path: Path, edit: Callable[[str], str], words: str
) -> None:
    path = run_with(StateFolder(str(tmp_path)), BEGIN_A).folder / "run.json"
    path.write_text(edit(path.read_text()))
    (run,) = runs(str(tmp_path))
    assert [unit.name for unit in run.steps] == ["guest-a", "guest-b"]
    (said,) = damaged(StateFolder(str(tmp_path)))
    assert said.startswith(f"{path}: ")
    assert words in said


def test_a_run_of_which_nothing_can_be_told_is_named_and_passed_over(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)))
    (found.folder / "run.json").write_text("{}")
    (found.folder / NAME).unlink()
    assert runs(str(tmp_path)) == []
    (said,) = damaged(StateFolder(str(tmp_path)))
    assert said.startswith(f"{found.folder / 'run.json'}: not the request of a run")


def test_a_journal_without_a_line_in_the_middle_is_not_read_on(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)), BEGIN_A)
    with (found.folder / NAME).open("ab") as stream:
        stream.write(b'{"at":"2026-')
    assert record(found).outcome == "unfinished"
    assert [name_of(entry.event) for entry in found.of("a")] == ["begin"]


def test_a_definition_that_was_kept_and_is_gone(tmp_path: Path) -> None:
    found = run_with(StateFolder(str(tmp_path)))
    kept = KeptTexts(found.folder, "a")
    made = kept.keep("before", b"<domain/>")
    assert kept.get("before", made) == b"<domain/>"
    with pytest.raises(
        SavedTextError, match=r"a.goal.xml, saved by the run, cannot be read \(No such file"
    ):
        kept.get("goal", made)


def test_a_definition_that_became_the_goal_is_kept_once(tmp_path: Path) -> None:
    """The goal is on disk by then; of the second name the power may take, the first one stays."""
    found = run_with(StateFolder(str(tmp_path)))
    kept, goal = KeptTexts(found.folder, "a"), b"<domain type='kvm'/>"
    kept.keep_both(b"<domain/>", goal)
    made = kept.keep_settled(goal, goal)
    assert kept.path("settled").samefile(kept.path("goal"))
    assert kept.keep_settled(goal, goal) == made  # a later life, which notes it again
    kept.path("settled").unlink()
    assert KeptTexts(found.folder, "a").get("settled", made) == goal
    other = kept.keep_settled(b"<other/>", goal)
    assert KeptTexts(found.folder, "a").get("settled", other) == b"<other/>"
    assert KeptTexts(found.folder, "a").get("goal", made) == goal


def test_a_run_that_ended_is_read_once_to_see_that(tmp_path: Path) -> None:
    state = StateFolder(str(tmp_path))
    ended, left = run_with(state, BEGIN_A, DONE_A, END), run_with(state, BEGIN_A)
    assert [found.folder for found in unfinished(state)] == [left.folder]
    (ended.folder / NAME).write_bytes(b"")
    assert [found.folder for found in unfinished(state)] == [left.folder]
    anew = {found.folder for found in unfinished(StateFolder(str(tmp_path)))}
    assert anew == {ended.folder, left.folder}
