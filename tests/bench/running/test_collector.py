"""Runs in their order: repeated, given up, kept, stopped."""

import math
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP
from tests.bench.running.fakes import (
    RR,
    End,
    Engine,
    Outcome,
    Told,
    Watching,
    collecting,
    opened,
    profile,
)
from vnicaudit.bench.contract import Measured
from vnicaudit.bench.judging.stopping import NextRun, Slot, State, blocks, next_step
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.running import collector
from vnicaudit.bench.running.collector import Judge
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import NicBytes, Ran, Witness

GO_ON = NextRun("go-on")


def go_on() -> NextRun:
    return GO_ON


def slots(n: int = 3, workload: str = "tcp") -> list[Slot]:
    return [Slot(place, place, "a", workload) for place in range(n)]


def judged(one: collector.Collector, terms: Terms, arms: tuple[str, ...]) -> Judge:
    """As a measurement judges."""
    return lambda: next_step(State(samples=one.samples, workloads=(TCP,), arms=arms), terms)


SINGLE = Terms(looks=(3,), alphas=(0.05,), design="single")


def test_the_order_is_that_of_the_seed(tmp_path: Path) -> None:
    engine = Engine()
    orders = []
    for seed in (1, 1, 2):
        one, kept = collecting(tmp_path, profile(TCP, RR), Told(), engine)
        plan = blocks(("a", "b"), ("tcp", "rr"), 4, seed)
        one.collect(plan, {"a": opened("a"), "b": opened("b")}, go_on)
        orders.append([(each.arm, each.workload, each.block) for each in kept.samples()])
        assert orders[-1] == [(each.arm, each.workload, each.block) for each in plan]
        assert [each.order for each in kept.samples()] == list(range(16))
    assert orders[0] == orders[1] != orders[2]


def test_what_tools_said_is_on_disk_and_not_in_memory(tmp_path: Path) -> None:
    said = Ran(("iperf3",), 0, "{}")
    engine = Engine(lambda *_: Measured(values={"goodput": 1.0}, seconds=10, raw=(said,)))
    told = Told()
    one, kept = collecting(tmp_path, profile(), told, engine)
    one.collect(slots(), {"a": opened()}, go_on)
    assert [each.raw for each in one.samples] == [()] * 3
    assert [each.raw for each in kept.samples()] == [(said,)] * 3
    assert [each.values for each in told.samples] == [{"goodput": 1.0}] * 3


def test_a_run_that_does_not_count_is_repeated_twice_at_most(tmp_path: Path) -> None:
    engine = Engine()
    watching, told = Watching(), Told()
    watching.steal = [5.0, 5.0, 5.0, 0.0, 5.0, 0.0]
    one, _kept = collecting(tmp_path, profile(), told, engine)
    one.collect(slots(), {"a": opened(watching=watching)}, judged(one, SINGLE, ("a",)))
    assert [(each.block, each.valid) for each in one.samples] == [
        (0, False), (0, False), (0, False), (1, True), (2, False), (2, True),
    ]  # fmt: skip
    reason = "the hypervisor under the target took 5 % of its CPU time (steal), more than 2 %"
    assert one.samples[0].reason == reason
    assert told.said == [f"the run is not valid: {reason}"] * 3 + [
        "all 3 runs of each arm are done"
    ]


def test_an_engine_that_fails_has_no_values(tmp_path: Path) -> None:
    engine = Engine(lambda *_: Measured(values={"goodput": 1.0}, error="refused"))
    one, _kept = collecting(tmp_path, profile(), Told(), engine)
    one.collect(slots(1), {"a": opened()}, go_on)
    (only,) = one.samples
    assert (only.valid, only.reason, only.values) == (False, "refused", {})
    assert only.invalid_by == ("error",)
    assert only.failure == "tool"


def test_numbers_that_are_not_finite_were_not_measured(tmp_path: Path) -> None:
    """JSON does not have them."""
    odd = {"goodput": 1.0, "loss": math.nan, "latency_max": math.inf}
    one, kept = collecting(tmp_path, profile(), Told(), Engine(lambda *_: Measured(values=odd)))
    one.collect(slots(1), {"a": opened()}, go_on)
    assert [each.values for each in kept.samples()] == [{"goodput": 1.0}]


def test_an_engine_that_measures_nothing_does_not_count(tmp_path: Path) -> None:
    engine = Engine(lambda *_: Measured(seconds=10))
    one, _kept = collecting(tmp_path, profile(), Told(), engine)
    one.collect(slots(1), {"a": opened()}, go_on)
    (only,) = one.samples
    assert (only.valid, only.reason) == (False, "the engine measured nothing")
    assert only.invalid_by == ("nothing-measured",)
    assert only.failure == "tool"


PING = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.

--- 192.0.2.1 ping statistics ---
3 packets transmitted, 0 received, 100% packet loss, time 400ms

"""


def test_ping_is_asked_after_a_run_that_came_to_nothing(tmp_path: Path) -> None:
    """And after the first that counts, so that it is known what it says when all is well."""

    class Peer(End):
        def run(self, argv: Sequence[str], *, seconds: float = 30.0, stdin: bytes = b"") -> Ran:
            ran = super().run(argv, seconds=seconds, stdin=stdin)
            return replace(ran, code=1, stdout=PING) if argv[0] == "ping" else ran

    silent = Measured(error="timed out", failure="silent")
    engine = Engine(lambda _w, _e, number: silent if number in (1, 4) else 1e9)
    peer = Peer("netns://peer")
    arm = opened()
    arm = arm._replace(ends=arm.ends._replace(peer=peer))
    one, kept = collecting(tmp_path, profile(), Told(), engine)
    one.collect(slots(4), {"a": arm}, go_on)
    nothing = Witness(False, "0 of 3 answered")
    assert [each.witness for each in one.samples] == [nothing, nothing, None, nothing]
    assert [each.failure for each in kept.samples()] == ["silent", None, None, "silent"]
    asked = ["ping -q -c 3 -i 0.2 -W 2 192.0.2.1", "ip -s -o neigh show to 192.0.2.1"]
    assert peer.ran == asked * 3


def test_without_ping_there_is_no_witness(tmp_path: Path) -> None:
    engine = Engine(lambda *_: Measured(error="timed out", failure="silent"))
    arm = opened()
    arm.ends.peer.fails["ping"] = 127  # type: ignore[attr-defined]
    one, _kept = collecting(tmp_path, profile(), Told(), engine)
    one.collect(slots(1), {"a": arm}, go_on)
    (only,) = one.samples
    said = "ping is not installed: iputils-ping (apt), iputils (dnf)"
    assert only.witness == Witness(None, said)


def losing(*numbers: int) -> Outcome:
    """The runs with these numbers find an end lost."""

    def outcome(_workload: object, _ends: object, number: int) -> float:
        if number in numbers:
            raise EndpointError("ssh://gen1: gone")
        return 1e9

    return outcome


def test_an_end_that_stays_lost_ends_it(tmp_path: Path) -> None:
    engine = Engine(losing(2, 3, 4))
    one, kept = collecting(tmp_path, profile(), Told(), engine)
    with pytest.raises(EndpointError, match=r"^ssh://gen1: gone$"):
        one.collect(slots(), {"a": opened()}, judged(one, SINGLE, ("a",)))
    assert [each.valid for each in kept.samples()] == [True, False, False]


def test_an_end_that_comes_back_is_no_error(tmp_path: Path) -> None:
    engine = Engine(losing(1, 2, 4, 5))
    one, _kept = collecting(tmp_path, profile(), Told(), engine)
    one.collect(slots(), {"a": opened()}, judged(one, SINGLE, ("a",)))
    assert [each.valid for each in one.samples] == [False, False, True, False, False, True, True]
    assert one.samples[0].reason == "ssh://gen1: gone"
    assert one.samples[0].boot == "boot"
    assert [each.failure for each in one.samples[:3]] == ["lost", "lost", None]


def test_a_switch_that_fails_is_an_end_that_is_lost(tmp_path: Path) -> None:
    engine = Engine()
    end = End()
    end.fails["ethtool"] = 1
    one, kept = collecting(tmp_path, profile(), Told(), engine)
    with pytest.raises(EndpointError, match=r"^arm a could not be set: `ethtool 4` at"):
        one.collect(slots(), {"a": opened("a", end, "ethtool", "4")}, judged(one, SINGLE, ("a",)))
    assert engine.runs == []
    assert [each.reason.partition(":")[0] for each in kept.samples()] == [
        "arm a could not be set"
    ] * 2


class Clock:
    """Stands for :mod:`time`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def test_ends_cool_down_and_the_time_that_is_left_is_told(tmp_path: Path) -> None:
    clock, told = Clock(), Told()

    def outcome(*_: object) -> float:
        clock.now += 20.0
        return 1e9

    engine = Engine(outcome)
    one, _kept = collecting(tmp_path, profile(cooldown=2.0, runs=4), told, engine, clock=clock)
    one.collect(slots(4), {"a": opened()}, go_on)
    assert clock.slept == [2.0] * 4
    assert [(ahead.number, ahead.most) for ahead in told.ahead] == [(n, 4) for n in (1, 2, 3, 4)]
    assert told.ahead[0].remaining == pytest.approx(4 * 1.05 * 15.5 + 3.0)  # the witness
    assert [ahead.remaining for ahead in told.ahead][1:] == [66.0, 44.0, 22.0]  # as it took


def test_warming_up_is_short_and_not_kept(tmp_path: Path) -> None:
    engine = Engine()
    end = End()
    one, kept = collecting(tmp_path, profile(TCP, RR), Told(), engine)
    one.warm_up([opened("one", end, "ethtool", "1"), opened("four", end, "ethtool", "4")])
    assert engine.runs == [("tcp", 3.0), ("tcp", 3.0)]
    assert end.ran == ["ethtool 1", "ethtool 4"]
    assert (one.samples, list(kept.samples())) == ([], [])


def test_it_stops_when_it_is_told_to(tmp_path: Path) -> None:
    engine = Engine()
    steps = iter([GO_ON, NextRun("stop", "enough")])
    told = Told()
    one, _kept = collecting(tmp_path, profile(), told, engine)
    step = one.collect(slots(9), {"a": opened()}, lambda: next(steps))
    assert (step.action, step.reason) == ("stop", "enough")
    assert len(engine.runs) == 2
    assert told.said == ["enough"]


def test_a_catastrophe_waits_for_nothing(tmp_path: Path) -> None:
    before = (1, 2, 3, 5, 7)
    engine = Engine(lambda _w, _e, number: 1e9 if number in before else 1e6)
    told = Told()
    one, _kept = collecting(tmp_path, profile(), told, engine)
    plan = [Slot(place, place, "a" if place < 3 else "b", "tcp") for place in range(40)]
    terms = Terms(looks=(20,), alphas=(0.05,), design="live-flip")
    step = one.collect(plan, {"a": opened("a"), "b": opened("b")}, judged(one, terms, ("a", "b")))
    assert step.action == "stop"
    assert len(step.catastrophe) == 1
    assert len(engine.runs) == 8
    assert [each.arm for each in one.samples] == ["a", "a", "a", "b", "a", "b", "a", "b"]
    assert len(told.said) == 5


def test_what_is_not_checked_is_said_once(tmp_path: Path) -> None:
    engine = Engine()
    watching, told = Watching(), Told()
    watching.unchecked = {"local": "no counters"}
    one, _kept = collecting(tmp_path, profile(), told, engine)
    one.collect(slots(3), {"a": opened(watching=watching)}, go_on)
    assert [each.valid for each in one.samples] == [True] * 3
    assert told.said == ["could not check which NIC of local carries the load: no counters"]


def test_a_load_that_keeps_taking_another_nic_ends_it(tmp_path: Path) -> None:
    engine = Engine()
    watching = Watching()
    watching.nics = (
        NicBytes("peer", "eth0", 3),
        NicBytes("peer", "lo", 9 * 10**8, is_subject=False),
    )
    one, kept = collecting(tmp_path, profile(), Told(), engine)
    with pytest.raises(EndpointError, match="lo 900 MB, but only 3 B through eth0"):
        one.collect(slots(9), {"a": opened(watching=watching)}, go_on)
    found = list(kept.samples())
    assert [each.invalid_by for each in found] == [("wrong-path",)] * 6
    assert [each.values for each in found] == [{"goodput": 1e9}] * 6  # measured, but not that path


def test_the_state_of_the_server_is_brought_about(tmp_path: Path) -> None:
    engine = Engine()
    logged = replace(TCP, id="logged", state="querylog")
    end = End()
    states: dict[str, tuple[str, ...]] = {"plain": ("rndc", "off"), "querylog": ("rndc", "on")}
    one, _kept = collecting(tmp_path, profile(TCP, logged), Told(), engine, states)
    plan = [*slots(1), *slots(2, "logged"), *slots(1)]
    one.collect(plan, {"a": opened("a", end)}, go_on)
    switched = [ran for ran in end.ran if ran.startswith("rndc")]
    assert switched == ["rndc on", "rndc off"]  # the last one as it was found
