"""What makes a run not count.

Covariates alone decide, never the result: to leave out the slow runs is to prove whatever is
wanted. What is not known makes nothing invalid.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.model.measurement import Covariates, Workload


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """From when on a run does not count; all in per cent. A machine that is
    shared with others may need more steal allowed: then its noise is in the intervals."""

    steal: float = 2.0
    """Most of its CPU time that an end may lose to its hypervisor, and most of the run that a
    vCPU may wait for a CPU: the same thing, seen from inside and from outside."""
    throttled: float = 1.0
    """Most of the run that a CPU quota may hold an end back."""
    seconds: float = 95.0
    """Least of the seconds that were to be measured."""


def why_invalid(covariates: Covariates, workload: Workload, limits: Limits) -> str:
    """Why a run does not count; empty where it does."""
    return "; ".join(_reasons(covariates, workload, limits))


def _reasons(covariates: Covariates, workload: Workload, limits: Limits) -> Iterator[str]:
    for end, steal in (("target", covariates.target_steal), ("peer", covariates.peer_steal)):
        if steal is not None and steal > limits.steal:
            yield (
                f"the hypervisor under the {end} took {steal:.3g} % of its CPU time (steal), "
                f"more than {limits.steal:g} %"
            )
    delay, throttled = covariates.vcpu_delay, covariates.throttled
    if delay is not None and delay > limits.steal:
        yield (
            f"a vCPU of the target waited {delay:.3g} % of the run for a CPU of its host, "
            f"more than {limits.steal:g} %"
        )
    if throttled is not None and throttled > limits.throttled:
        yield (
            f"a CPU quota (cgroup) held an end back for {throttled:.3g} % of the run, "
            f"more than {limits.throttled:g} %"
        )
    seconds = covariates.seconds
    if seconds is not None and seconds < workload.seconds * limits.seconds / 100:
        yield (
            f"only {seconds:.3g} of {workload.seconds:g} seconds were measured, "
            f"less than {limits.seconds:g} %"
        )
