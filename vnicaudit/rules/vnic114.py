"""Interrupts of an adapter's queues are served by one CPU, and nothing spreads them.

## What is wrong

Four or more interrupts of the adapter are served by the same CPU, twice as many as its share, and
irqbalance does not run.

## Why it matters

An adapter has several queues so that several CPUs can handle its packets. The handling runs on the
CPU that serves the queue's interrupt (Documentation/networking/scaling.rst of Linux): with one CPU
for all, it is as if there was one queue.

## Bad

```console
$ grep . /proc/irq/{24,25,26,27}/effective_affinity_list     # the queues of eth0
/proc/irq/24/effective_affinity_list:0
/proc/irq/25/effective_affinity_list:0
/proc/irq/26/effective_affinity_list:0
/proc/irq/27/effective_affinity_list:0
```

## Good

```console
$ grep . /proc/irq/{24,25,26,27}/effective_affinity_list
/proc/irq/24/effective_affinity_list:0
/proc/irq/25/effective_affinity_list:1
/proc/irq/26/effective_affinity_list:2
/proc/irq/27/effective_affinity_list:3
```

## Fix

Start irqbalance, or give each interrupt a CPU.

## Fix safety

It takes effect at once, and can be set back.

## When it does not fire

* When irqbalance runs, on links that are down, for interrupts that never came, and on an OSA card,
  which has no interrupts of its own.
* When interrupts have one CPU to go to: the host has one, or one is reserved for such work.
* The numbers, four and twice its share, are our own: see the settings.
* Skipped where interrupts or processes were not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list, from_list
from vnicaudit.knowledge.host_cpus import CpuSet, housekeeping, interrupts_of, serves_on
from vnicaudit.knowledge.host_setting_values import change_of_several
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting
from vnicaudit.model.finding import Change
from vnicaudit.model.host_facts import HostFacts, Interrupt
from vnicaudit.model.rule import Judge, LinkSubject, Problem, RuleSettings, adjustable_rule, setting


class SpreadLimits(RuleSettings, frozen=True):
    """When interrupts are not spread."""

    interrupts: Annotated[
        int, setting("Interrupts of an adapter on one CPU to report.", at_least=2)
    ] = 4


def applies(subject: LinkSubject) -> bool:
    """An adapter in use, on a host where irqbalance may be missing."""
    link = subject.link
    return (
        link.physical is True
        and link.qeth is None
        and link.up is not False
        and subject.facts.cpus.irqbalance is not True
    )  # fmt: skip


def check(subject: LinkSubject, limits: SpreadLimits) -> Iterator[Problem]:
    """One problem for each CPU that has too many of its interrupts."""
    cpus = _for_interrupts(subject.facts)
    used = [one for one in interrupts_of(subject.facts, subject.link) if one.total != 0]
    if len(cpus) < 2:
        return
    share = -(-len(used) // len(cpus))
    for cpu in sorted(cpus):
        here = [one for one in used if serves_on(one) == {cpu}]
        if len(here) >= max(limits.interrupts, 2 * share):
            yield Problem(
                f"{len(here)} of {len(used)} interrupts of {subject.link.name} are served by "
                f"CPU {cpu}, though {len(cpus)} CPUs could, and irqbalance does not run",
                field=f"cpu{cpu}",
                change=_spread(subject, used, here[share:], cpus),
                fix="Start it (systemctl enable --now irqbalance), or give each interrupt a CPU of "
                f"{as_list(cpus)}: echo CPU > "
                f"/proc/irq/{here[0].number}/smp_affinity_list, and so on",
            )


def _spread(
    subject: LinkSubject, used: list[Interrupt], moved: list[Interrupt], cpus: CpuSet
) -> Change | None:
    """The change that gives each of the moved ones a CPU that serves the fewest."""
    served = dict.fromkeys(sorted(cpus), 0)
    for cpu in (cpu for one in used for cpu in serves_on(one) & cpus):
        served[cpu] += 1
    wanted = {}
    for one in moved:
        cpu = min(served, key=served.__getitem__)
        served[cpu] += 1
        wanted[HostSetting("irq", subject.link.name, one.number)] = str(cpu)
    return change_of_several(subject.facts, wanted, CAN_BE_SET_BACK)


def _for_interrupts(facts: HostFacts) -> CpuSet:
    """CPUs that may serve interrupts: those for the host's own work, unless ``irqaffinity=`` names
    others."""
    cpus = housekeeping(facts) or frozenset()
    named = from_list((facts.cpus.command_line or {}).get("irqaffinity", ""))
    return cpus.intersection(named) if named else cpus


RULE = adjustable_rule(
    SpreadLimits,
    lambda limits: Judge(
        "link",
        needs=(host_needs.LINK_INTERRUPTS, host_needs.IRQBALANCE, host_needs.ONLINE),
        applies=applies,
        check=lambda subject: check(subject, limits),
    ),
    name="irqs-on-one-cpu",
    severity="medium",
    groups=("host", "cpus"),
)
