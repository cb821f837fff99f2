"""Audits of a fleet are remembered without any set-up."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside


def test_two_audits_and_their_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VNICAUDIT_HISTORY", raising=False)
    uris, state = tmp_path / "uris", tmp_path / "state"
    uris.write_text("test:///default?1\ntest:///none.xml\n")
    words = ("fleet", "audit", "-i", uris, "--state", state, "-q", "-o", tmp_path / "out")
    for _ in range(2):
        assert inside(*words).returncode == 4
    done = inside("history", "status", "--state", state, "--format", "json")
    found = json.loads(done.stdout)
    audits = [(one["ok"], one["failed"], one["hosts"]) for one in found["audits"]]
    assert audits == [(1, 1, 2), (1, 1, 2)]
    assert found["audits"][0]["unchanged"] == 1
    assert [one["failure"] for one in found["stale"]] != []
    drift = inside("drift", "previous", "latest", "--state", state)
    assert (drift.returncode, drift.stderr) == (0, "")
    assert "No drift" in drift.stdout


def test_another_place_may_be_named(tmp_path: Path) -> None:
    uris, there = tmp_path / "uris", tmp_path / "there.db"
    uris.write_text("test:///default?1\n")
    words = ("-i", uris, "--state", tmp_path / "state", "-q", "-o", tmp_path / "out")
    inside("fleet", "audit", *words, "--history", there)
    assert there.exists()
    assert not (tmp_path / "state" / "history.db").exists()
