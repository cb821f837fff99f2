"""Reasons for which a run does not count.

Covariates alone decide, never the result: leaving out slow runs would prove anything. An unknown
value makes no run invalid.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import msgspec

from vnicaudit.model.measurement import Covariates, InvalidBy, Workload


class ValidityLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits beyond which a run does not count, all in per cent. A machine that is shared with
    others may need a higher limit of steal: the intervals then include its noise."""

    steal: float = 2.0
    """The most CPU time that an end may lose to its hypervisor, and the most of the run that a vCPU
    may wait for a CPU: the same thing, seen from inside and from outside."""
    cpu_wait: float = 60.0
    """The most of a run that a thread of a generator, a vhost worker or QEMU's main loop may be
    ready to run and have no CPU: more than a generator waits for the network's own threads beside
    it (docs/explanation/measuring.md has the figures)."""
    throttled: float = 1.0
    """The most of the run that a CPU quota may hold an end back."""
    seconds: float = 95.0
    """The least part of the requested seconds that must be measured."""


class Doubt(NamedTuple):
    """One reason for which a run does not count."""

    by: InvalidBy
    words: str


def doubts(covariates: Covariates, workload: Workload, limits: ValidityLimits) -> tuple[Doubt, ...]:
    """Why a run does not count; empty if it does."""
    found = [
        Doubt(by, f"{words.format(f'{value:.3g} %')}, more than {limit:g} %")
        for by, value, limit, words in _limited(covariates, limits)
        if value is not None and value > limit
    ]
    seconds = covariates.seconds
    if seconds is not None and seconds < workload.seconds * limits.seconds / 100:
        words = f"only {seconds:.3g} of {workload.seconds:g} seconds were measured, less than "
        found.append(Doubt("short", f"{words}{limits.seconds:g} %"))
    return (*found, *_elsewhere(covariates))


def _limited(
    covariates: Covariates, limits: ValidityLimits
) -> Iterator[tuple[InvalidBy, float | None, float, str]]:
    """Kind, value, limit, and words for a value, for each covariate in per cent."""
    steal, wait = limits.steal, limits.cpu_wait
    for end, value in (("target", covariates.target_steal), ("peer", covariates.peer_steal)):
        words = f"the hypervisor under the {end} took {{}} of its CPU time (steal)"
        yield "steal", value, steal, words
    words = "a vCPU of the target waited {} of the run for a CPU of its host"
    yield "vcpu-delay", covariates.vcpu_delay, steal, words
    words = "a CPU quota (cgroup) throttled an end for {} of the run"
    yield "throttled", covariates.throttled, limits.throttled, words
    for end, waited, pressure in (
        ("target", covariates.target_wait, covariates.target_pressure),
        ("peer", covariates.peer_wait, covariates.peer_pressure),
    ):
        words = f"the generator at the {end} waited {{}} of the run for a CPU"
        yield "cpu-wait", waited, wait, words
        # pressure counts every waiting thread on that machine, even ones that do not affect the
        # load: its limit is half-way to 100 %, and it applies only if the own wait is unknown
        words = f"threads queued for the CPUs of the {end} {{}} of the run (PSI)"
        yield "cpu-pressure", pressure if waited is None else None, (wait + 100) / 2, words
    words = "a vhost worker or the main loop of the target's QEMU waited {} of the run for a CPU"
    yield "cpu-wait", covariates.host_wait, wait, words


def _elsewhere(covariates: Covariates) -> Iterator[Doubt]:
    for end, nics in groupby(covariates.nics, key=lambda nic: nic.end):
        own, *others = nics
        if others:
            carried = ", ".join(f"{nic.nic} {bytes_words(nic.bytes)}" for nic in others)
            yield Doubt(
                "wrong-path",
                f"the payload of {bytes_words(covariates.payload or 0)} went through another NIC "
                f"of the {end}: {carried}, but only {bytes_words(own.bytes)} through {own.nic}, "
                "which the result is about",
            )


def bytes_words(count: float) -> str:
    """``803 MB``: bytes in readable units."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
