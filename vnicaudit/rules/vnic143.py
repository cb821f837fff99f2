"""Interrupts of adapters with traffic are served on CPUs that poll, or that guests have alone.

## What is wrong

An interrupt of an adapter came in, and its CPU has a polling thread (PMD) of Open vSwitch, a pinned
vCPU, or is in Nova's `cpu_dedicated_set`.

## Why it matters

Each interrupt and the packet work after it stop the thread that was promised the CPU. In Red Hat's
partitioning for OpenShift hardware interrupts go to reserved and isolated CPUs, never to dedicated
ones.

## Bad

```console
$ ovs-vsctl get Open_vSwitch . other_config:pmd-cpu-mask     # CPUs 2 and 3
"c"
$ cat /proc/irq/150/effective_affinity_list
3
```

## Good

```console
$ cat /proc/irq/150/effective_affinity_list
0
```

## Fix

Ban these CPUs in irqbalance, or without it write other CPUs to `smp_affinity_list`.

## Fix safety

Both take effect at once. Some drivers manage the affinity of their queues themselves and refuse.

## When it does not fire

* On interrupts that never came (within the window, if there is one).
* On isolated CPUs with `isolcpus=managed_irq`, unless they poll: there isolated CPUs do serve
  interrupts, and irqbalance keeps them from pods that opt out.
* Skipped where interrupts were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list
from vnicaudit.knowledge.host_cpus import (
    CpuSet,
    dedicated,
    housekeeping,
    isolated,
    isolcpus,
    polled,
    serves_on,
)
from vnicaudit.knowledge.host_setting_values import change_of_several
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts, Interrupt
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def applies(subject: VisitedHost) -> bool:
    """A host with such CPUs."""
    return bool(polled(subject.facts) | dedicated(subject.facts))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each adapter."""
    facts = subject.facts
    polling, kept = polled(facts), _kept_free(facts)
    hit: dict[str, set[int]] = {}
    numbers: dict[str, list[str]] = {}
    for interrupt in facts.cpus.interrupts or ():
        cpus = serves_on(interrupt)
        if _came(interrupt) and cpus and cpus <= kept:
            name = interrupt.link or interrupt.device.partition("-")[0]
            hit.setdefault(name, set()).update(cpus)
            numbers.setdefault(name, []).append(interrupt.number)
    for name, busy in hit.items():
        uses = [
            f"{as_list(busy & those)} ({what})"
            for what, those in (("polling threads", polling), ("pinned vCPUs", kept - polling))
            if busy & those
        ]
        yield Problem(
            f"interrupts of {name} are served on CPUs {' and '.join(uses)}",
            field=name,
            change=_moved(facts, name, numbers[name]),
            fix=_fix(facts, kept, numbers[name]),
        )


def _kept_free(facts: HostFacts) -> CpuSet:
    """CPUs that no interrupt should be on."""
    managed = "managed_irq" in isolcpus(facts.cpus.command_line)[0]
    allowed = isolated(facts) if managed and facts.cpus.irqbalance is not False else frozenset()
    return polled(facts) | (dedicated(facts) - allowed)


def _came(interrupt: Interrupt) -> bool:
    return bool(interrupt.total if interrupt.growth is None else interrupt.growth)


def _moved(facts: HostFacts, link: str, numbers: list[str]) -> Change | None:
    """The change that serves them elsewhere. While irqbalance runs, it moves them itself."""
    others = housekeeping(facts)
    if facts.cpus.irqbalance is not False or not others:
        return None
    wanted = {HostSetting("irq", link, number): as_list(others) for number in numbers}
    return change_of_several(facts, wanted, CAN_BE_SET_BACK)


def _fix(facts: HostFacts, kept: CpuSet, numbers: list[str]) -> str:
    if facts.cpus.irqbalance:
        banned = as_list(kept | frozenset(facts.cpus.irqbalance_banned or ()))
        return (
            f'Ban them: IRQBALANCE_BANNED_CPULIST="{banned}" in /etc/default/irqbalance '
            "(RHEL, SLES: /etc/sysconfig/irqbalance), then systemctl restart irqbalance"
        )
    others = as_list(housekeeping(facts) or ())
    if not others:
        return "Leave the host CPUs of its own, and serve them there"
    return (
        f"Serve them elsewhere: echo {others} > /proc/irq/N/smp_affinity_list, for N of "
        f"{', '.join(numbers)}"
    )


RULE = Rule(
    name="irqs-on-dedicated",
    severity="medium",
    groups=("host", "cpus"),
    judges=(host_needs.visited_host(check, needs=(host_needs.INTERRUPTS,), applies=applies),),
)
