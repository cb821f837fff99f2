"""What makes a run not count, in which words."""

from __future__ import annotations

import pytest

from vnicaudit.bench.facts.covariates import Limits, why_invalid
from vnicaudit.model.measurement import Covariates, Workload

WORK = Workload(id="w", engine="iperf3", pattern="tcp", seconds=10.0)


@pytest.mark.parametrize(
    ("covariates", "why"),
    [
        (Covariates(), ""),
        (
            Covariates(
                target_steal=2.0, peer_steal=2.0, vcpu_delay=2.0, throttled=1.0, seconds=9.5
            ),
            "",
        ),
        (
            Covariates(target_steal=3.456),
            "the hypervisor under the target took 3.46 % of its CPU time (steal), more than 2 %",
        ),
        (
            Covariates(peer_steal=2.01),
            "the hypervisor under the peer took 2.01 % of its CPU time (steal), more than 2 %",
        ),
        (
            Covariates(vcpu_delay=12.0),
            "a vCPU of the target waited 12 % of the run for a CPU of its host, more than 2 %",
        ),
        (
            Covariates(throttled=1.5),
            "a CPU quota (cgroup) held an end back for 1.5 % of the run, more than 1 %",
        ),
        (
            Covariates(seconds=7.25),
            "only 7.25 of 10 seconds were measured, less than 95 %",
        ),
        (
            Covariates(target_steal=5.0, seconds=0.0),
            "the hypervisor under the target took 5 % of its CPU time (steal), more than 2 %; "
            "only 0 of 10 seconds were measured, less than 95 %",
        ),
        (Covariates(generator_limited=True, generator_cpu=100.0), ""),
    ],
)
def test_why_a_run_does_not_count(covariates: Covariates, why: str) -> None:
    assert why_invalid(covariates, WORK, Limits()) == why


def test_limits_can_be_changed() -> None:
    noisy = Covariates(target_steal=20.0, peer_steal=20.0, vcpu_delay=20.0)
    assert why_invalid(noisy, WORK, Limits(steal=25.0)) == ""
    short = Covariates(seconds=5.0, throttled=30.0)
    assert why_invalid(short, WORK, Limits(seconds=50.0, throttled=30.0)) == ""


def test_zero_steal_allowed_means_none() -> None:
    assert why_invalid(Covariates(target_steal=0.0), WORK, Limits(steal=0.0)) == ""
    assert "0.1 %" in why_invalid(Covariates(target_steal=0.1), WORK, Limits(steal=0.0))


def test_the_record_is_frozen() -> None:
    with pytest.raises(AttributeError):
        Limits().steal = 3.0  # type: ignore[misc]
