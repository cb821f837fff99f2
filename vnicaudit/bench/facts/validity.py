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
    return (
        *_steal_doubts(covariates, limits),
        *_waited(covariates, limits),
        *_too_short(covariates, workload, limits),
        *_elsewhere(covariates),
    )


def _steal_doubts(covariates: Covariates, limits: ValidityLimits) -> Iterator[Doubt]:
    for end, steal in (("target", covariates.target_steal), ("peer", covariates.peer_steal)):
        if steal is not None and steal > limits.steal:
            yield Doubt(
                "steal",
                f"the hypervisor under the {end} took {steal:.3g} % of its CPU time (steal), "
                f"more than {limits.steal:g} %",
            )
    delay, throttled = covariates.vcpu_delay, covariates.throttled
    if delay is not None and delay > limits.steal:
        yield Doubt(
            "vcpu-delay",
            f"a vCPU of the target waited {delay:.3g} % of the run for a CPU of its host, "
            f"more than {limits.steal:g} %",
        )
    if throttled is not None and throttled > limits.throttled:
        yield Doubt(
            "throttled",
            f"a CPU quota (cgroup) throttled an end for {throttled:.3g} % of the run, more than "
            f"{limits.throttled:g} %",
        )


def _waited(covariates: Covariates, limits: ValidityLimits) -> Iterator[Doubt]:
    most = limits.cpu_wait
    for end, wait, pressure in (
        ("target", covariates.target_wait, covariates.target_pressure),
        ("peer", covariates.peer_wait, covariates.peer_pressure),
    ):
        if wait is not None:
            if wait > most:
                yield Doubt(
                    "cpu-wait",
                    f"the generator at the {end} waited {wait:.3g} % of the run for a CPU, more "
                    f"than {most:g} %",
                )
        elif pressure is not None and pressure > (queued := _most_queued(limits)):
            yield Doubt(
                "cpu-pressure",
                f"threads queued for the CPUs of the {end} {pressure:.3g} % of the run (PSI), more "
                f"than {queued:g} %",
            )
    host = covariates.host_wait
    if host is not None and host > most:
        yield Doubt(
            "cpu-wait",
            f"a vhost worker or the main loop of the target's QEMU waited {host:.3g} % of the run "
            f"for a CPU, more than {most:g} %",
        )


def _most_queued(limits: ValidityLimits) -> float:
    """The limit for pressure, half-way between that of CPU waits and 100 %: pressure counts every
    waiting thread on that machine, even ones that do not affect the load, so it applies only if the
    generator's own wait is unknown."""
    return (limits.cpu_wait + 100) / 2


def _too_short(
    covariates: Covariates, workload: Workload, limits: ValidityLimits
) -> Iterator[Doubt]:
    seconds = covariates.seconds
    if seconds is not None and seconds < workload.seconds * limits.seconds / 100:
        yield Doubt(
            "short",
            f"only {seconds:.3g} of {workload.seconds:g} seconds were measured, "
            f"less than {limits.seconds:g} %",
        )


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
