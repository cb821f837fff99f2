"""One CPU does nearly all the packet work of the host.

## What is wrong

Within the window one CPU spent nearly all its time in softirqs, the others next to none.

## Why it matters

A CPU without time left holds up every packet that it is to handle, and drops what does not fit its
backlog, however idle the others are. It is what IBM takes as the indication that steering would
help (N. Hoppmann, IBM, "Exploring the performance of network adapters").

## Bad

```console
$ mpstat -P ALL 2 1     # %soft of each CPU
CPU 0  2.1
CPU 1  97.5
CPU 2  0.4
```

## Good

```console
$ mpstat -P ALL 2 1     # %soft of each CPU
CPU 0  31.0
CPU 1  34.9
CPU 2  32.2
```

## Fix

Give the adapter more receive queues, its interrupts other CPUs, or steer with RPS.

## Fix safety

Masks and affinities take effect at once and can be set back; more queues may reset the link.

## When it does not fire

* On a host with one CPU, on CPUs of polling threads (PMD), and when the CPU received no packets.
* By counts since boot, which prove no saturation: skipped without a window of two readings.
* The thresholds, 90 % for the one and 30 % for the median of the others, are our own: see the
  settings.
* Skipped in containers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_cpus import loads, median, serves_on
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.rule import Problem, RuleSettings, VisitedHost, adjustable_rule, setting


class SoftirqLimits(RuleSettings, frozen=True):
    """When the packet work of a host is on one CPU."""

    busy: Annotated[
        int, setting("Percent of time in softirqs that fill a CPU.", at_least=1, at_most=100)
    ] = 90
    median: Annotated[
        int,
        setting("Median percent of time in softirqs below which the others do little.",
                at_least=1, at_most=100),
    ] = 30  # fmt: skip


def applies(subject: VisitedHost) -> bool:
    """A host, unless it has one CPU."""
    online = subject.facts.cpus.online
    return online is None or len(online) > 1


def check(subject: VisitedHost, limits: SoftirqLimits) -> Iterator[Problem]:
    """One problem for each CPU that is full of softirqs while the others are not."""
    facts = subject.facts
    shares = loads(facts)
    for cpu, share in sorted(shares.items()):
        others = [one.softirq for number, one in shares.items() if number != cpu]
        if share.softirq < limits.busy or not others or median(others) >= limits.median:
            continue
        if facts.cpus.net_rx_growth is not None and not facts.cpus.net_rx_growth.get(cpu):
            continue
        links = _served(facts, cpu)
        of = f" for {host_needs.guests_named(links)}" if links else ""
        device = links[0] if links else "the adapter"
        yield Problem(
            f"CPU {cpu} spent {share.softirq:.0f} % of the window in softirqs{of}, the "
            f"{host_needs.counted(len(others), 'other CPU')} {median(others):.0f} % (median)",
            field=f"cpu{cpu}",
            fix=f"Give {device} more receive queues (ethtool -L), its interrupts other CPUs "
            "(/proc/irq/N/smp_affinity_list), or steer its packets with RPS",
        )


def _served(facts: HostFacts, cpu: int) -> list[str]:
    """Links whose interrupts arrived on a CPU within the window."""
    found = [
        each.link
        for each in facts.cpus.interrupts or ()
        if each.link is not None and each.growth and cpu in serves_on(each)
    ]
    return list(dict.fromkeys(found))


RULE = adjustable_rule(
    SoftirqLimits,
    lambda limits: host_needs.visited_host(
        lambda subject: check(subject, limits),
        needs=(host_needs.NOT_A_CONTAINER, host_needs.SHARES),
        applies=applies,
    ),
    name="softirq-on-one-cpu",
    severity="medium",
    groups=("host", "cpus"),
)
