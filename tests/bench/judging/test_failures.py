"""Runs that come to nothing: what is silence, what was not measured, and one answer for a dead arm
whatever chance put first."""

from collections.abc import Callable, Iterator, Sequence

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import TCP, sample
from vnicaudit.bench.judging.catastrophe import Question, failure_words, silence
from vnicaudit.bench.judging.comparing import compare
from vnicaudit.bench.judging.stopping import NextRun, State, next_step, turns
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.judging.verdict import decide
from vnicaudit.model.measurement import Decision, Failure, Sample, Witness, Workload

GOOD, BAD = Witness(True, "3 of 3 answered"), Witness(False, "0 of 3 answered")
UNKNOWN = Witness(None, "ping is not installed")
LISTEN = "iperf3 does not listen on agent://g after 10 s"

Run = Callable[[str, int], Sample]
QUESTION = Question([TCP], "before", "after", "live-flip")


def works(arm: str, block: int) -> Sample:
    return sample(1e9, arm, block, witness=GOOD if block == 0 else None)


def fails(failure: Failure | None, witness: Witness | None, reason: str = LISTEN) -> Run:
    return lambda arm, block: sample(
        None, arm, block, valid=False, reason=reason, failure=failure, witness=witness
    )


def after_two(*runs: Sample, witness: Witness | None = GOOD) -> list[Sample]:
    before = [sample(1e9, "before", place, witness=witness) for place in range(2)]
    return [*before, *runs]


def silenced(samples: Sequence[Sample]) -> bool:
    return bool(silence(samples, QUESTION))


def test_silence_needs_a_witness_that_saw_nothing_either() -> None:
    for failure, witness, expected in (
        ("silent", BAD, True),
        ("silent", GOOD, False),
        ("silent", UNKNOWN, False),
        ("silent", None, False),
        ("tool", BAD, False),
        ("lost", None, False),
        (None, None, False),
    ):
        run = fails(failure, witness)  # type: ignore[arg-type]
        assert silenced(after_two(run("after", 0), run("after", 0))) is expected


DEAF = Witness(None, "ping is not installed", arp=False, counted=None)
ALL = Witness(True, "3 of 3 answered", arp=True, counted=True)


@pytest.mark.parametrize(
    ("before", "after", "seen"),
    [
        (ALL, BAD, "ping was not answered"),
        (ALL, replace(BAD, arp=True, counted=True), "ping was not answered"),
        (ALL, DEAF, "ARP was not answered"),
        (ALL, replace(DEAF, answered=True), ""),
        (replace(ALL, answered=False), replace(BAD, arp=False), "ARP was not answered"),
        (replace(ALL, answered=False), replace(BAD, arp=True), ""),
        (replace(ALL, arp=None), DEAF, ""),
        (ALL, Witness(None, "", counted=False), "the target's NIC counted nothing"),
        (ALL, Witness(None, "", counted=True), ""),
        (replace(ALL, counted=None), Witness(None, "", counted=False), ""),
        (
            replace(ALL, connected=True),
            replace(ALL, connected=False),
            "a TCP connection of vnicaudit's own carried nothing",
        ),
        (
            replace(ALL, echoed=True),
            replace(ALL, echoed=False),
            "no UDP datagram of vnicaudit's own came back",
        ),
        (replace(ALL, echoed=True), replace(BAD, echoed=True), ""),  # the server is down
        (ALL, replace(ALL, connected=False), ""),  # nor could it before
        (replace(ALL, connected=True), replace(BAD, connected=True), ""),
    ],
)
def test_the_first_witness_that_can_tell_is_believed(
    before: Witness, after: Witness, seen: str
) -> None:
    """It has to have seen something before the change; one that sees something now is enough
    against it."""
    dead = fails("silent", after)("after", 0)
    found = silence(after_two(dead, dead, witness=before), QUESTION)
    words = f"tcp: nothing got through in after twice in a row, and {seen} either; in before both"
    assert found == ({"tcp": f"{words} worked"} if seen else {})


@pytest.mark.parametrize(
    ("witness", "notes"),
    [
        (BAD, "ping was not answered (nor before, as far as known)"),
        (replace(DEAF, arp=True), "ping shows nothing: ping is not installed; ARP was answered"),
        (
            replace(DEAF, counted=True),
            (
                "ping shows nothing: ping is not installed; ARP was not answered (nor before, "
                "as far as known); the target's NIC counted bytes in and out"
            ),
        ),
        (UNKNOWN, "there is no second observation: ping is not installed"),
        (None, "there is no second observation"),
    ],
)
def test_each_witness_is_told(witness: Witness | None, notes: str) -> None:
    dead = fails("silent", witness)("after", 0)
    found = failure_words(after_two(dead, dead, witness=None), [TCP], "before", "after")
    assert found["tcp"].endswith(f"); {notes}")


def test_silence_is_twice_in_a_row_and_new() -> None:
    dead = fails("silent", BAD)
    twice = [dead("after", 0), dead("after", 0)]
    assert not silenced(after_two(dead("after", 0)))
    assert not silenced(after_two(dead("after", 0), works("after", 1), dead("after", 2)))
    assert not silenced(after_two(*twice, witness=UNKNOWN))  # ping told nothing before either
    assert not silenced(after_two(*twice, witness=BAD))
    assert not silenced([*after_two(*twice), dead("before", 3)])
    assert silenced([*after_two(*twice), fails("tool", GOOD)("before", 3)])


def test_rows_say_what_the_verdict_says() -> None:
    dead = fails("silent", BAD)
    samples = after_two(dead("after", 0), dead("after", 0))
    (row,) = compare(samples, [TCP], "before", "after", Terms())
    assert (row.verdict, row.notes[0]) == ("regressed", "nothing got through in after")
    slow = fails("tool", GOOD)
    (row,) = compare(after_two(slow("after", 0)), [TCP], "before", "after", Terms())
    assert row.verdict == "invalid"


def slots(orders: str) -> Iterator[tuple[str, int]]:
    """``ab|ba``: the arms of each block, again and again."""
    blocks = orders.split("|")
    for block in range(20):
        for letter in blocks[block % len(blocks)]:
            yield {"a": "before", "b": "after"}[letter], block


def measured(orders: str, after: Run, before: Run = works) -> tuple[NextRun, Decision]:
    """Measure as the collector does, to the end."""
    terms = Terms(acts=False)
    samples: list[Sample] = []
    step = NextRun("go-on")
    for arm, block in slots(orders):
        while True:
            samples.append((after if arm == "after" else before)(arm, block))
            state = State(
                samples=samples, workloads=[TCP], arms=["before", "after"],
                troubles=["guard rail path_mtu, before the first run: 1500 B: none passed"],
            )  # fmt: skip
            step = next_step(state, terms)
            if step.action != "again":
                break
        if step.action in ("stop", "give-up"):
            break
    rows = compare(samples, [TCP], "before", "after", terms)
    failures = failure_words(samples, [TCP], "before", "after")
    return step, decide(rows, terms, catastrophe=step.catastrophe, failures=failures)


ORDERS = ("ab|ab", "ab|ba", "ba|ab", "ba|ba")


@pytest.mark.parametrize(
    ("run", "verdict", "reasons"),
    [
        (
            fails("silent", BAD, "iperf3: unable to connect to server: timed out"),
            "regressed",
            "tcp: nothing got through in after twice in a row, and ping was not answered either; "
            "in before both worked",
        ),
        (
            fails("silent", GOOD, "iperf3: unable to connect to server: timed out"),
            "invalid",
            "tcp: not measured: iperf3: unable to connect to server: timed out (after: 6 of 6 runs "
            "failed; before: 0 of 2 runs failed); ping was answered",
        ),
        (
            fails("tool", GOOD),
            "invalid",
            (
                "tcp: not measured: iperf3 does not listen on agent://g after 10 s (after: 6 "
                "of 6 runs failed; before: 0 of 2 runs failed); that says nothing about the "
                "network; ping was answered"
            ),
        ),
        (
            fails("tool", UNKNOWN),
            "invalid",
            (
                "tcp: not measured: iperf3 does not listen on agent://g after 10 s (after: 6 "
                "of 6 runs failed; before: 0 of 2 runs failed); that says nothing about the "
                "network; there is no second observation: ping is not installed"
            ),
        ),
    ],
)
def test_a_dead_arm_gives_one_answer_whatever_the_order(
    run: Run, verdict: str, reasons: str
) -> None:
    for orders in ORDERS:
        step, decision = measured(orders, run)
        assert (orders, step.action, decision.verdict) == (orders, "stop", verdict)
        assert decision.reasons == (reasons,)


def test_where_all_is_dead_it_gives_up_and_tells_what_was_seen_before() -> None:
    dead = fails("silent", BAD, "iperf3: nothing arrived in 1 s")
    for orders in ORDERS:
        step, _decision = measured(orders, dead, dead)
        assert (step.action, step.reason) == (
            "give-up",
            (
                "6 runs in a row were invalid; the last: iperf3: nothing arrived in 1 s; guard "
                "rail path_mtu, before the first run: 1500 B: none passed"
            ),
        )


def turned(workloads: Sequence[Workload], runs_per_turn: int, after: Run) -> list[Sample]:
    """Measure in turns as the collector does, with a dead arm, to the end."""
    terms = Terms(design="flips", looks=(2, 3, 5), runs_per_turn=runs_per_turn)
    samples: list[Sample] = []
    names = [workload.id for workload in workloads]
    for slot in turns(("before", "after"), names, 5, 7, runs_per_turn):
        action = "again"
        while action == "again":
            one = (after if slot.arm == "after" else works)(slot.arm, slot.block)
            samples.append(replace(one, workload=slot.workload))
            state = State(samples=samples, workloads=workloads, arms=["before", "after"])
            action = next_step(state, terms).action
        if action != "go-on":
            break
    assert action == "stop"
    return samples


@pytest.mark.parametrize(
    ("workloads", "runs_per_turn", "tries"),
    [(1, 3, 6), (2, 3, 6), (9, 3, 27), (1, 1, 6), (2, 1, 12)],
)
def test_a_dead_arm_does_not_use_up_its_turn(
    workloads: int, runs_per_turn: int, tries: int
) -> None:
    """Each try waits for a time-out. One block in vain is enough, where it is known how the other
    arm does: with one run a turn, that takes both of its first turns."""
    several = [replace(TCP, id=f"w{number}") for number in range(workloads)]
    samples = turned(several, runs_per_turn, fails("tool", GOOD))
    assert sum(one.arm == "after" for one in samples) == tries
    rows = compare(samples, several, "before", "after", Terms(design="flips"))
    assert {row.verdict for row in rows} == {"invalid"}


def test_one_arm_alone_is_given_up_after_six_runs() -> None:
    dead = fails("tool", None)
    samples = [dead("a", place // 3) for place in range(6)]
    state = State(samples=samples, workloads=[TCP], arms=["a"])
    terms = Terms(looks=(3,), alphas=(0.05,), design="single")
    assert next_step(state, terms).action == "give-up"
    assert next_step(State(samples=samples[:5], workloads=[TCP], arms=["a"]), terms).action != (
        "give-up"
    )


def test_a_single_flip_is_given_up_before_the_change_only() -> None:
    dead = fails("tool", None)
    terms = Terms(looks=(7,), alphas=(0.05,), design="single-flip")
    arms = ["before", "after"]
    before = [dead("before", place // 3) for place in range(6)]
    assert next_step(State(samples=before, workloads=[TCP], arms=arms), terms).action == "give-up"
    after = after_two(*(dead("after", place // 3) for place in range(6)))
    step = next_step(State(samples=after, workloads=[TCP], arms=arms), terms)
    assert (step.action, step.catastrophe) == ("stop", ())
