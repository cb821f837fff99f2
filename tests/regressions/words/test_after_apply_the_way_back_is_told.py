"""After apply nothing said how to take it back; a run that was rolled back read "done, 3 applied"
for ever, and the rollback had "applied" too; a plan of nothing was to be applied next."""

import json
import shlex
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.definitions import E1000
from tests.reports.plan.samples import MAIL, PLAN
from vnicaudit.cli.main import run
from vnicaudit.model.plan import Loss
from vnicaudit.remedy.applying.history import runs
from vnicaudit.reports.plan.text import summary

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own, with two definitions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in "ab":
        (tmp_path / f"{name}.xml").write_text(E1000.replace("<name>a<", f"<name>{name}<"))
    return tmp_path


def applied(capsys: Capture) -> tuple[str, str]:
    """The id of a run, and what was told of it."""
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet"]) == 0
    capsys.readouterr()
    assert run(["apply", "plan.json", "--yes", "--state", "my state"]) == 0
    return runs("my state")[0].id, capsys.readouterr().err


def test_apply_ends_with_the_command_that_takes_it_back(capsys: Capture) -> None:
    first, told = applied(capsys)
    assert f"Undo: vnicaudit rollback {first} --state 'my state'\n" in told


def test_a_run_that_was_taken_back_reads_undone(capsys: Capture) -> None:
    first, _told = applied(capsys)
    assert run(["rollback", first, "--yes", "--state", "my state"]) == 0
    back = runs("my state")[0].id
    shown = capsys.readouterr()
    assert shown.out.startswith("  undone       a  ")
    assert f"\nRun {back}: 1 guest: 1 undone\n" in shown.out
    assert f"Undo the rollback: vnicaudit rollback {back} --state 'my state'\n" in shown.err
    assert run(["runs", "--state", "my state"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if not line.startswith(" ")]
    assert [row[:2] for row in rows] == [[back, "done"], [first, "undone"]]
    assert run(["runs", first, "--state", "my state"]) == 0
    assert f"    undone by run {back}\n" in capsys.readouterr().out
    assert run(["runs", first, "--state", "my state", "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["runs"]
    assert (one["outcome"], one["steps"][0]["outcome"]) == ("done", "applied")
    assert one["steps"][0]["undone_by"] == back


def test_what_was_taken_back_of_a_way_back_is_applied_again(capsys: Capture) -> None:
    first, _told = applied(capsys)
    assert run(["rollback", first, "--yes", "--state", "my state"]) == 0
    back = runs("my state")[0].id
    assert run(["rollback", back, "--yes", "--state", "my state"]) == 0
    capsys.readouterr()
    assert run(["runs", "--state", "my state"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if not line.startswith(" ")]
    assert [row[1] for row in rows] == ["done", "undone", "done"]


def test_a_plan_of_what_is_not_there_is_not_to_be_applied_next(capsys: Capture) -> None:
    assert run(["plan", "nosuch.xml", "-o", "p.json"]) == 4
    told = capsys.readouterr().err
    assert "Written to p.json: there is nothing to apply\n" in told
    assert "next:" not in told


def test_a_plan_that_could_not_be_read_whole_says_so(capsys: Capture) -> None:
    assert run(["plan", "a.xml", "nosuch.xml", "-o", "p.json"]) == 4
    told = capsys.readouterr().err
    assert (
        "Written to p.json (some targets could not be read); next: vnicaudit apply p.json" in told
    )


def test_a_blocked_step_is_not_counted_as_safe() -> None:
    blocked = replace(MAIL, id="b", safe=True, losses=(Loss("mtu", "gone", accepted=False),))
    text = summary(replace(PLAN, steps=(MAIL, blocked), not_planned=(), errors=()))
    assert text == "2 steps on 1 guest: 1 safe, 1 blocked"


def test_a_plan_of_what_is_not_there_does_not_replace_a_good_one(
    here: Path, capsys: Capture
) -> None:
    """It was overwritten by an empty one."""
    assert run(["plan", "a.xml", "-o", "p.json", "--quiet"]) == 0
    good = (here / "p.json").read_bytes()
    capsys.readouterr()
    assert run(["plan", "nosuch.xml", "-o", "p.json"]) == 4
    told = capsys.readouterr().err
    assert (
        "p.json was not overwritten: some targets could not be read, and the new plan would" in told
    )
    assert (here / "p.json").read_bytes() == good
    (here / "p.json").write_bytes(b"something else")
    assert run(["plan", "nosuch.xml", "-o", "p.json"]) == 2
    assert (here / "p.json").read_bytes() == b"something else"


def test_what_is_back_already_is_not_called_as_planned(here: Path, capsys: Capture) -> None:
    first, _told = applied(capsys)
    (here / "a.xml").write_text(E1000)
    assert run(["rollback", first, "--yes", "--state", "my state"]) == 0
    said = capsys.readouterr()
    assert "    it is already as before\n" in said.out
    assert "as planned" not in said.out + said.err


def test_the_way_over_an_edit_of_a_file_is_told_and_goes(here: Path, capsys: Capture) -> None:
    """``--over-edits`` does nothing for a file, and the command that does was not named."""
    first, _told = applied(capsys)
    (here / "a.xml").write_text(E1000.replace("bridge0", "br1").replace("br0", "br1"))
    assert run(["rollback", first, "--over-edits", "--yes", "--state", "my state"]) == 5
    told = capsys.readouterr().out
    path = here / "a.xml"
    words = f"rollback {first} --restore --domain {path} --state 'my state'"
    assert f"restore the whole original: vnicaudit {words}\n" in told
    assert run([*shlex.split(words), "--yes"]) == 0
    assert path.read_text() == E1000


@pytest.mark.parametrize("look", ["--dry-run", "--yes"])
def test_what_is_put_back_as_a_whole_is_shown(capsys: Capture, look: str) -> None:
    first, _told = applied(capsys)
    assert run(["rollback", first, "--restore", look, "--state", "my state"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("a:\n  --- a\n  +++ a\n")
    assert "\n  -      <model type='virtio'/>\n  +      <model type='e1000'/>\n" in shown
    assert ("a: would be undone\n" in shown) is (look == "--dry-run")
    quiet = ["rollback", first, "--restore", look, "--state", "my state", "--quiet"]
    assert run(quiet) == 0
    assert "---" not in capsys.readouterr().out


def test_junk_that_is_put_back_as_a_whole_is_shown_as_what_it_is(
    here: Path, capsys: Capture
) -> None:
    first, _told = applied(capsys)
    (here / "a.xml").write_bytes(b"\x00\xff<\x1b[31m" * 5)
    assert run(["rollback", first, "--restore", "--yes", "--state", "my state"]) == 0
    assert (here / "a.xml").read_text() == E1000
    assert "\x1b" not in capsys.readouterr().out


def test_a_password_that_is_put_back_is_not_shown(here: Path, capsys: Capture) -> None:
    graphics = "<graphics type='vnc' passwd='s3cret'/>"
    secret = E1000.replace("</devices>", f"{graphics}</devices>")
    (here / "a.xml").write_text(secret)
    first, _told = applied(capsys)
    (here / "a.xml").write_text(E1000)
    assert run(["rollback", first, "--restore", "--dry-run", "--state", "my state"]) == 0
    shown = capsys.readouterr().out
    assert "graphics" in shown
    assert "s3cret" not in shown


def test_a_damaged_journal_is_told_in_english(here: Path, capsys: Capture) -> None:
    first, _told = applied(capsys)
    journal = here / "my state/runs" / first / "journal.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b'"event":"end"', b'"event":"ene"'))
    assert run(["runs", "--state", "my state"]) == 0
    assert capsys.readouterr().err.endswith(
        "damaged: its checksum does not match; the rest of the run's journal is used\n"
    )
