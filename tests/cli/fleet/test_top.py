"""``fleet top``: ranks of the newest audit of a real fleet, and of one with traffic and gains."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.inside import inside
from tests.fleet.ranking_records import Problem, audit, guest, reading, traffic
from tests.history.measured import measurement
from vnicaudit.fleet.spool import AuditSpool, SpoolFolder
from vnicaudit.history import history_to_write
from vnicaudit.history.place import history_place
from vnicaudit.model.fleet import HostReading

HOSTILE = "web\x1b[2J\nroot\u202e"


def kept(state: Path, *readings: HostReading) -> Path:
    """The state folder with an audit that read these hosts."""
    names = tuple(one.host.name for one in readings)
    spool = SpoolFolder(state).new("20210101-000000-0000")
    for place, one in enumerate(readings):
        spool.add(place, one)
    spool.write_audit(audit(*names))
    return state


def top(state: Path, *words: str) -> dict[str, Any]:
    """The ranking as JSON."""
    result = inside("fleet", "top", "--state", state, "--format", "json", *words)
    assert (result.returncode, result.stderr) == (0, "")
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two hosts with traffic."""
    return kept(
        tmp_path / "state",
        reading("kvm1", [guest("idle", Problem()), guest("busy", Problem())],
                [traffic("busy", rate=38_000_000, drops=1204), traffic("idle", rate=62_000_000)]),
        reading("kvm2", [guest("third", Problem(severity="medium", rule="TEST2", change=None))]),
    )  # fmt: skip


def test_ranks_of_a_fleet_that_was_really_audited(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text('[[hosts]]\nname = "kvm1"\nuri = "test:///default"\n')
    words = ("-i", fleet, "--state", tmp_path / "state", "--select", "VNIC006", "-q")
    assert inside("audit", *words, "--traffic", "0.1").returncode == 1
    ranking = top(tmp_path / "state")
    (one,) = ranking["changes"]
    assert (one["rules"], one["place"]["name"], one["place"]["host"]) == (
        ["VNIC006"], "test", "kvm1",
    )  # fmt: skip
    assert (one["traffic"], one["estimate"], ranking["hosts"]) == (None, None, 1)


def test_an_audit_of_the_future_counts_only_while_there_is_no_other(tmp_path: Path) -> None:
    """One whose clock was in the future was ranked for ever."""
    state = tmp_path / "state"
    words = ("-i", "default,", "--uri", "test:///{name}", "--select", "VNIC006", "-q")
    inside("audit", *words, "--state", state)
    (folder,) = (state / "fleet" / "audits").iterdir()
    future = SpoolFolder(state).new("20350101-000000-0000")
    later = msgspec.structs.replace(
        AuditSpool(folder).audit(),
        id=future.folder.name,
        started="2035-01-01T00:00:00Z",
        chosen_hosts=(),
    )
    future.write_audit(later)
    ranked = top(state)
    assert ranked["started"] == AuditSpool(folder).audit().started
    assert not any("after the present" in note for note in ranked["notes"])
    shutil.rmtree(folder)
    ranked = top(state)
    assert ranked["started"] == later.started
    assert ranked["notes"][0] == (
        f"audit {later.id} started after the present by this machine's clock: set the clock, and "
        "audit again"
    )


def test_a_part_of_a_fleet_is_called_one(tmp_path: Path) -> None:
    words = ("--state", tmp_path / "state", "--select", "VNIC006", "-q", "--uri", "test:///{name}")
    inside("audit", "-i", "default,other", "--limit", "default", *words)
    assert (
        "only part of the fleet was audited: limit 'default', 1 of 2 hosts"
        in top(tmp_path / "state")["notes"]
    )


def test_text_has_rank_change_place_and_why(state: Path) -> None:
    result = inside("fleet", "top", "--state", state, "--top", "2", env={"COLUMNS": "90"})
    assert (
        result.stdout
        == """\
1  high  model → virtio in 2 places on 1 host  TEST1 test1
   1,204 drops/s; carries 100 % of this host's bytes (800 Mbit/s); certain, safe; 2 NICs
     in 2 guests
   Fix: set it

2  high  model → virtio in busy on kvm1  TEST1 test1
   1,204 drops/s; carries 38 % of this host's bytes (304 Mbit/s); certain, safe; 1 NIC; 1
     more place needs the same
   Fix: set it

Note: `vnicaudit plan -i INVENTORY -o plan.json` plans these changes of libvirt's guests,
  and `vnicaudit apply plan.json` makes them
2 of 3 changes, for 3 problems on 2 of 2 hosts, audited 2021-01-01T00:00:00Z
"""
    )


def test_each_place_is_ranked_on_request(state: Path) -> None:
    combined, *others = top(state)["changes"]
    assert (combined["place"]["kind"], combined["places"], combined["nics"]) == ("many", 2, 2)
    assert [one["place"]["name"] for one in others] == ["busy", "third"]
    found = [one["place"]["name"] for one in top(state, "--by", "place")["changes"]]
    assert found == ["busy", "idle", "third"]


def test_gains_are_those_of_the_history(state: Path) -> None:
    assert [one["estimate"] for one in top(state)["changes"]] == [None] * 3
    with history_to_write(history_place(None, state)) as history:
        history.add_measurements([measurement(f"m{n}", n, verdict="improved") for n in (9, 200)])
        history.add_measurements([measurement("bad", 900, verdict="invalid")])
        history.add_measurements([measurement("aside", 800, primary=False)])
    first = top(state)["changes"][0]["estimate"]
    assert first == {
        "workload": "bulk", "metric": "throughput", "measurements": 2, "percent": 104.5,
        "low": 9.0, "high": 200.0,
    }  # fmt: skip


def test_names_cannot_reach_the_terminal(tmp_path: Path) -> None:
    problem = Problem(fix=f"virsh edit {HOSTILE}", rule="TEST1\x1b]0;x\x07")
    state = kept(tmp_path / "state", reading(f"kvm{HOSTILE}", [guest(HOSTILE, problem)]))
    result = inside("fleet", "top", "--state", state, "--color", "always")
    plain = result.stdout.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    assert "\x1b" not in plain
    assert "\u202e" not in plain
    assert "web\\x1b[2J\\nroot\\u202e on kvm" in plain
    assert top(state)["changes"][0]["place"]["name"] == HOSTILE


def test_a_reading_that_is_damaged_is_named_and_left_out(state: Path) -> None:
    (file,) = state.glob("fleet/audits/*/hosts/000000")
    file.write_bytes(file.read_bytes()[:-3])
    result = inside("fleet", "top", "--state", state)
    assert result.returncode == 0
    assert "Note: kvm1 is left out, as its stored reading cannot be used" in result.stderr
    assert "1 of 1 change, for 1 problem on 1 of 2 hosts" in result.stdout


def test_nothing_to_rank(tmp_path: Path) -> None:
    none = inside("fleet", "top", "--state", tmp_path / "none")
    assert (none.returncode, none.stdout) == (2, "")
    state = kept(tmp_path / "state", reading("kvm1", [guest("web")]))
    clean = inside("fleet", "top", "--state", state)
    assert clean.stdout == "Nothing to change on 1 host, audited 2021-01-01T00:00:00Z\n"


def test_a_host_s_deadline_has_to_be_longer_than_the_count(tmp_path: Path) -> None:
    words = ("-i", "test:///default", "--state", tmp_path, "VNICAUDIT_HOST_DEADLINE=5")
    result = inside("audit", *words, "--traffic")
    assert result.returncode == 2
    assert "--traffic 10" in result.stderr
    assert "VNICAUDIT_HOST_DEADLINE allows only 5 s" in result.stderr


def test_traffic_is_kept_and_is_no_part_of_the_digest(tmp_path: Path) -> None:
    with_traffic = reading("kvm1", [guest("web")], [traffic("web", rate=5)])
    state = kept(tmp_path / "state", with_traffic)
    spool = SpoolFolder(state).finished()
    assert spool is not None
    back = spool.host(0)
    assert back is not None
    assert back.reading() == with_traffic
    assert msgspec.structs.replace(with_traffic, traffic=()).digest == with_traffic.digest
