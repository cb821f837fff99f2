"""Which results may be compared, and by what."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.bench.judging.made import RR, TCP, pair, runs, spoiled, steady
from vnicaudit.bench.judging.stored_comparison import incomparable_reasons, warnings
from vnicaudit.model.measurement import BenchResult, BenchRun, Path, Sample, Setup

PATH = Path(
    name="now", target="ssh://web01", peer="ssh://load1", address="192.0.2.7", mtu=1500,
    hypervisor="ssh://hv1", domain="web01", line_rate=10e9,
)  # fmt: skip
DRIFT = "measured at different times: any drift in between is part of every difference"


def result(samples: Sequence[Sample], run_id: str = "1", **more: Any) -> BenchResult:
    """What was measured in one arm, ``now``."""
    made: dict[str, Any] = {
        "run": BenchRun(
            id=run_id, started="", finished="", tool="vnicaudit", version="1.0", profile="quick",
            design="single", seed=1, looks=(7,), alphas=(0.05,),
        ),
        "arms": ("now",),
        "paths": (PATH,),
        "workloads": (TCP,),
        "samples": tuple(samples),
    }  # fmt: skip
    return BenchResult(**{**made, **more})


ONE = result(runs("now", steady(9e9)))
OTHER = result(runs("now", steady(8e9)), "2")


def told(name: str, version: str) -> BenchResult:
    """Whose runs name a version."""
    samples = [replace(each, details={name: version}) for each in runs("now", steady(9e9))]
    return result(samples, f"with {version}")


def test_the_same_thing_twice() -> None:
    assert incomparable_reasons(ONE, OTHER) == ()
    assert warnings(ONE, OTHER) == (DRIFT,)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"seconds": 30.0}, "tcp was run with a different seconds: 10.0 and 30.0"),
        ({"warmup": 0.0}, "tcp was run with a different warmup: 2.0 and 0.0"),
        ({"size": 128}, "tcp was run with a different size: none and 128"),
        ({"connections": 25}, "tcp was run with a different connections: 1 and 25"),
        ({"state": "querylog"}, "tcp was run with a different state: none and querylog"),
    ],
)
def test_other_work(changed: dict[str, Any], reason: str) -> None:
    assert incomparable_reasons(ONE, replace(OTHER, workloads=(replace(TCP, **changed),))) == (
        reason,
    )


def test_other_judging_is_no_other_work() -> None:
    judged = replace(TCP, primary=False, decides=("latency_mean",))
    assert incomparable_reasons(ONE, replace(OTHER, workloads=(judged,))) == ()


def test_no_work_in_common() -> None:
    assert incomparable_reasons(ONE, replace(OTHER, workloads=(RR,))) == (
        "they have no workload in common",
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"mtu": 9000}, "different mtu: 1500 and 9000"),
        ({"peer": "ssh://load2"}, "different peer: ssh://load1 and ssh://load2"),
        ({"target": "ssh://web02"}, "different target: ssh://web01 and ssh://web02"),
        ({"hypervisor": "ssh://hv2"}, "different hypervisor: ssh://hv1 and ssh://hv2"),
        ({"encapsulation": "vxlan"}, "different encapsulation: none and vxlan"),
        ({"same_host": True}, "different same host: none and True"),
        ({"mac": "52:54:00:00:00:01"}, None),
        ({"name": "other"}, None),
    ],
)
def test_other_paths(changed: dict[str, Any], reason: str | None) -> None:
    found = incomparable_reasons(ONE, replace(OTHER, paths=(replace(PATH, **changed),)))
    assert found == (() if reason is None else (reason,))


@pytest.mark.parametrize("name", ["version", "server_version"])
def test_other_versions_of_the_generator(name: str) -> None:
    assert incomparable_reasons(told(name, "3.12"), told(name, "3.16")) == (
        f"tcp was run with a different {name}: 3.12 and 3.16",
    )
    assert (
        incomparable_reasons(told(name, "3.12"), replace(told(name, "3.12"), run=OTHER.run)) == ()
    )
    assert incomparable_reasons(told(name, "3.12"), OTHER) == ()


def test_other_facts_of_an_endpoint() -> None:
    one, other = (
        replace(
            each,
            environment=(Setup("ssh://web01", {"kernel": kernel, "iperf3": tool, "cpu": "x"}),),
        )
        for each, kernel, tool in ((ONE, "6.1", "3.12"), (OTHER, "6.12", "3.16"))
    )
    assert incomparable_reasons(one, other) == (
        "ssh://web01 had a different iperf3: 3.12 and 3.16",
    )
    assert warnings(one, other) == (DRIFT, "ssh://web01 had a different kernel: 6.1 and 6.12")


class TestArms:
    def test_one_has_to_be_named(self) -> None:
        both = result(pair(steady(9e9), steady(8e9)), arms=("before", "after"))
        assert incomparable_reasons(ONE, both) == (
            "the second has 2 arms (before, after): choose one with --arms",
        )
        assert incomparable_reasons(ONE, both, ("now", "after")) == ()

    def test_one_that_is_not_there(self) -> None:
        assert incomparable_reasons(ONE, OTHER, ("then", "now")) == (
            "the first has no arm then; it has now",
        )

    def test_one_without_runs(self) -> None:
        empty = result([replace(spoiled("now", 0))])
        assert incomparable_reasons(ONE, empty) == ("the second has no valid run in now",)


def test_warnings() -> None:
    other = replace(
        OTHER,
        run=replace(OTHER.run, finished=None, profile="dns", version="1.1", labels={"vcpus": "2"}),
        workloads=(TCP, RR),
    )
    assert warnings(ONE, other) == (
        DRIFT,
        "the second ended early",
        "different profiles: quick and dns",
        "different versions of vnicaudit: 1.0 and 1.1",
        "only the second has rr; it is left out",
        "different labels, vcpus: none and 2",
    )


class TestArmsOfOneRun:
    BOTH = result(
        pair(steady(9e9), steady(8e9)),
        arms=("before", "after"),
        paths=(replace(PATH, name="before"), replace(PATH, name="after", target="ssh://web02")),
    )

    def test_may_be_other_paths(self) -> None:
        """They were measured side by side, and the paths are what is compared."""
        assert incomparable_reasons(self.BOTH, self.BOTH, ("before", "after")) == ()

    def test_did_not_drift_apart(self) -> None:
        assert warnings(self.BOTH, self.BOTH) == ()

    def test_are_two(self) -> None:
        assert incomparable_reasons(self.BOTH, self.BOTH, ("after", "after")) == (
            "both are after of the same run: there is nothing to compare",
        )
