"""An adapter's packets are handled on another NUMA node than the adapter is on.

## What is wrong

Within the window, most interrupts of the adapter were served by CPUs of another node, or the vhost
workers of guests behind it may only run there.

## Why it matters

Each packet then crosses the link between the nodes, some of them twice. The kernel's advice is to
handle packets in the memory domain of the interrupting CPU (Documentation/networking/scaling.rst of
Linux).

## Bad

```console
$ cat /sys/class/net/eth0/device/numa_node
0
$ cat /proc/irq/24/effective_affinity_list     # eth0-TxRx-0; node 1 has CPUs 8 to 15
9
```

## Good

```console
$ cat /proc/irq/24/effective_affinity_list
1
```

## Fix

Let CPUs of the adapter's node serve its interrupts, or pin the guests there.

## Fix safety

Affinities of interrupts take effect at once, and can be set back.

## When it does not fire

* On hosts with one node, for devices without one (`numa_node` is -1), and without traffic.
* When less than 50 % of the interrupts are served elsewhere: that threshold is our own, see the
  settings.
* For vhost workers that may run on both nodes. Where guests have their memory is not read.
* Skipped without a window of two readings, and where the CPUs of interrupts are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import CpuSet, interrupts_of, near, serves_on
from vnicaudit.knowledge.host_settings import pin_emulator
from vnicaudit.model.rule import Judge, LinkSubject, Problem, RuleSettings, adjustable_rule, setting


class NodeLimits(RuleSettings, frozen=True):
    """When an adapter is handled elsewhere."""

    elsewhere: Annotated[
        int,
        setting("Percent of an adapter's interrupts on other nodes.", at_least=1, at_most=100),
    ] = 50


def applies(subject: LinkSubject) -> bool:
    """An adapter with a node, on a host with several."""
    link, nodes = subject.link, subject.facts.cpus.nodes
    return link.physical is True and link.node != -1 and (nodes is None or len(nodes) > 1)


def check(subject: LinkSubject, limits: NodeLimits) -> Iterator[Problem]:
    """One problem for its interrupts, and one for the guests behind it."""
    link, here = subject.link, near(subject.facts, subject.link) or frozenset()
    growth = link.growth or {}
    if growth.get("rx_packets", 0) + growth.get("tx_packets", 0) > 0:
        yield from _interrupts(subject, here, limits)
        yield from _workers(subject, here)


def _interrupts(subject: LinkSubject, here: CpuSet, limits: NodeLimits) -> Iterator[Problem]:
    link = subject.link
    served = [one for one in interrupts_of(subject.facts, link) if one.growth and serves_on(one)]
    away = [one for one in served if not serves_on(one) & here]
    total = sum(one.growth or 0 for one in served)
    percent = 100 * sum(one.growth or 0 for one in away) / max(1, total)
    if away and percent >= limits.elsewhere:
        cpus = frozenset().union(*map(serves_on, away))
        first = away[0].number
        yield Problem(
            f"{percent:.0f} % of the interrupts of {link.name}, which is on node {link.node}, were "
            f"served on CPUs {as_list(cpus)} of another node",
            field="interrupts",
            fix=f"Let CPUs {as_list(here)} serve them: echo {as_list(here)} > "
            f"/proc/irq/{first}/smp_affinity_list, and so on for each of them",
        )


def _workers(subject: LinkSubject, here: CpuSet) -> Iterator[Problem]:
    names = [
        process.guest
        for process in subject.facts.processes or ()
        if process.guest in subject.carries
        and (workers := [each.cpus for each in process.threads if each.role == "vhost"])
        and all(cpus and not here.intersection(cpus) for cpus in workers)
    ]
    guests = [name for name in names if name]
    if guests:
        yield Problem(
            f"vhost workers of {host_needs.guests_named(guests)} may run only on other nodes than "
            f"node {subject.link.node}, which {subject.link.name} is on",
            field="vhost",
            fix="If latency matters, run the guests on that node: "
            f"{pin_emulator(guests[0], as_list(here))}, and virsh vcpupin and numatune for its "
            "vCPUs and memory",
        )


RULE = adjustable_rule(
    NodeLimits,
    lambda limits: Judge(
        "link",
        needs=(host_needs.LINK_NODE, host_needs.LINK_WINDOW, host_needs.LINK_INTERRUPTS),
        applies=applies,
        check=lambda subject: check(subject, limits),
    ),
    name="nic-off-node",
    severity="low",
    groups=("host", "cpus"),
)
