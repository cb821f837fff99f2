"""A run on files whose journal was emptied, and whose tasks were gone as well: rollback said "taken
back", exit code 0, with every file still changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.definitions import E1000
from vnicaudit.cli.main import run
from vnicaudit.remedy.history import runs


def test_they_are_told_as_lost_and_come_back_by_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "a.xml"
    file.write_text(E1000)
    assert run(["plan", "a.xml", "-o", "plan.json", "--quiet"]) == 0
    assert run(["apply", "plan.json", "--yes", "--state", "state"]) == 0
    changed = file.read_text()
    (folder,) = (tmp_path / "state/runs").iterdir()
    (folder / "journal.jsonl").write_bytes(b"")
    for task in folder.glob("definitions/*.task.json"):
        task.unlink()
    capsys.readouterr()
    assert run(["rollback", folder.name, "--yes", "--state", "state"]) == 5
    told = capsys.readouterr()
    assert "Stopped: taken back" not in told.out + told.err
    assert "its original is kept" in told.out + told.err
    assert file.read_text() == changed
    assert f"{folder.name}/journal.jsonl: it has lost its beginning" in runs("state")[0].damage[0]
    assert run(["rollback", folder.name, "--restore", "--yes", "--state", "state"]) == 0
    assert file.read_text() == E1000
