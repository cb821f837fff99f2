"""``vnicaudit audit -i`` over real daemons: sockets, TLS, ssh; slow, refusing, hung ones."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest

from benchmarks import delay_proxy
from tests.bench.endpoints.left import until
from tests.bench.endpoints.private_sshd import private_sshd
from tests.cli.command import SCRIPT, vnicaudit
from tests.cli.inside import inside
from tests.fleet.daemons import HostsDaemon, hosts_daemon, write_host
from tests.fleet.paths import by_ssh, mute_port, tiring_proxy
from tests.ports import free_port
from tests.rows import rows_of_tuples

HOSTS = 20
SAMPLE_IN = {
    "html": "Only a part was audited: a sample of 10% of the hosts (seed 7)",
    "text": "sample of 10%",
    "markdown": "sample of 10%",
    "prometheus": "vnicaudit_sample_share 0.1",
    "sarif": '"seed":7',
}
"""Format -> how a sample stands in it."""
NOTHING: Mapping[str, str] = {}


@pytest.fixture(scope="module")
def daemon() -> Iterator[HostsDaemon]:
    """A daemon with twenty hosts of three domains each."""
    with hosts_daemon(HOSTS) as running:
        yield running


def inventory(
    folder: Path, uris: dict[str, str], more: str = "", own: Mapping[str, str] = NOTHING
) -> Path:
    """An inventory of hosts by name. ``more``: settings of all; ``own``: those of a host."""
    path = folder / "fleet.toml"
    hosts = "".join(
        f'[[hosts]]\nname = "{name}"\nuri = "{uri}"\n{own.get(name, "")}\n'
        for name, uri in uris.items()
    )
    path.write_text(f"[defaults]\n{more}\n{hosts}")
    return path


def audited(
    folder: Path,
    uris: dict[str, str],
    *words: str,
    more: str = "",
    own: Mapping[str, str] = NOTHING,
) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """The report of a fleet, and what else was said."""
    hosts = inventory(folder, uris, more, own)
    given = ("-i", hosts, "--state", folder / "state", "--format", "json")
    trusted = [word for uri in uris.values() if "command=" in uri for word in ("--trust-uri", uri)]
    result = vnicaudit("audit", *given, *trusted, *words)
    return (json.loads(result.stdout) if result.stdout else {}), result


def without_times(text: str) -> str:
    """A report without what differs between any two."""
    report = json.loads(text)
    del report["started"], report["finished"]
    return json.dumps(report)


def test_an_inventory_and_a_history_in_a_folder_whose_name_is_not_utf8(
    daemon: HostsDaemon, tmp_path: Path
) -> None:
    folder = tmp_path / os.fsdecode(b"odd\xff")
    folder.mkdir()
    for time in ("first", "again"):
        report, result = audited(folder, {"h0": daemon.tcp(0)}, "--select", "VNIC002")
        assert result.stderr == "Read 1 of 1 host, 3 guests\n", time
        assert report["summary"]["nics"] > 0


def test_twenty_hosts_are_read_whatever_the_way_to_them(
    daemon: HostsDaemon, tmp_path: Path
) -> None:
    with private_sshd(tmp_path) as sshd:
        uris = {f"h{n}": daemon.tcp(n) for n in range(16)}
        uris |= {"h16": daemon.unix(16), "h17": daemon.tls(17)}
        uris |= {f"h{n}": by_ssh(daemon, sshd, n) for n in (18, 19)}
        report, result = audited(tmp_path, uris, "--select", "VNIC002")
    assert result.stderr == "Read 20 of 20 hosts, 60 guests\n"
    assert result.returncode == 1
    assert [target["target"] for target in report["targets"]] == list(uris.values())
    found = [finding["about"]["name"] for finding in report["findings"]]
    assert found == [f"h{n}-d1" for n in range(20)]
    assert report["coverage"]["hosts"] == report["coverage"]["inventory"] == 20


def test_equal_findings_name_some_of_their_hosts(daemon: HostsDaemon, tmp_path: Path) -> None:
    """Names of guests say nothing where each host has a guest of that name."""
    hosts = inventory(tmp_path, {f"kvm{n}": daemon.tcp(n) for n in range(5)})
    words = ("-i", hosts, "--state", tmp_path / "state", "--select", "VNIC002", "--view", "short")
    said = inside("audit", *words).stdout
    assert "\n    on: h0-d1, h1-d1, h2-d1, h3-d1, h4-d1\n" in said
    assert "\n    hosts: kvm0, kvm1, kvm2 and 2 more\n" in said
    said = inside("audit", *words, "--limit", "kvm3").stdout
    assert "\n    hosts: kvm3\n" in said


def test_six_ways_to_fail_cost_six_hosts_and_each_is_explained(
    daemon: HostsDaemon, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        sshd = stack.enter_context(private_sshd(tmp_path))
        slow, _proxy = stack.enter_context(
            delay_proxy.running(f"127.0.0.1:{daemon.tcp_port}", delay_ms=20)
        )
        mute = stack.enter_context(mute_port())
        hung = stack.enter_context(tiring_proxy(daemon.tcp_port, 3000))
        lost = stack.enter_context(tiring_proxy(daemon.tcp_port, 3000, closes=True))
        uris = {
            "slow": daemon.tcp(0, slow),
            "closed": f"test+tcp://127.0.0.1:{free_port()}/default",
            "mute": daemon.tcp(1, mute),
            "hung": daemon.tcp(2, hung),
            "lost": daemon.tcp(3, lost),
            "strange": daemon.tls(4, keys="stranger"),
            "refused": f"test+tcp://127.0.0.1:{daemon.tcp_port}/nowhere.xml",
            "key": by_ssh(daemon, sshd, 5).replace("test+ssh://", "test+ssh://nobody@"),
            "well": daemon.tcp(6),
        }
        hanging = dict.fromkeys(("mute", "hung"), "deadline = 3")  # the others have time to fail
        words = ("VNICAUDIT_RETRIES=0", "--select", "VNIC002")
        report, result = audited(tmp_path, uris, *words, more="deadline = 60", own=hanging)
    assert result.returncode == 4
    assert "libvirt version" not in result.stderr  # nor anything else of libvirt's own log
    targets = dict(zip(uris, report["targets"], strict=True))
    assert [one["name"] for one in report["targets"]] == list(uris)
    statuses = {name: one["status"] for name, one in targets.items()}
    assert {name for name, status in statuses.items() if status == "ok"} == {"slow", "well"}
    errors = {name: one["error"] for name, one in targets.items() if one["error"]}
    assert errors.keys() == statuses.keys() - {"slow", "well"}
    said = {
        "closed": "nothing is listening there", "mute": "no answer within 3 s", "hung": "no answer",
        "strange": "certificate", "key": "Permission denied", "lost": "", "refused": "nowhere.xml",
    }  # fmt: skip
    assert {name: text in errors[name] for name, text in said.items()} == dict.fromkeys(said, True)
    kinds = kinds_of(tmp_path)
    assert kinds == {
        "slow": None, "closed": "unreachable", "mute": "deadline", "hung": "deadline",
        "lost": "broken", "strange": "authentication", "refused": "refused",
        "key": "authentication", "well": None,
    }  # fmt: skip


def kinds_of(folder: Path) -> dict[str, str | None]:
    """Why each host was not read, by the spool of the last audit."""
    newest = max((folder / "state" / "fleet" / "audits").iterdir())
    lines = [json.loads(path.read_bytes().partition(b"\n")[0])
             for path in sorted((newest / "hosts").iterdir())]  # fmt: skip
    return {line["host"]: line["failure"] for line in lines}


def test_the_report_is_the_same_whatever_comes_first(daemon: HostsDaemon, tmp_path: Path) -> None:
    uris = {f"h{n}": daemon.tcp(n) for n in range(12)}
    texts = []
    for number in (1, 12, 4):
        result = audited(tmp_path, uris, f"VNICAUDIT_PARALLEL={number}")[1]
        texts.append(without_times(result.stdout))
    assert texts[0] == texts[1] == texts[2]


def test_plain_audits_and_lists_read_side_by_side_in_order(daemon: HostsDaemon) -> None:
    with delay_proxy.running(f"127.0.0.1:{daemon.tcp_port}", delay_ms=25) as (port, _proxy):
        uris = [daemon.tcp(n, port if n < 4 else None) for n in range(8)]
        result = vnicaudit("audit", *uris, "--format", "json")
        listed = vnicaudit("nics", *uris, "--format", "json")
    report = json.loads(result.stdout)
    assert [one["target"] for one in report["targets"]] == uris
    order = [finding["location"]["target"] for finding in report["findings"]]
    assert order == sorted(order, key=uris.index)
    names = [nic["domain"] for nic in json.loads(listed.stdout)["nics"]]
    assert names == [f"h{n}-d{d}" for n in range(8) for d in range(3)]


def test_nics_of_an_inventory_are_read_as_the_environment_says(
    daemon: HostsDaemon, tmp_path: Path
) -> None:
    gone = f"qemu+tcp://127.0.0.1:{free_port()}/system"
    hosts = inventory(tmp_path, {"kvm1": daemon.tcp(3), "kvm2": gone})
    listed = vnicaudit("nics", "-i", hosts, "--format", "json", "VNICAUDIT_RETRIES=1")
    assert listed.returncode == 4
    report = json.loads(listed.stdout)
    assert [nic["domain"] for nic in report["nics"]] == [f"h3-d{d}" for d in range(3)]
    assert listed.stderr.startswith(f"Error: {gone}: cannot connect")
    assert listed.stderr.endswith(" (2 tries)\n")


def test_mac_addresses_are_compared_over_the_fleet(daemon: HostsDaemon, tmp_path: Path) -> None:
    shared = "52:54:00:aa:bb:cc"
    for number in (0, 9):
        write_host(tmp_path / f"h{number}.xml", number, 2, mac=shared)
    uris = {f"h{n}": f"test://{tmp_path}/h{n}.xml" for n in (0, 9)} | {"h3": daemon.tcp(3)}
    report = audited(tmp_path, uris, "--select", "VNIC016,VNIC017")[0]
    found = [(one["rule"], one["about"]["name"], one["about"]["mac"]) for one in report["findings"]]
    assert found == [("VNIC016", "h0-d0", shared), ("VNIC016", "h9-d0", shared)]


def test_a_killed_audit_is_resumed_where_it_was(daemon: HostsDaemon, tmp_path: Path) -> None:
    with mute_port() as mute:
        uris = {f"h{n}": daemon.tcp(n) for n in range(10)} | {"mute": daemon.tcp(10, mute)}
        whole = [sys.executable, str(SCRIPT), "audit", "-q",
                 "-i", str(inventory(tmp_path, uris)), "--state", f"{tmp_path}/state"]  # fmt: skip
        with subprocess.Popen(whole, stdout=subprocess.DEVNULL) as process:
            until(lambda: len(list(tmp_path.glob("state/fleet/audits/*/hosts/0000??"))) == 10, "10")
            other = vnicaudit(*whole[2:])
            process.send_signal(signal.SIGKILL)
    assert other.returncode == 5
    assert f"is running (process {process.pid} on " in other.stderr
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("state/fleet/audits/*/hosts/*")}
    changed = vnicaudit(*whole[2:], "--resume", "--select", "VNIC002")
    assert (changed.returncode, "was started with other rules" in changed.stderr) == (2, True)
    refused = ("--resume", "VNICAUDIT_RETRIES=0", "VNICAUDIT_DEADLINE=2", "--format", "json")
    result = vnicaudit(*whole[2:], *refused)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    report = json.loads(result.stdout)
    assert [one["status"] for one in report["targets"]] == ["ok"] * 10 + ["failed"]
    fresh = audited(tmp_path, dict(list(uris.items())[:10]))[0]
    assert report["findings"] == fresh["findings"]
    again = vnicaudit(*whole[2:], "--resume")
    assert " was not interrupted" in again.stderr


def test_ctrl_c_keeps_what_is_done(daemon: HostsDaemon, tmp_path: Path) -> None:
    with mute_port() as mute:
        uris = {f"h{n}": daemon.tcp(n) for n in range(5)} | {"mute": daemon.tcp(5, mute)}
        words = [sys.executable, str(SCRIPT), "audit", "-i",
                 str(inventory(tmp_path, uris)), "--state", f"{tmp_path}/state"]  # fmt: skip
        with subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job may ignore it
        ) as process:  # fmt: skip
            until(lambda: len(list(tmp_path.glob("state/fleet/audits/*/hosts/0000??"))) == 5, "5")
            process.send_signal(signal.SIGINT)
            said = process.communicate(timeout=60)[1]
    assert process.returncode == 130
    assert said == (
        "5 of 6 hosts were read and stored; to continue, run the same command with "
        "--resume\n\nInterrupted.\n"
    )


def test_one_that_is_stored_and_not_yet_counted_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come between."""
    real = os.replace

    def interrupted(part: str, path: str | Path) -> None:
        real(part, path)
        if "/hosts/" in str(path):
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    uris = {f"h{n}": f"test:///default?{n}" for n in range(3)}
    result = inside("audit", "-i", inventory(tmp_path, uris), "--state", tmp_path / "s")
    assert result.returncode == 130
    assert "1 of 3 hosts were read and stored; to continue, run the same" in result.stderr


def test_a_sample_is_told_wherever_numbers_are(daemon: HostsDaemon, tmp_path: Path) -> None:
    uris = {f"h{n}": daemon.tcp(n) for n in range(20)}
    given = ("--sample", "10%", "--sample-seed", "7")
    report, result = audited(tmp_path, uris, *given)
    assert result.stderr.splitlines()[-1] == (
        "Audited only part of the fleet: a sample of 10% of the hosts (seed 7), 2 of 20 hosts"
    )
    assert report["coverage"] | {"rules": []} == {
        "rules": [], "limit": "", "host_share": 0.1, "nic_share": 1.0, "seed": 7, "hosts": 2,
        "inventory": 20,
    }  # fmt: skip
    assert len(report["targets"]) == 2
    path = inventory(tmp_path, uris)
    for name, words in SAMPLE_IN.items():
        out = inside("audit", "-i", path, "--state", tmp_path / "state", *given,
                     "--format", name)  # fmt: skip
        assert words in out.stdout.replace("\n", " ").replace("  ", " ")


def test_a_sample_of_nics_looks_at_whole_guests_of_every_host(tmp_path: Path) -> None:
    for number in range(4):
        write_host(tmp_path / f"h{number}.xml", number, 50)
    uris = {f"h{n}": f"test://{tmp_path}/h{n}.xml" for n in range(4)}
    path = inventory(tmp_path, uris)
    out = inside("audit", "-i", path, "--state", tmp_path / "state", "--format", "json",
                 "--sample", "0.2", "--sample-of", "nics", "--sample-seed", "3")  # fmt: skip
    report = json.loads(out.stdout)
    assert len(report["targets"]) == 4
    assert 20 < report["summary"]["nics"] < 60
    assert report["coverage"]["nic_share"] == 0.2


def test_a_damaged_history_keeps_nobody_from_reading(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_bytes(b"no database" * 1000)
    path = inventory(tmp_path, {"h1": "test:///default"})
    given = ("--state", tmp_path / "state", "--history", tmp_path / "history.db")
    out = inside("audit", "-i", path, *given, "--select", "VNIC006", "--format", "json")
    assert out.returncode == 4
    assert "is not a database" in out.stderr
    assert "hosts are audited and reported, but nothing is stored" in out.stderr
    assert [one["rule"] for one in json.loads(out.stdout)["findings"]] == ["VNIC006"]


@pytest.mark.parametrize("form", ["json", "html"])
@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE host SET name = CAST(X'FF9C' AS TEXT)",
        "CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'full'); END",
    ],
)
def test_a_history_that_fails_later_costs_no_report(form: str, damage: str, tmp_path: Path) -> None:
    """Where it is read, and where it is written."""
    path = inventory(tmp_path, {"h1": "test:///default"})
    words = ("audit", "-i", path, "--state", tmp_path / "state", "--select", "VNIC006")
    assert inside(*words).returncode == 1
    with closing(connect(tmp_path / "state" / "history.db")) as database, database:
        database.execute(damage)
    report = tmp_path / f"report.{form}"
    out = inside(*words, "--format", form, "-o", report)
    assert out.returncode == 4, out.stderr
    assert "Warning: history " in out.stderr
    assert "internal error" not in out.stderr
    assert "VNIC006" in report.read_text()


@rows_of_tuples
def test_requests_that_make_no_sense(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    path = inventory(tmp_path, {"h1": "test:///default", "h2": "test:///default?2"})
    out = inside("audit", "-i", path, "--state", tmp_path / "state", *words)
    assert out.returncode == 2
    assert message in out.stderr


def test_a_host_that_is_not_read_live_is_refused_with_its_place(tmp_path: Path) -> None:
    path = inventory(tmp_path, {"h1": "esx://x/"})
    out = inside("audit", "-i", path, "--state", tmp_path / "state")
    assert out.returncode == 2
    assert out.stderr.startswith(f"Error: {path}:3: h1: esx://x/: not a supported libvirt URI")
