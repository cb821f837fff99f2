"""Which step between paths loses speed, and when none is named."""

import random

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import RR, TCP, runs, steady
from vnicaudit.bench.judging.statistics import simes
from vnicaudit.bench.judging.steps import (
    JudgedStep,
    Step,
    judged_steps,
    lone_paths,
    runs_needed,
    steps_of,
)
from vnicaudit.bench.judging.terms import Terms
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.model.measurement import Sample, Workload

SIX = Terms(looks=(6,), alphas=(0.05,), design="paths", acts=False)
CLUSTER = ("host", "hostnetwork", "pod-same", "pod-cross", "vm-same", "vm-cross", "nad-lab-fast")


def measured(levels: dict[str, float], n: int = 6, workload: Workload = TCP) -> list[Sample]:
    metric = workload.decides[0]
    return [
        sample
        for at, (arm, level) in enumerate(levels.items())
        for sample in runs(arm, steady(level, n), workload.id, metric, start=100 * at)
    ]


def judged(levels: dict[str, float], n: int = 6) -> dict[str, JudgedStep]:
    steps = judged_steps(measured(levels, n), [TCP], tuple(levels), SIX)
    return {each.step.lower: each for each in steps}


def losing(levels: dict[str, float]) -> list[str]:
    return [lower for lower, each in judged(levels).items() if each.outcome == "loses"]


def test_the_steps_of_a_cluster() -> None:
    assert [(step.lower, step.uppers) for step in steps_of(CLUSTER)] == [
        ("hostnetwork", ("host",)),
        ("pod-same", ("host", "hostnetwork")),
        ("pod-cross", ("pod-same", "hostnetwork", "host")),
        ("vm-same", ("pod-same",)),
        ("vm-cross", ("pod-cross", "vm-same", "host")),
        ("nad-lab-fast", ("pod-cross", "host")),
    ]


def test_paths_of_other_names_are_compared_with_the_one_before() -> None:
    assert list(steps_of(("node", "vm", "pod"))) == [
        Step(("node",), "vm"),
        Step(("vm",), "pod"),
    ]
    assert list(steps_of(("host", "nadine"))) == [Step(("host",), "nadine")]
    assert list(steps_of(("only",))) == []


@pytest.mark.parametrize(
    ("arms", "steps"),
    [
        ("pod-cross pod-same", [Step(("pod-same",), "pod-cross")]),
        ("nad-a.b host", [Step(("host",), "nad-a.b")]),
        ("vm-cross host", [Step(("host",), "vm-cross")]),
        ("nad-a.b nad-c.d", []),
        ("vm-same pod-cross", []),
        ("vm-same hostnetwork", []),
        ("pod-same nad-a.b", []),
    ],
)
def test_the_order_of_the_paths_of_a_cluster_decides_nothing(arms: str, steps: list[Step]) -> None:
    """Two networks, or a VM and the pods across nodes, do not lie on one way."""
    names = arms.split()
    assert list(steps_of(names)) == list(steps_of(names[::-1])) == steps


def test_paths_that_are_compared_with_none_are_known() -> None:
    assert lone_paths(("host", "vm-same", "nad-a.b")) == {"vm-same": ("pod-same",)}
    assert lone_paths(("pod-same", "pod-cross")) == {}


ACROSS = ("pod-cross", "vm-cross", "nad-lab-fast")
ALIKE = dict.fromkeys(CLUSTER, 10e9)


@pytest.mark.parametrize(
    ("slow", "step"),
    [
        # a pod's own link: every path with that pod is as slow
        (("pod-same", "pod-cross", "vm-same", "vm-cross", "nad-lab-fast"), "pod-same"),
        (("pod-cross", "vm-cross", "nad-lab-fast"), "pod-cross"),  # between the nodes, in a tunnel
        (("vm-same", "vm-cross"), "vm-same"),
        (("vm-cross",), "vm-cross"),
        (("nad-lab-fast",), "nad-lab-fast"),
    ],
)
def test_a_limit_is_named_where_it_begins(slow: tuple[str, ...], step: str) -> None:
    assert losing(ALIKE | dict.fromkeys(slow, 3e9)) == [step]


def test_a_slow_line_between_the_nodes_is_no_step() -> None:
    slow = ("host", "hostnetwork", "pod-cross", "vm-cross", "nad-lab-fast")
    assert losing(ALIKE | dict.fromkeys(slow, 3e9)) == []
    found = judged(ALIKE | dict.fromkeys(slow, 3e9))["pod-cross"]
    assert found.outcome == "holds"
    assert found.rows[0].before_arm in ("host", "hostnetwork")


def test_two_limits_are_two_steps() -> None:
    levels = ALIKE | dict.fromkeys(("pod-same", "vm-same"), 6e9)
    levels |= dict.fromkeys(("pod-cross", "vm-cross", "nad-lab-fast"), 3e9)
    assert losing(levels) == ["pod-same", "pod-cross"]
    step = judged(levels)["pod-cross"]
    assert step.title == "same node → across nodes"
    loss = step.lost_rows[0]
    assert (loss.before_arm, loss.after_arm) == ("pod-same", "pod-cross")


def test_a_step_is_as_sure_as_the_path_above_of_which_it_is_least_sure() -> None:
    """Of the two, ``pod-same`` is much faster, but one of its runs was not."""
    samples = measured({"host": 6e9, "pod-cross": 5e9})
    samples += runs("pod-same", [10e9, 10.1e9, 9.9e9, 4.95e9, 10.05e9, 9.95e9], start=500)
    (_same, step) = judged_steps(samples, [TCP], ("host", "pod-same", "pod-cross"), SIX)
    assert [(row.before_arm, row.verdict) for row in step.rows] == [("pod-same", "regressed")]
    assert step.outcome == "undecided"
    assert step.p == pytest.approx(2 * 20 / 462)


def test_paths_that_are_alike_lose_nowhere() -> None:
    assert {each.outcome for each in judged(ALIKE).values()} == {"holds"}


def test_within_the_margin_is_no_loss() -> None:
    assert losing({"host": 10e9, "pod-same": 9.7e9}) == []


def test_among_many_steps_few_runs_may_be_chance() -> None:
    """The smallest p of five runs against five is 0.0079, too much among seven steps."""
    levels = {f"path{at}": 10e9 / 2**at for at in range(8)}
    found = judged(levels, 5)
    assert {each.outcome for each in found.values()} == {"undecided"}
    assert found["path1"].p == pytest.approx(7 * 2 / 252)
    assert {each.outcome for each in judged(levels, 6).values()} == {"loses"}


@pytest.mark.parametrize(
    ("profile", "arms", "needed"),
    [
        ("line-100g", CLUSTER[:1] + CLUSTER[2:4], 6),  # as shipped: host, pod-same, pod-cross
        ("line-100g", CLUSTER[:1] + CLUSTER[2:5], 7),
        ("line-100g", CLUSTER, 7),
        ("k8s-netperf", CLUSTER[2:4], 5),  # as shipped
        ("k8s-netperf", CLUSTER[:1] + CLUSTER[2:4], 6),
    ],
)
def test_the_runs_that_tell_a_loss_in_one_row(
    profile: str, arms: tuple[str, ...], needed: int
) -> None:
    """With one run less, no loss in one row is beyond chance, however large it is."""
    loaded = load_profile(profile)
    assert runs_needed(arms, loaded.comparisons, 0.05) == needed
    rows = [(one, metric) for one in loaded.workloads if one.primary for metric in one.decides]
    for n, outcome in ((needed - 1, "undecided"), (needed, "loses")):
        samples = [
            sample
            for arm_at, arm in enumerate(arms)
            for row_at, (workload, metric) in enumerate(rows)
            for sample in runs(
                arm,
                steady(1.0 if not row_at and arm in ACROSS else 10.0, n),
                workload.id, metric, start=100 * arm_at,
            )
        ]  # fmt: skip
        terms = Terms(looks=(n,), alphas=(0.05,), design="paths", acts=False)
        steps = judged_steps(samples, loaded.workloads, arms, terms)
        assert [each.outcome for each in steps if each.step.lower == "pod-cross"] == [outcome]


def test_a_path_that_was_not_measured_is_said_to_be_none() -> None:
    samples = measured({"host": 10e9, "pod-same": 10e9})
    steps = judged_steps(samples, [TCP], ("host", "pod-same", "pod-cross"), SIX)
    assert [each.outcome for each in steps] == ["holds", "not-measured"]


@pytest.mark.parametrize("path", ["host", "pod-same"])
@pytest.mark.parametrize("valid", [0, 1])
def test_what_a_path_above_that_was_not_measured_explains_is_unknown(path: str, valid: int) -> None:
    """A slow line, or a slow pod, may be all there is."""
    levels = {"host": 10e9, "pod-same": 10e9, "pod-cross": 3e9}
    samples = [
        replace(one, valid=False) if one.arm == path and one.block >= valid else one
        for one in measured(levels)
    ]
    (_same, step) = judged_steps(samples, [TCP], tuple(levels), SIX)
    assert (step.outcome, step.short, step.lost_rows) == ("undecided", (path,), ())
    assert step.rows[0].before_arm == path


def test_one_row_without_a_path_above_leaves_the_others() -> None:
    levels = {"host": 10e9, "pod-same": 10e9, "pod-cross": 3e9}
    samples = measured(levels) + measured({"pod-same": 1.0, "pod-cross": 9.0}, workload=RR)
    (_same, step) = judged_steps(samples, [TCP, RR], tuple(levels), SIX)
    assert [(row.workload, row.verdict) for row in step.rows] == [
        (TCP.id, "regressed"), (RR.id, "invalid"),
    ]  # fmt: skip
    assert (step.outcome, step.short) == ("loses", ("host",))


def test_throughput_is_named_before_latency() -> None:
    levels = {"host": 10.0, "pod-same": 5.0}
    slow = {"host": 100.0, "pod-same": 900.0}
    samples = measured(levels) + measured(slow, workload=RR)
    (step,) = judged_steps(samples, [RR, TCP], tuple(levels), SIX)
    assert [row.metric for row in step.lost_rows] == ["goodput", "latency_p99"]


def test_what_is_not_primary_names_nothing() -> None:
    samples = measured({"host": 10.0, "pod-same": 5.0})
    (step,) = judged_steps(samples, [replace(TCP, primary=False)], ("host", "pod-same"), SIX)
    assert (step.outcome, step.rows) == ("not-measured", ())


def test_noise_names_a_step_in_few_of_many_measurements() -> None:
    """Ten rows, three steps, six runs that differ by 15 %: at most 5 % of the measurements may name
    one; the margin makes it fewer."""
    source = random.Random(20261130)
    arms = ("host", "pod-same", "pod-cross", "vm-cross")
    workloads = [replace(TCP, id=f"tcp{number}") for number in range(10)]
    false = 0
    for _measurement in range(100):
        samples = [
            sample
            for at, arm in enumerate(arms)
            for workload in workloads
            for sample in runs(
                arm, [source.lognormvariate(23, 0.15) for _ in range(6)], workload.id,
                start=1000 * at,
            )
        ]  # fmt: skip
        steps = judged_steps(samples, workloads, arms, SIX)
        false += any(each.outcome == "loses" for each in steps)
    assert false <= 5


def test_the_joint_p() -> None:
    assert simes([]) == 1.0
    assert simes([0.01]) == 0.01
    assert simes([0.01, 0.9]) == pytest.approx(0.02)
    assert simes([0.01, 0.01, 0.9]) == pytest.approx(0.015)
    assert simes([0.9, 0.9]) == pytest.approx(0.9)
