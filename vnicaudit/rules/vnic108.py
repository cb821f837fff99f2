"""One CPU handles an adapter's packets while others near it are idle: RPS would spread them.

## What is wrong

The adapter has fewer receive queues than there are CPUs on its node. Within the window one CPU
spent most of its time in softirqs for it, and the others were mostly idle.

## Why it matters

Without receive packet steering (RPS) a queue's packets are handled by one CPU. On IBM Z, RPS made
250 connections take 37 % less time on OSA and 34 % less on RoCE, and used up to 35 % less CPU
(N. Hoppmann, IBM, "Exploring the performance of network adapters"). With few connections it costs
time: VNIC109.

## Bad

```console
$ ls /sys/class/net/eth0/queues
rx-0 tx-0
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
0
```

## Good

```console
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
fe
```

## Fix

Set the mask of the idle CPUs near the adapter for each of its receive queues.

## Fix safety

It takes effect at once, and mask 0 undoes it.

## When it does not fire

* With `workload = "few-connections"` or `"streaming"`, when the adapter receives at line rate (90 %
  of its speed), or RPS is on.
* Worded as a question unless the workload is `many-connections`.
* The thresholds, 60 % softirq and 50 % idle, are our own: see the settings.
* Skipped without a window of two readings, in containers, and where queues were not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_mask
from vnicaudit.knowledge.flow_steering import set_on_each, streams
from vnicaudit.knowledge.host_cpus import (
    CpuSet,
    housekeeping,
    interrupts_of,
    loads,
    median,
    near,
    serves_on,
)
from vnicaudit.knowledge.host_setting_values import change_on_each
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.model.rule import Judge, LinkSubject, Problem, RuleSettings, adjustable_rule, setting


class SteeringLimits(RuleSettings, frozen=True):
    """When one CPU has too much to do, and the others have time."""

    softirq: Annotated[
        int,
        setting("Percent of its time in softirqs that make a CPU busy.", at_least=1, at_most=100),
    ] = 60
    idle: Annotated[
        int, setting("Percent of their time that the others are idle.", at_least=1, at_most=100)
    ] = 50


def applies(subject: LinkSubject) -> bool:
    """An adapter in use, where nobody says that RPS would be of no use."""
    few = subject.host.workload in ("few-connections", "streaming")
    return subject.link.physical is True and subject.link.up is not False and not few


def check(subject: LinkSubject, limits: SteeringLimits) -> Iterator[Problem]:
    """One problem if a CPU that serves the adapter is busy and others are idle."""
    link, facts, shares = subject.link, subject.facts, loads(subject.facts)
    queues, cpus = link.rps_queues() or (), near(facts, link) or frozenset()
    if len(queues) >= len(cpus) or any(queue.cpus for queue in queues) or streams(facts, link):
        return
    busy = {
        cpu for cpu in _serving(facts, link)
        if cpu in shares and shares[cpu].softirq >= limits.softirq
    }  # fmt: skip
    others = ((housekeeping(facts) or frozenset()) & cpus & shares.keys()) - busy
    if not busy or not others:
        return
    idle = median([shares[cpu].idle for cpu in others])
    if idle < limits.idle:
        return
    first = max(busy, key=lambda cpu: (shares[cpu].softirq, -cpu))
    percent, have = f"{shares[first].softirq:.0f} %", "was" if len(others) == 1 else "were"
    seen = (
        f"CPU {first} spent {percent} of the window in softirqs for {link.name} "
        f"({host_needs.counted(len(queues), 'receive queue')}, no RPS), while "
        f"{host_needs.counted(len(others), 'CPU')} near it {have} {idle:.0f} % idle"
    )
    known = subject.host.workload == "many-connections"
    mask = as_mask(others)
    change = change_on_each(facts, link, queues, mask, CAN_BE_SET_BACK) if known else None
    yield Problem(
        f"{seen}: RPS would spread its connections" if known
        else f"{seen}: does it serve many connections, which RPS would spread?",
        severity=None if known else "info",
        confidence="medium",
        change=change,
        fix="" if change else f"With many connections: {set_on_each(link.name, 'rps_cpus', mask)}",
    )  # fmt: skip


def _serving(facts: HostFacts, link: HostLink) -> CpuSet:
    """CPUs that serve the interrupts of a link; where they are not listed by device, as on IBM Z,
    all of them if this link received most."""
    interrupts = interrupts_of(facts, link)
    if interrupts:
        return frozenset().union(*(serves_on(one) for one in interrupts if one.growth != 0))
    most = max(facts.links or (), key=lambda one: _received(one) if one.physical else -1)
    return frozenset(facts.cpus.online or ()) if most == link and _received(link) else frozenset()


def _received(link: HostLink) -> int:
    return (link.growth or {}).get("rx_packets", 0)


RULE = adjustable_rule(
    SteeringLimits,
    lambda limits: Judge(
        "link",
        needs=(
            host_needs.NOT_A_CONTAINER,
            host_needs.SHARES,
            host_needs.LINK_WINDOW,
            host_needs.LINK_MASKS,
            host_needs.LINK_NODE,
        ),
        applies=applies,
        check=lambda subject: check(subject, limits),
    ),
    name="rps-would-help",
    severity="medium",
    groups=("host", "steering"),
)
