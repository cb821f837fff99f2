"""After apply nothing said how to take it back; a run that was rolled back read "done, 3 applied"
for ever, and the rollback had "applied" too; a plan of nothing was to be applied next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.definitions import E1000
from tests.reports.plan.samples import MAIL, PLAN
from vnicaudit.cli.main import run
from vnicaudit.model.plan import Loss
from vnicaudit.remedy.history import runs
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
    assert f"Take it back: vnicaudit rollback {first} --state 'my state'\n" in told


def test_a_run_that_was_taken_back_reads_undone(capsys: Capture) -> None:
    first, _told = applied(capsys)
    assert run(["rollback", first, "--yes", "--state", "my state"]) == 0
    back = runs("my state")[0].id
    shown = capsys.readouterr()
    assert "\n  undone       a  " in shown.out
    assert "\n1 domain: 1 undone\n" in shown.out
    assert f"Undo that: vnicaudit rollback {back} --state 'my state'\n" in shown.err
    assert run(["runs", "--state", "my state"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split() for line in lines if not line.startswith(" ")]
    assert [row[:2] for row in rows] == [[back, "done"], [first, "undone"]]
    assert run(["runs", first, "--state", "my state"]) == 0
    assert f"    taken back by run {back}\n" in capsys.readouterr().out
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
    assert "Written to p.json: nothing in it to apply\n" in told
    assert "next:" not in told


def test_a_plan_that_could_not_be_read_whole_says_so(capsys: Capture) -> None:
    assert run(["plan", "a.xml", "nosuch.xml", "-o", "p.json"]) == 4
    told = capsys.readouterr().err
    assert "Written to p.json (not all targets could be read); next: vnicaudit apply p.json" in told


def test_a_blocked_step_is_not_counted_as_safe() -> None:
    blocked = replace(MAIL, id="b", safe=True, losses=(Loss("mtu", "gone", accepted=False),))
    text = summary(replace(PLAN, steps=(MAIL, blocked), left=(), errors=()))
    assert text == "2 steps on 1 domain: 1 safe, 1 blocked"


def test_the_help_of_apply_breaks_a_long_command_by_a_backslash(capsys: Capture) -> None:
    assert run(["apply", "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (place,) = (number for number, line in enumerate(lines) if "ssh://ops@" in line)
    assert lines[place].endswith("--nova-manage ssh://ops@controller \\")
    assert (
        lines[place + 1].strip() == "--nova-manage-command 'sudo docker exec nova_api nova-manage'"
    )
