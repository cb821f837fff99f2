"""The numbers: from recorded reports, each against a second source."""

import json
from collections.abc import Callable
from math import ceil
from typing import Any

import pytest

from tests.bench.engines.iperf3_recorded import VERSIONS, WHOLE, measured, plan, said, text
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.engines import _iperf3_report as flows
from vnicaudit.bench.engines import _iperf3_result as result
from vnicaudit.bench.engines._iperf3_report import Flow, PairRuns, Slice
from vnicaudit.errors import MeasureError
from vnicaudit.model.measurement import Ran

RECEIVED = ("sum_received", "sum_received_bidir_reverse")


def document(version: str, case: str, end: str = "client") -> Any:
    return json.loads(text(version, case, f"{end}.json"))


def counted(version: str, case: str, what: str, *, omitted: bool = False) -> float:
    """Of all intervals, at the ends that receive."""
    return sum(
        float(stream[what])
        for end in ("client", "server")
        for interval in document(version, case, end)["intervals"]
        for stream in interval["streams"]
        if not stream["sender"] and (omitted or not stream["omitted"])
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", WHOLE)
def test_goodput_is_what_was_received_after_the_warm_up(version: str, case: str) -> None:
    found = measured(version, case)
    assert found.error == ""
    wanted = plan(version, case)
    rate = sum(
        sum(8 * s["bytes"] / s["seconds"] for s in interval["streams"] if not s["sender"])
        for end in ("client", "server")
        for interval in document(version, case, end)["intervals"]
        if 0.9 < interval["streams"][0]["start"] < 0.9 + wanted.seconds
    )
    assert found.values["goodput"] == pytest.approx(rate / wanted.seconds, rel=0.01)
    assert found.seconds == pytest.approx(wanted.seconds, rel=0.05)


@pytest.mark.parametrize(("warmup", "load"), [(1.0, 3), (0.5, 3), (0.0, 2)])
def test_a_client_loads_as_long_as_it_was_asked_to(warmup: float, load: int) -> None:
    """A warm-up is rounded up to whole seconds."""
    found = measured("3.12", "tcp", seconds=load - ceil(warmup), warmup=warmup)
    assert (found.error, found.load_seconds) == ("", load)


def test_several_clients_load_longer() -> None:
    asked = plan("3.12", "tcp", seconds=1.0, connections=2, generators=2)
    found = result.measurement_of(asked, [said("3.12", "tcp")] * 2)
    assert (found.error, found.load_seconds) == ("", 1 + 1 + 2)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", [case for case in WHOLE if case.startswith("udp")])
def test_intervals_add_up_to_what_the_client_is_told(version: str, case: str) -> None:
    """``end.sum_received`` of UDP is right in all versions that have it, but for -O."""
    end = document(version, case)["end"]
    if version != "3.9":
        told = sum(end[key]["bytes"] for key in RECEIVED if key in end)
        assert counted(version, case, "bytes") == pytest.approx(told, rel=1e-4)
    lost = sum(stream["udp"]["lost_packets"] for stream in end["streams"])
    assert counted(version, case, "lost_packets") == lost


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", ["udp-loss", "udp-loss-reverse"])
def test_the_sum_of_udp_is_what_was_sent(version: str, case: str) -> None:
    """``end.sum`` has three times what arrived."""
    found = measured(version, case)
    assert document(version, case)["end"]["sum"]["bits_per_second"] > 2 * found.values["goodput"]
    assert found.values["loss"] > 50


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_lost_while_omitted_counts_before_3_14(version: str) -> None:
    """Why the engine does not use -O (esnet/iperf#1489)."""
    told = document(version, "udp-loss-omit")["end"]["sum"]["lost_packets"]
    with_omitted = counted(version, "udp-loss-omit", "lost_packets", omitted=True)
    without = counted(version, "udp-loss-omit", "lost_packets")
    assert with_omitted > 1.2 * without
    assert told == (with_omitted if version in ("3.9", "3.12") else without)


@pytest.mark.parametrize("version", VERSIONS)
def test_loss_is_the_share_of_the_packets_in_the_window(version: str) -> None:
    found = measured(version, "udp-loss")
    window = document(version, "udp-loss", "server")["intervals"][1:3]
    lost, packets = (sum(i["sum"][key] for i in window) for key in ("lost_packets", "packets"))
    assert found.values["loss"] == pytest.approx(100 * lost / packets, rel=1e-3)
    assert found.details["lost_packets"] == pytest.approx(lost, rel=2e-3)
    assert found.details["packets"] == pytest.approx(packets, rel=2e-3)


@pytest.mark.parametrize("version", VERSIONS)
def test_both_ways_are_told_apart(version: str) -> None:
    found = measured(version, "tcp-bidir")
    ways = [float(found.details[f"goodput_{way}"] or 0) for way in ("tx", "rx")]
    assert found.values["goodput"] == pytest.approx(sum(ways))
    second = document(version, "tcp-bidir", "client")["intervals"][1]["streams"]
    (tx,) = (s["bits_per_second"] for s in second if not s["sender"])
    assert found.details["goodput_tx"] == pytest.approx(tx, rel=0.01)


def test_packet_rate() -> None:
    found = measured("3.12", "udp-64", pattern="udp-pps", rate=69_444.0)
    second = document("3.12", "udp-64", "server")["intervals"][1]["sum"]
    assert found.values["packet_rate"] == pytest.approx(second["packets"] / second["seconds"])
    assert found.values["loss"] == 0


def test_the_version_of_each_end_is_kept() -> None:
    found = measured("3.12", "tcp").details
    assert found["version"] == found["server_version"] == "iperf 3.12"


def test_a_run_that_was_too_short_is_an_error() -> None:
    found = measured("3.12", "tcp", seconds=4.0)
    assert (found.error, found.values) == ("iperf3 measured 2.0 s of 4 s", {})


def test_nothing_that_arrives_is_an_error() -> None:
    def dead(report: Any) -> None:
        for stream in streams(report):
            stream["bytes"] = 0
        for stream in report["end"]["streams"]:
            stream["receiver"]["bytes"] = 0

    found = changed("tcp", client=dead, server=dead)
    assert (found.error, found.values) == ("iperf3: nothing arrived in 2 s", {})


@pytest.mark.parametrize(
    ("version", "case", "cpu", "limited"),
    [
        ("3.12", "tcp", ("client", 94.9), False),
        ("3.12", "tcp", ("client", 95.0), True),  # the peer sends
        ("3.12", "tcp", ("server", 100.0), False),  # the target receives
        ("3.12", "tcp-reverse", ("server", 100.0), False),  # one stream: this is the target's limit
        ("3.12", "tcp-streams", ("client", 95.0), True),  # four streams, one thread
        ("3.18", "tcp-streams", ("client", 95.0), False),  # four threads
        ("3.18", "tcp-streams", ("client", 380.0), True),
        ("3.12", "tcp-bidir", ("client", 95.0), True),
    ],
)
def test_a_busy_sender_is_a_limit(
    version: str, case: str, cpu: tuple[str, float], limited: bool
) -> None:
    def busy(report: Any) -> None:
        report["end"]["cpu_utilization_percent"]["host_total"] = cpu[1]

    assert changed(case, version, **{cpu[0]: busy}).generator_limited is limited


@pytest.mark.parametrize(("rate", "limited"), [(5e7, False), (5.2e7, True)])
def test_a_sender_that_sends_less_than_told_is_a_limit(rate: float, limited: bool) -> None:
    assert measured("3.12", "udp", rate=rate).generator_limited is limited


def test_several_pairs_are_summed_where_they_overlap() -> None:
    """The second client connects 600 ms after the first (which is known from 3.20 on)."""

    def later(report: Any) -> None:
        stamp = report["start"]["timestamp"]
        stamp["timemillisecs"] += 600
        stamp["timesecs"] = stamp["timemillisecs"] // 1000

    one = said("3.22", "tcp")
    two = PairRuns(_with(one.client, later), one.server)
    wanted = plan("3.22", "tcp", connections=2, generators=2, seconds=1.0)
    found = result.measurement_of(wanted, [one, two])
    rates = [
        interval["sum"]["bits_per_second"]
        for interval in document("3.22", "tcp", "server")["intervals"]
    ]
    first, second = 0.4 * rates[1] + 0.6 * rates[2], rates[1]
    assert found.values["goodput"] == pytest.approx(first + second, rel=0.005)


def test_pairs_that_hardly_overlap_are_an_error() -> None:
    def later(report: Any) -> None:
        report["start"]["timestamp"]["timesecs"] += 2

    one = said("3.12", "tcp")
    two = PairRuns(_with(one.client, later), one.server)
    wanted = plan("3.12", "tcp", connections=2, generators=2, seconds=2.0)
    assert result.measurement_of(wanted, [one, two]).error == "iperf3 measured 0.0 s of 2 s"


def _slices(*packets: float) -> tuple[Slice, ...]:
    return tuple(Slice(n, n + 1, 1000 * count, count, 0) for n, count in enumerate(packets))


def test_late_ticks_are_shared_out() -> None:
    """Hundreds of streams in one thread: an interval takes two seconds, and none begins on time."""
    late = [Slice(0, 1.5, 150, 0, 0), Slice(1.5, 3.5, 800, 40, 8), Slice(3.5, 5, 150, 0, 0)]
    first, second = flows.window(late, 1, 2)
    assert list(first) == pytest.approx([1, 1.5, 50, 0, 0])
    assert list(second) == pytest.approx([1.5, 3, 600, 30, 6])


def test_a_window_that_is_not_filled_is_an_error() -> None:
    with pytest.raises(MeasureError, match=r"iperf3 measured 1\.5 s of 3 s"):
        flows.window([Slice(0, 2.5, 1, 0, 0)], 1, 3)


@pytest.mark.parametrize(
    ("received", "loss"),
    [
        ((100, 100, 100, 100), 0),
        ((100, 100, 100, 80), 0),  # 0.2 s of packets may be on their way
        ((100, 100, 0, 0), 50),  # no gap is seen after the last that came
        ((0, 0, 0, 0), 100),
    ],
)
def test_what_nobody_saw_is_lost(received: tuple[float, ...], loss: float) -> None:
    one = Flow(_slices(100, 100, 100, 100), _slices(*received))
    assert flows.part([one], [0], 4).loss == pytest.approx(loss)


def changed(
    case: str,
    version: str = "3.12",
    client: Callable[[Any], object] = id,
    server: Callable[[Any], object] = id,
    **options: Any,
) -> Measured:
    """What is measured where the reports are others."""
    pair = said(version, case)
    other = PairRuns(_with(pair.client, client), _with(pair.server, server))
    return result.measurement_of(plan(version, case, **options), [other])


def streams(report: Any) -> list[Any]:
    return [stream for interval in report["intervals"] for stream in interval["streams"]]


def _with(ran: Ran, change: Callable[[Any], object]) -> Ran:
    report = json.loads(ran.stdout)
    change(report)
    return Ran(ran.command, ran.code, json.dumps(report))
