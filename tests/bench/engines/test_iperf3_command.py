"""Command lines, and what is refused before there is one."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.bench.engines.here import Here
from vnicaudit.bench.engines import _iperf3_command as command
from vnicaudit.bench.engines import engine_names, iperf3, load_engine
from vnicaudit.bench.engines._iperf3_command import Iperf3Install, Iperf3Load, Iperf3Version
from vnicaudit.bench.metrics import METRICS
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.measurement import Ran, Workload

NEW = Iperf3Install(Iperf3Version(3, 18), 8 << 20)

ADDRESS = "192.0.2.7"


def workload(**fields: Any) -> Workload:
    return Workload(**{"id": "w", "engine": "iperf3", "pattern": "tcp", **fields})


def plan(target: Iperf3Install = NEW, peer: Iperf3Install = NEW, **fields: Any) -> Iperf3Load:
    return command.plan(workload(**fields), target, peer)


def client(target: Iperf3Install = NEW, peer: Iperf3Install = NEW, **fields: Any) -> str:
    made = plan(target, peer, **fields)
    return " ".join(command.client(made, made.streams[0], "10.0.0.2", 5201))


COMMON = "iperf3 -c 10.0.0.2 -p 5201 -J -i 1 -t 12 -P 1 --connect-timeout 3000"


@pytest.mark.parametrize(
    ("fields", "rest"),
    [
        ({"direction": "rx"}, ""),
        ({"direction": "tx"}, " -R"),
        ({"direction": "both"}, " --bidir"),
        ({"direction": "rx", "size": 128}, " -l 128"),
        ({"direction": "rx", "rate": 1e9}, " -b 1000000000"),
        ({"pattern": "udp", "rate": 1e6}, " -R -u -b 1000000 -w 4194304"),
        (
            {"pattern": "udp-pps", "rate": 1000.0, "direction": "rx"},
            " -u -b 144000 -l 18 -w 4194304",
        ),
        (
            {"direction": "rx", "options": {"congestion": "cubic", "mss": "1400"}},
            " -C cubic -M 1400",
        ),
        ({"direction": "rx", "options": {"window": "2M"}}, " -w 2M"),
    ],
)
def test_client(fields: dict[str, Any], rest: str) -> None:
    assert client(**fields) == COMMON + rest


def test_the_rate_is_that_of_all_streams() -> None:
    assert "-P 4 " in client(connections=4, rate=1e6)
    assert client(connections=4, rate=1e6).endswith(" -R -b 250000")


def test_the_warm_up_is_run_in_whole_seconds() -> None:
    made = plan(warmup=1.5, seconds=5.0)
    assert (made.warmup, made.duration) == (2, 7)


@pytest.mark.parametrize(
    ("connections", "generators", "streams"),
    [
        (1, 1, (1,)),
        (125, 1, (125,)),
        (126, 1, (63, 63)),
        (130, 1, (65, 65)),
        (250, 1, (125, 125)),
        (251, 1, (84, 84, 83)),
        (10, 4, (3, 3, 2, 2)),
    ],
)
def test_streams_are_split(connections: int, generators: int, streams: tuple[int, ...]) -> None:
    assert command.split(connections, generators) == streams


def test_several_clients_run_longer_so_that_they_overlap() -> None:
    assert plan(connections=250).duration == plan(connections=125).duration + 2


@pytest.mark.parametrize(
    ("version", "rest"),
    [((3, 9), ""), ((3, 10), ""), ((3, 11), " --idle-timeout 30"), ((3, 22), " --idle-timeout 30")],
)
def test_server(version: tuple[int, int], rest: str) -> None:
    made = plan(target=Iperf3Install(Iperf3Version(*version), 1))
    (argv,) = command.servers(made, 5201, "web01")
    assert " ".join(argv) == f"iperf3 -s -p 5201 --one-off -J -i 1{rest}"


@pytest.mark.parametrize(
    ("address", "bound"),
    [
        (ADDRESS, [True, False]),
        ("2001:db8::7", [True, False]),
        ("web01", [False]),
        ("fe80::1%eth0", [False]),
    ],
)
def test_what_the_server_is_bound_to(address: str, bound: list[bool]) -> None:
    commands = command.servers(plan(), 1, address)
    assert [argv[-2:] == ("-B", address) for argv in commands] == bound


def test_no_larger_buffer_is_asked_for_than_there_is() -> None:
    """iperf3 fails where it gets less ("socket buffer size not set correctly")."""
    small = Iperf3Install(Iperf3Version(3, 12), 425984)
    assert client(peer=small, pattern="udp", rate=1e6).endswith(" -w 425984")


def check(**fields: Any) -> str:
    with pytest.raises(UsageError) as error:
        iperf3.check(workload(**fields))
    return str(error.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"pattern": "sctp"}, "iperf3 has no pattern 'sctp'; it has tcp, udp, udp-pps"),
        ({"size": 0}, "size 0: iperf3 takes 1 to 1048576 bytes for tcp"),
        ({"size": 1048577}, "size 1048577: iperf3 takes 1 to 1048576 bytes for tcp"),
        (
            {"pattern": "udp", "rate": 1e6, "size": 65536},
            "size 65536: iperf3 takes 16 to 65507 bytes for udp",
        ),
        ({"pattern": "udp-pps", "size": 15}, "size 15: iperf3 takes 16 to 65507 bytes for udp-pps"),
        (
            {"pattern": "udp"},
            "udp needs a rate: without one it is a flood; to find the highest rate, use udp-pps",
        ),
        ({"rate": 0.0}, "rate 0: it must be more than 0"),
        ({"rate": -1.0}, "rate -1: it must be more than 0"),
        ({"rate": float("nan")}, "rate nan: it must be more than 0"),
        ({"rate": 3.0, "connections": 4}, "rate 3: that is less than 1 for each stream"),
        ({"connections": 0}, "there must be at least one connection and one generator"),
        ({"generators": 2}, "2 generators cannot share 1 connections"),
        (
            {"pattern": "udp-pps", "direction": "both"},
            "packet rates can be searched only one way at a time, not both",
        ),
        ({"seconds": 0.0}, "seconds 0: at least one is needed"),
        ({"seconds": 1.5}, "seconds 1.5: iperf3 takes whole seconds"),
        ({"seconds": float("inf")}, "seconds inf: iperf3 takes whole seconds"),
        ({"seconds": 86400.0}, "iperf3 runs for 86400 seconds at most"),
        ({"warmup": -1.0}, "warmup -1: it must be 0 or more seconds"),
        (
            {"options": {"colour": "red"}},
            "iperf3 has no option 'colour'; it has congestion, window, mss, port",
        ),
        ({"options": {"window": "4G"}}, "window: iperf3 does not accept '4G'"),
        ({"options": {"window": "513M"}}, "window 513M: iperf3 takes 512M at most"),
        ({"options": {"mss": "40000"}}, "mss 40000: it must be 88 to 32767 bytes"),
        ({"options": {"mss": "x"}}, "mss: iperf3 does not accept 'x'"),
        (
            {"pattern": "udp", "rate": 1e6, "options": {"congestion": "bbr"}},
            "congestion is for TCP only",
        ),
        (
            {"connections": 250, "options": {"port": "65535"}},
            "port: 2 servers need 2 ports up to 65535",
        ),
    ],
)
def test_refused(fields: dict[str, Any], words: str) -> None:
    assert check(**fields) == f"w: {words}"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"size": 1048576, "connections": 250, "direction": "both"},
        {"pattern": "udp", "rate": 1e9, "size": 65507, "direction": "both"},
        {"pattern": "udp", "rate": 1e9, "size": 16},
        {"pattern": "udp-pps"},
        {"options": {"window": "16M", "port": "5201"}},
    ],
)
def test_allowed(fields: dict[str, Any]) -> None:
    iperf3.check(workload(**fields))


def test_patterns_are_judged_by_metrics_that_there_are() -> None:
    assert {metric for metrics in iperf3.PATTERNS.values() for metric in metrics} <= set(METRICS)


def test_both_ends_need_it() -> None:
    needs = iperf3.needs(workload())
    assert [tool.program for tool in (*needs.target, *needs.peer)] == ["iperf3", "iperf3"]
    assert needs.target[0].packages["apt"] == "iperf3"


# What is asked of an end before iperf3 runs there.


SETTING = "/proc/sys/net/core/rmem_max"


class Answers(Here):
    """Answers commands from a table: its first word, or what it reads."""

    def __init__(self, **answers: str) -> None:
        super().__init__("there")
        self.answers = answers

    def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
        assert (seconds, stdin) == (30, b"")
        self.commands.append(tuple(argv))
        said = self.answers.get("buffers" if SETTING in argv else argv[0], "")
        return Ran(tuple(argv), 0 if said else 127, said, "", 0.0, self.url)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("iperf 3.9 (cJSON 1.7.13)\nLinux", (3, 9)),
        ("iperf 3.12 (cJSON 1.7.15)", (3, 12)),
        ("iperf 3.19.1 (cJSON 1.7.15)", (3, 19)),
        ("iperf 3.20+ (cJSON 1.7.15)", (3, 20)),
        ("iperf version 2.1.8 (12 August 2022) pthreads", None),
        ("", None),
        ("iperf 3", None),
        ("sh: iperf3: not found", None),
    ],
)
def test_version(text: str, version: tuple[int, int] | None) -> None:
    assert command.version_of(text) == version


def test_is_asked_once() -> None:
    there = Answers(iperf3="iperf 3.12 (cJSON 1.7.15)", buffers="425984\n212992\n")
    assert command.place(there) == Iperf3Install(Iperf3Version(3, 12), 425984)
    commands = list(there.commands)
    assert command.place(there) == Iperf3Install(Iperf3Version(3, 12), 425984)
    assert there.commands == commands


@pytest.mark.parametrize("answer", ["", "212992\n", "a b", "1 99999999999"])
def test_a_buffer_that_cannot_be_read_is_the_kernels_own(answer: str) -> None:
    assert command.place(Answers(iperf3="iperf 3.12", buffers=answer)).buffer == 2 * 212992


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "there: iperf3 cannot be run there; is the package iperf3 installed?"),
        (
            "iperf version 2.1.8",
            "there: iperf3 cannot be run there; is the package iperf3 installed?",
        ),
        ("iperf 3.6", "there: iperf3 3.6 is too old: 3.7 is needed"),
    ],
)
def test_refuses(answer: str, words: str) -> None:
    with pytest.raises(EndpointError) as error:
        command.place(Answers(iperf3=answer))
    assert str(error.value) == words


# What all engines have in common.


@pytest.mark.parametrize("name", engine_names())
def test_each_engine_meets_the_contract(name: str) -> None:
    engine = load_engine(name)
    assert engine.PATTERNS
    for pattern, metrics in engine.PATTERNS.items():
        assert metrics, pattern
        assert set(metrics) <= METRICS.keys(), pattern
    assert all(callable(part) for part in (engine.needs, engine.check, engine.measure))
