"""``vnicaudit host``: arithmetic of CPU masks and of the tables of RFS."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.cli.inside import inside
from tests.cli.wired import platforms_with
from tests.rows import rows
from vnicaudit.cli.wiring import Wiring
from vnicaudit.model.finding import HOST as HOST_PLATFORM
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.host_facts import CpuFacts, HostFacts, HostLink, Ovs, Pmd
from vnicaudit.model.report import ReadError


@rows
def test_mask(cpus: str, printed: str, told: str) -> None:
    done = inside("host", "mask", cpus)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{printed}\n", told)


@rows
def test_neither_list_nor_mask(cpus: str) -> None:
    done = inside("host", "mask", cpus)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is neither a list of CPUs (0-3,8) nor a mask" in done.stderr


def test_quiet_tells_no_second_reading() -> None:
    done = inside("host", "mask", "10", "-q")
    assert (done.returncode, done.stdout, done.stderr) == (0, "400\n", "")


@rows
def test_rfs(connections: str, queues: str, entries: int, per_queue: int) -> None:
    done = inside("host", "rfs", "--connections", connections, "--queues", queues)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        f"rps_sock_flow_entries  {entries}",
        f"rps_flow_cnt           {per_queue} per queue",
        "",
        f"sysctl -w net.core.rps_sock_flow_entries={entries}",
        "for queue in /sys/class/net/DEVICE/queues/rx-*; "
        f"do echo {per_queue} > $queue/rps_flow_cnt; done",
    ]


@rows
def test_rfs_refuses(words: list[str], told: str) -> None:
    done = inside("host", "rfs", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


HOST = HostFacts(
    cpus=CpuFacts(online=(0, 1, 2, 3, 4), isolated=(3,)),
    ovs=Ovs(pmds=(Pmd(core=4),)),
    links=(
        HostLink(name="eth0", physical=True, rx_queues=16),
        HostLink(name="eth1", physical=True, rx_queues=1),
        HostLink(name="eth2", physical=True),
        HostLink(name="eth3", physical=True, up=False, rx_queues=8),
        HostLink(name="tap0", physical=False, rx_queues=2),
    ),
)


def wiring(*items: HostFacts | ReadError) -> Wiring:
    def read(url: str, options: LiveOptions) -> Iterator[HostFacts | ReadError]:
        assert (url, options.window) == ("local", 0)
        yield from items

    return Wiring(platforms=lambda: platforms_with({HOST_PLATFORM: {"read": read}}))


def test_mask_leaves_out_cpus_that_should_handle_no_packets() -> None:
    done = inside("host", "mask", "0-5", "local", wiring=wiring(HOST))
    assert (done.returncode, done.stdout) == (0, "7\n")
    assert done.stderr == "left out: 3 (isolated); 4 (polling threads); 5 (offline)\n"
    back = inside("host", "mask", "ff", "local", "-q", wiring=wiring(HOST))
    assert (back.returncode, back.stdout, back.stderr) == (0, "0-2\n", "")


def test_rfs_of_the_adapters_of_a_host() -> None:
    done = inside("host", "rfs", "local", "--connections", "32768", wiring=wiring(HOST))
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "rps_sock_flow_entries  32768",
        "rps_flow_cnt           2048 per queue of eth0, 16 in all",
        "rps_flow_cnt           32768 per queue of eth1, 1 in all",
        "",
        "sysctl -w net.core.rps_sock_flow_entries=32768",
        "for queue in /sys/class/net/eth0/queues/rx-*; do echo 2048 > $queue/rps_flow_cnt; done",
        "for queue in /sys/class/net/eth1/queues/rx-*; do echo 32768 > $queue/rps_flow_cnt; done",
    ]
    assert done.stderr == "eth2: the number of its receive queues is unknown\n"


DIVIDED = HostFacts(
    cpus=CpuFacts(
        online=tuple(range(8)),
        nova_shared=(0, 1, 4),
        nova_dedicated=(2, 3, 4, 5, 6, 7),
        services=(0, 1),
        interrupts=(),
    ),
    processes=(),
    has_ovs=False,
)


@rows
def test_cpus(width: str, printed: str) -> None:
    done = inside("host", "cpus", "local", wiring=wiring(DIVIDED), env={"COLUMNS": width})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == printed


def test_cpus_for_programs() -> None:
    done = inside("host", "cpus", "local", "--format", "json", wiring=wiring(DIVIDED))
    document = json.loads(done.stdout)
    assert (document["schema"], document["tables"]) == ("vnicaudit.host-cpus/1", ["plain KVM"])
    assert [each["cpus"] for each in document["columns"]] == [[0, 1], [2, 3, 5, 6, 7], [4]]
    cell = document["columns"][2]["cells"]["floating vCPUs and emulators"]
    assert cell == {"allowed": False, "used": True}


def test_cpus_of_a_host_whose_cpus_are_unknown() -> None:
    done = inside("host", "cpus", "local", wiring=wiring(HostFacts()))
    assert done.stdout.startswith("Table: unknown (neither guests")
    assert done.stdout.endswith("Which CPUs are online is unknown: nothing is drawn.\n")


def test_a_target_that_is_no_host_or_cannot_be_read() -> None:
    done = inside("host", "mask", "0", "guest.xml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "guest.xml: expected a host, such as ssh://root@HOST or local" in done.stderr
    done = inside("host", "mask", "0", "local", wiring=wiring(ReadError("it went away")))
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "Error: local: it went away\n")
    done = inside("host", "rfs", "local", "--connections", "9", wiring=wiring(HostFacts()))
    assert (done.returncode, done.stdout) == (4, "")
    assert "no adapter whose receive queues are known" in done.stderr


def test_a_folder_with_one_report_is_that_host_and_with_several_none(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name / f"sosreport-{name}"
        (folder / "sos_commands/host").mkdir(parents=True)
        (folder / "sos_commands/host/hostname").write_text(f"{name}\n")
        online = folder / "sys/devices/system/cpu/online"
        online.parent.mkdir(parents=True)
        online.write_text("0-1\n")
    done = inside("host", "mask", "0-3", tmp_path / "one")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "left out: 2-3 (offline)\n")
    (tmp_path / "two/sosreport-two").rename(tmp_path / "one/sosreport-two")
    done = inside("host", "mask", "0-3", tmp_path / "one")
    assert (done.returncode, done.stdout) == (2, "")
    assert "several hosts, such as" in done.stderr


def test_queues_of_a_target_are_its_own() -> None:
    done = inside("host", "rfs", "local", "--connections", "9", "--queues", "2")
    assert done.returncode == 2
    assert "--queues is for an adapter without a TARGET" in done.stderr
