"""The hypervisor below the host takes CPU time from it, or its guests have more vCPUs than agreed.

## What is wrong

Within the window the CPUs of the host could have run, but were not let for a noticeable part of it;
or its running guests have more vCPUs than the host has CPUs times Nova's `cpu_allocation_ratio`.

## Why it matters

Stolen time delays the workers that move packets of every guest, and no setting of a NIC gets it
back. It also makes measurements worthless: A. Busch, IBM, "Unleashing the Network of OpenShift",
advises against over-provisioning for this reason.

## Bad

```console
$ mpstat 2 1 | tail -1     # the column %steal
Average:  all  41.2  0.0  38.1  0.0  0.9  8.4  7.3  0.0  0.0  4.1
```

## Good

```console
$ mpstat 2 1 | tail -1
Average:  all  41.2  0.0  38.1  0.0  0.9  1.4  0.1  0.0  0.0  18.3
```

## Fix

Give the host more CPUs, weight, or a higher cap at the level below, or move guests away.

## Fix safety

Nothing of this host is changed.

## When it does not fire

* When a counter is absurd, as on systems that were just started.
* On more vCPUs than agreed where Nova's ratio is not set, or some CPUs are for pinned vCPUs.
* The threshold, 5 % as a mean of all CPUs, is our own: see the settings.
* Skipped without a window of two readings (unless there are too many vCPUs), and in containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Fact, Problem, RuleSettings, VisitedHost, adjustable_rule, setting


class StealLimit(RuleSettings, frozen=True):
    """When stolen time is too much."""

    steal: Annotated[
        int, setting("Percent of stolen time, as a mean of all CPUs.", at_least=1, at_most=100)
    ] = 5


def check(subject: VisitedHost, limit: StealLimit) -> Iterator[Problem]:
    """One problem for time that is stolen, one for vCPUs."""
    facts = subject.facts
    known = [each.steal for each in (facts.cpus.share or {}).values() if each.steal is not None]
    steal = sum(known) / max(1, len(known))
    if steal >= limit.steal:
        yield Problem(
            f"{steal:.0f} % of the host's CPU time was taken by the hypervisor that runs it",
            field="steal",
            fix=f"Give this host more CPU time at the level below ({_below(facts)}), or move "
            "guests away",
        )
    yield from _too_many_vcpus(subject)


def _too_many_vcpus(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for vCPUs, which no window is needed to count."""
    facts = subject.facts
    ratio, cpus = facts.cpus.nova_ratio, facts.cpus.nova_shared or facts.cpus.online
    vcpus = sum(guest.vcpus or 0 for guest in subject.guests if guest.running)
    if ratio and cpus and facts.cpus.nova_dedicated is None and vcpus > ratio * len(cpus):
        yield Problem(
            f"running guests have {vcpus} vCPUs on {host_needs.counted(len(cpus), 'CPU')}, more "
            f"than {ratio:g} for each, which cpu_allocation_ratio allows",
            severity="info",
            field="vcpus",
            fix="Move guests away",
        )


def _below(facts: HostFacts) -> str:
    level = None if facts.z is None else facts.z.level
    if level is None:
        return "its own definition and host"
    return f"{level}, capped" if facts.z is not None and facts.z.capped else level


_SHARES: Fact[VisitedHost] = Fact(
    lambda subject: host_needs.SHARES.known(subject) or any(_too_many_vcpus(subject)),
    host_needs.SHARES.tell,
    live=True,
)

RULE = adjustable_rule(
    StealLimit,
    lambda limit: host_needs.visited_host(
        lambda subject: check(subject, limit),
        needs=(host_needs.NOT_A_CONTAINER, _SHARES),
    ),
    name="stolen-time",
    severity="medium",
    groups=("host", "cpus"),
)
