"""``audit -i --redact``: no form of report, and no line on standard error, names a host, a group
or a site of the fleet, or where its history is."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import inside
from tests.fleet.daemons import write_host
from tests.reports.redaction.planting import unpacked
from vnicaudit.reports.formats import formats

FLEET = """\
[groups.acmezone]
hosts = ["acme1", "acme2"]
[groups.network]
hosts = ["acme2"]
[groups.acmeold]
"""
LIMIT = "acmezone,acmeold,network,!acme[0-9]x,~acme[0-9]+$"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two hosts with a URI each, of which one is named twice, and one is not there."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setenv("VNICAUDIT_STATE", str(tmp_path / "own"))
    write_host(folder / "acme1.xml", 1, 2)
    uris = {n: f"test://{folder}/acme{n}.xml" for n in (1, 2)}
    text = "".join(
        f'[[hosts]]\nname = "acme{n}"\nuri = "{uri}"\nsite = "acmesite"\n'
        for n, uri in uris.items()
    )
    (folder / "fleet.toml").write_text(FLEET + text)
    (folder / "uris").write_text(f"{uris[1]}\n")
    return folder


def test_no_name_comes_through(site: Path) -> None:
    words = ["audit", "-i", "fleet.toml", "-i", "uris", "--limit", LIMIT]
    words += ["--state", "state", "--redact"]
    outputs = {name: site / f"report.{name}" for name in formats()}
    for name, path in outputs.items():
        words += ["--format", name, "--output", str(path)]
    result = inside(*words, cwd=site)
    assert result.returncode == 4
    assert "is already named as" in result.stderr
    assert "matches no host or group" in result.stderr
    assert "Audited only part of the fleet: limit" in result.stderr
    texts = {name: unpacked(path.read_text()) for name, path in outputs.items()}
    texts["stderr"] = result.stderr
    assert {name for name, text in texts.items() if "acme" in text.casefold()} == set()
    coverage = json.loads(texts["json"])["coverage"]
    assert coverage["limit"].count("name-") == 6
    assert "network" not in coverage["limit"]


def test_an_error_of_what_remembers_does_not_say_where_that_is(site: Path) -> None:
    words = ("audit", "-i", "fleet.toml", "--state", "state", "--redact")
    there = "postgresql://audit@acmedb.example/acme?connect_timeout=1&host=/acmesocket"
    result = inside(*words, "--history", there, "-o", site / "out.json", cwd=site)
    assert result.returncode == 4
    assert result.stderr.startswith("Warning: history postgresql://")
    assert "acme" not in result.stderr
