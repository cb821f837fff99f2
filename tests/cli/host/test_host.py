"""``vnicaudit host``: arithmetic of CPU masks and of the tables of RFS."""

from tests.cli.inside import inside
from tests.rows import rows


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
