"""Audits of a fleet are remembered without any set-up."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.fleet.daemons import write_host
from tests.reports.page.decoded import decoded


def test_two_audits_and_their_drift(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VNICAUDIT_HISTORY", raising=False)
    uris, state = tmp_path / "uris", tmp_path / "state"
    uris.write_text("test:///default?1\ntest:///none.xml\n")
    words = ("audit", "-i", uris, "--state", state, "-q", "-o", tmp_path / "out")
    for _ in range(2):
        assert inside(*words).returncode == 4
    done = inside("history", "status", "--state", state, "--format", "json")
    found = json.loads(done.stdout)
    audits = [(one["ok"], one["failed"], one["hosts"]) for one in found["audits"]]
    assert audits == [(1, 1, 2), (1, 1, 2)]
    assert found["audits"][0]["unchanged"] == 1
    assert [one["failure"] for one in found["stale"]] != []
    drift = inside("diff", "previous", "latest", "--state", state)
    assert (drift.returncode, drift.stderr) == (0, "")
    assert "; no drift" in " ".join(drift.stdout.split())


def test_another_place_may_be_named(tmp_path: Path) -> None:
    uris, there = tmp_path / "uris", tmp_path / "there.db"
    uris.write_text("test:///default?1\n")
    words = ("-i", uris, "--state", tmp_path / "state", "-q", "-o", tmp_path / "out")
    inside("audit", *words, "--history", there)
    assert there.exists()
    assert not (tmp_path / "state" / "history.db").exists()


def test_the_page_of_an_audit_tells_what_changed_since_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VNICAUDIT_HISTORY", raising=False)
    node, fleet, out = tmp_path / "h1.xml", tmp_path / "fleet.toml", tmp_path / "out.html"
    fleet.write_text(f'[[hosts]]\nname = "h1"\nsite = "north"\nuri = "test://{node}"\n')
    words = ("audit", "-i", fleet, "--state", tmp_path / "state", "-q", "-o", out)
    pages = []
    for domains in (2, 4, 1):
        write_host(node, 1, domains)
        assert inside(*words, "--select", "VNIC002").returncode in (0, 1)
        pages.append(out.read_text())
    first, second, third = map(decoded, pages)
    assert first.tables["finding"]["state"] == ["new"]
    assert second.tables["finding"]["state"] == ["known", "new"]
    assert set(second.tables["subject"]["site"]) == {"north"}
    assert third.tables["settled"]["state"] == ["gone", "gone"]
    assert 'class="changes"' not in pages[0]
    assert '<a href="#findings?state=new"><b>1</b> new</a>' in pages[1]
    assert '<a href="#settled?state=gone"><b>2</b> gone</a>' in pages[2]
    assert "The last 3 audits" in pages[2]
    assert "What to fix first" in pages[1]
    assert "Rules skipped" in pages[1]
    redacted = tmp_path / "redacted.html"
    inside(*words[:-1], redacted, "--redact")
    text = redacted.read_text()
    assert "h1-d" not in text
    assert "north" not in text


SHARED = "52:54:00:aa:bb:cc"


def test_what_two_hosts_share_is_remembered_with_each(tmp_path: Path) -> None:
    """It is fixed once all hosts were read and it was not there: a host that is not reached hides
    it, and cures nothing."""
    files = [tmp_path / f"h{n}.xml" for n in range(3)]
    uris, there = tmp_path / "uris", tmp_path / "there.db"
    uris.write_text("".join(f"test://{path}\n" for path in files))

    def audited() -> list[tuple[str, str, str]]:
        words = ("-i", uris, "--state", tmp_path / "state", "-q", "-o", tmp_path / "out")
        inside("audit", *words, "--history", there, "--select", "VNIC016,VNIC017")
        with closing(sqlite3.connect(there)) as history:
            query = "SELECT host, subject, state FROM findings ORDER BY host, since"
            return [(host[-6:], name, state) for host, name, state in history.execute(query)]

    def both(state: str) -> list[tuple[str, str, str]]:
        return [("h0.xml", "h0-d0", state), ("h1.xml", "h1-d0", state)]

    for number, path in enumerate(files):
        write_host(path, number, 2, mac=SHARED if number < 2 else "")
    assert audited() == both("new")
    assert audited() == both("known")
    files[1].rename(tmp_path / "away")
    assert audited() == both("not looked at")
    (tmp_path / "away").rename(files[1])
    assert audited() == both("known")
    files[2].rename(tmp_path / "away")
    write_host(files[1], 1, 2)
    assert audited() == [("h0.xml", "h0-d0", "not looked at"), ("h1.xml", "h1-d0", "not looked at")]
    (tmp_path / "away").rename(files[2])
    assert audited() == [
        ("h0.xml", "h0-d0", "fixed"),
        ("h1.xml", "h1-d0", "gone"),  # the NIC of that address is not there any more
    ]
