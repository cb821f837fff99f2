"""The word of a verdict, whom it is about, and what else is said at once."""

from typing import Literal

import pytest
from msgspec.structs import replace

from tests.reports.bench.samples import applied, one_arm, side_by_side, single_flip, sweep, two_arms
from vnicaudit.model.measurement import BenchResult, Covariates, Decision, GuardRail, Verdict
from vnicaudit.reports.bench.rows import rows
from vnicaudit.reports.bench.verdict import verdicts
from vnicaudit.reports.model import ReportSection, cell_text

Done = Literal["kept", "rolled-back", "not-rolled-back"] | None


def blocks(result: BenchResult) -> list[ReportSection]:
    return list(verdicts(result, list(rows(result))))


def only(result: BenchResult) -> ReportSection:
    (block,) = blocks(result)
    return block


def reasons(result: BenchResult) -> tuple[str, ...]:
    """What is said without causes of noise."""
    (block,) = verdicts(result, list(rows(result)), quiet=True)
    return block.items


def decided(verdict: Verdict, done: Done = None, *reasons: str) -> BenchResult:
    action: Literal["keep", "roll-back", "none"] = "none"
    if done is not None:
        action = "keep" if done == "kept" else "roll-back"
    decision = Decision(verdict=verdict, action=action, done=done, reasons=reasons)
    return replace(applied(), decision=decision)


@pytest.mark.parametrize(
    ("verdict", "done", "word", "style"),
    [
        ("improved", "kept", "KEPT", "good"),
        ("equivalent", "kept", "KEPT", "good"),
        ("regressed", "rolled-back", "ROLLED BACK", "bad"),
        ("equivalent", "rolled-back", "ROLLED BACK", "bad"),
        ("regressed", "not-rolled-back", "NOT ROLLED BACK", "bad"),
        ("inconclusive", "not-rolled-back", "NOT ROLLED BACK", "bad"),
        ("inconclusive", "kept", "UNDECIDED", "medium"),
        ("inconclusive", "rolled-back", "UNDECIDED", "medium"),
        ("generator-limited", "rolled-back", "UNDECIDED", "medium"),
        ("invalid", "rolled-back", "TOO FEW RUNS", "medium"),
        ("improved", None, "BETTER", "good"),
        ("regressed", None, "WORSE", "bad"),
        ("equivalent", None, "NO DIFFERENCE", "fix"),
        ("at-ceiling", None, "NO DIFFERENCE", "fix"),
        ("not-worse", None, "NOT WORSE", "fix"),
        ("inconclusive", None, "UNDECIDED", "medium"),
        ("invalid", None, "TOO FEW RUNS", "medium"),
    ],
)
def test_the_word(verdict: Verdict, done: Done, word: str, style: str) -> None:
    block = only(decided(verdict, done))
    assert (block.title, block.style) == (word, style)


def test_an_arm_without_values_was_not_measured() -> None:
    result = decided("invalid", "rolled-back")
    nothing = tuple(replace(one, after=None, effect=None) for one in result.results)
    assert only(replace(result, results=nothing)).title == "NOT MEASURED"


def test_harm_that_no_value_shows_is_not_called_a_difference() -> None:
    """A guard rail failed after the change, where no run was made any more."""
    result = decided("regressed", "rolled-back", "guard rail path_mtu failed (after)")
    nothing = tuple(
        replace(one, after=None, effect=None, verdict="invalid") for one in result.results
    )
    harmed = replace(result, results=nothing)
    assert only(harmed).lead == "harm that needs no statistics; the change was rolled back"
    assert reasons(harmed) == ("guard rail path_mtu failed (after)",)


def test_what_was_done_with_an_open_one_is_said() -> None:
    assert only(decided("inconclusive", "kept")).lead.endswith("; the change was kept")
    assert only(decided("invalid", "rolled-back")).lead.endswith("; the change was rolled back")


def test_the_guest_the_change_and_the_effort() -> None:
    block = only(applied())
    assert block.about[0] == "web01: rtl8139 → virtio"
    assert block.about[1] == "26 min 30 s, 28 runs, none repeated"
    assert only(two_arms()).about[1] == "26 min 30 s, 63 runs, 3 repeated"
    assert only(single_flip()).about[0] == "web-01: after against before"


def test_states_of_one_path_keep_their_names() -> None:
    result = applied()
    flipped = replace(result, run=replace(result.run, design="live-flip"))
    assert only(flipped).about[0] == "web01: after against before"


def test_a_measurement_that_did_not_end_tells_no_duration() -> None:
    result = applied()
    unfinished = replace(result, run=replace(result.run, finished=None))
    assert only(unfinished).about[1] == "28 runs, none repeated"


def lines(block: ReportSection) -> list[list[str]]:
    (table,) = block.tables
    return [[cell_text(cell) for cell in row.cells] for row in table.rows]


def test_before_after_and_change_with_its_interval() -> None:
    tcp, _, dns, each = lines(only(applied()))
    assert tcp == ["TCP to the guest", "132 Mb/s", "7.82 Gb/s", "59x (58x to 60x)", "better"]
    assert dns[0] == "DNS queries"
    assert each == ["  per vCPU (of 2)", "9.01k q/s", "22.9k q/s", "", ""]


def test_without_vcpus_there_is_nothing_per_vcpu() -> None:
    result = applied()
    unknown = replace(result, run=replace(result.run, labels={}))
    assert [line[0] for line in lines(only(unknown))] == ["TCP to the guest", "DNS queries"]


def test_small_changes_and_what_is_better_lower_are_per_cent() -> None:
    (line,) = lines(only(single_flip()))
    assert line[3:] == ["+4.5 %", "not judged"]
    lower = lines(only(two_arms()))[-1]
    assert (lower[0], lower[3:]) == ("latency p99", ["+63 % (+62 to +64 %)", "better"])


def test_several_arms_are_compared_one_by_one() -> None:
    vm, pod = blocks(replace(side_by_side(), decision=None))
    assert (vm.title, vm.about[0]) == ("NO DIFFERENCE", "vm against node")
    assert (pod.title, pod.about[0]) == ("WORSE", "pod against node")
    assert len(vm.about) == 2
    assert len(pod.about) == 1
    assert [line[0] for line in lines(pod)] == [
        "TCP from the target, 1 connection", "TCP from the target, 25 connections",
    ]  # fmt: skip


def test_where_nothing_is_compared() -> None:
    block = only(one_arm())
    assert (block.title, block.about[0]) == ("MEASURED", "web-01, profile smoke")
    assert lines(block) == [["TCP from the guest", "7.84 Gb/s (7.72 to 7.93)"]]
    dead = tuple(replace(one, valid=False, values={}) for one in one_arm().samples)
    assert only(replace(one_arm(), samples=dead)).title == "NOT MEASURED"


def test_what_does_not_fit_is_counted() -> None:
    *shown, more = lines(only(sweep()))
    assert len(shown) == 6
    assert more[0] == "… 3 more lines in the table below"


def test_reasons_that_no_line_shows_are_said() -> None:
    broken = "guard rail ping failed (after): lost"
    row = "iperf3.tcp.rx.c1.64k, goodput: before 132 Mb/s (7 runs), after 7.8 Gb/s"
    assert reasons(decided("regressed", "rolled-back", broken, row)) == (broken,)
    assert reasons(decided("improved", "kept", row)) == ()
    missing = "iperf3.tcp.rx.c1.64k: not measured: iperf3 does not listen after 10 s"
    assert reasons(decided("invalid", "rolled-back", missing)) == (missing,)


def test_what_made_it_noisy() -> None:
    result = applied()
    busy = tuple(
        replace(one, covariates=Covariates(target_steal=1.0, vcpu_delay=40.0 + one.order))
        for one in result.samples
    )
    spoiled = replace(busy[0], valid=False, reason="steal", order=99)
    noisy = replace(
        result,
        samples=(*busy, spoiled),
        guard_rails=(GuardRail("ping", "after", "unknown", "no ping"),),
    )
    assert only(noisy).items == (
        "the guest's vCPUs waited for a CPU 53.0 % of the time, 67.0 % in the worst run",
        "1 of 29 runs does not count, 1 of them: steal",
    )
    assert only(result).items == ("all guard rails hold (2)",)


def test_a_spread_above_the_margin_is_named() -> None:
    result = applied()
    first, *rest = result.results
    assert first.after is not None
    wild = replace(first, after=replace(first.after, cv=0.123))
    assert only(replace(result, results=(wild, *rest))).items[0] == (
        "runs of iperf3.tcp.rx.c1.64k in after differ by 12.3 % from one another"
    )
