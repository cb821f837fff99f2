"""``vnicaudit runs``: the list, one run, and its completion."""

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
from click.shell_completion import ShellComplete

from tests.reports.runs.samples import APPLY, RUNS
from vnicaudit.cli.commands import cli
from vnicaudit.cli.main import run
from vnicaudit.cli.remedy import runs as command
from vnicaudit.errors import TargetError
from vnicaudit.model.runs import RunRecord


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that runs were asked of; each has the sample runs."""
    folders: list[str] = []

    def runs(folder: str) -> list[RunRecord]:
        folders.append(folder)
        return list(RUNS)

    monkeypatch.setattr(command, "runs", runs)
    monkeypatch.setenv("COLUMNS", "100")
    return folders


def test_the_list_newest_first(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--state", "here"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if line[0] != " "] == [one.id for one in RUNS]
    assert asked == ["here"]


def test_one_run(asked: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", APPLY.id, "--state", "here"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{APPLY.id}  rolled-back  apply restart\n")
    assert "    failed   agent: does not answer\n" in text
    assert set(asked) == {"here"}


@pytest.mark.parametrize(("chosen", "ids"), [([], [r.id for r in RUNS]), ([APPLY.id], [APPLY.id])])
@pytest.mark.usefixtures("asked")
def test_json(chosen: list[str], ids: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", *chosen, "--state", "here", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "vnicaudit.runs/1"
    assert [one["id"] for one in document["runs"]] == ids


@pytest.mark.usefixtures("asked")
def test_an_unknown_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "2026", "--state", "here"]) == 2
    assert capsys.readouterr() == (
        "", "Error: there is no run '2026' in here; `vnicaudit runs --state here` lists them\n",
    )  # fmt: skip


def test_no_runs_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(tmp_path)
    assert run(["runs", "--state", folder]) == 0
    assert capsys.readouterr().out == "No runs\n"
    assert run(["runs", "--state", folder, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"schema": "vnicaudit.runs/1", "runs": []}


def test_looking_makes_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", "--state", str(tmp_path / "none")]) == 0
    assert capsys.readouterr().out == "No runs\n"
    assert list(tmp_path.iterdir()) == []


def completed(*words: str) -> list[str]:
    """What the shell is offered for the last word."""
    context = ShellComplete(cli, dict(cli.context_settings), "vnicaudit", "_VNICAUDIT_COMPLETE")
    *before, last = words
    return [item.value for item in context.get_completions(list(before), last)]


def test_ids_complete(asked: list[str]) -> None:
    assert completed("runs", "--state", "here", "202611") == [one.id for one in RUNS]
    assert completed("runs", "--state", "here", "2026112") == [RUNS[0].id, RUNS[1].id]
    assert completed("runs", "--state", "here", "x") == []
    assert set(asked) == {"here"}


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), TargetError("broken")])
def test_completion_of_what_cannot_be_read_is_silent(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "runs", Mock(side_effect=error))
    assert completed("runs", "--state", "here", "2") == []
