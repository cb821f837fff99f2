"""Packets are steered by software (RPS) on an adapter that has a receive queue for each CPU.

## What is wrong

The adapter has at least as many receive queues as there are CPUs on its node, so that its own
hashing (RSS) can reach each of them, and receive packet steering is on as well.

## Why it matters

With a queue for each CPU, RPS is "probably redundant and unnecessary"
(Documentation/networking/scaling.rst of Linux): each steered packet costs a hash, a place in
another CPU's backlog, and often an interrupt between the CPUs.

## Bad

```console
$ ls /sys/class/net/eth0/queues     # on a host with two CPUs
rx-0 rx-1 tx-0 tx-1
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
3
```

## Good

```console
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
0
```

## Fix

Switch RPS off: mask 0 for each receive queue.

## Fix safety

It takes effect at once, and can be set again.

## When it does not fire

* On virtual devices: taps, veth, bridges, tunnels.
* When the mask is the host's default (`net.core.rps_default_mask`) or that of an OpenShift
  PerformanceProfile, which keeps packets off isolated CPUs.
* Skipped where queues or NUMA nodes were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_mask
from vnicaudit.knowledge.flow_steering import set_on_each, steered_queues
from vnicaudit.knowledge.host_cpus import near
from vnicaudit.knowledge.host_setting_values import change_on_each
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_SAFE = "the mask can be set back"


def applies(subject: LinkSubject) -> bool:
    """An adapter."""
    return subject.link.physical is True


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if it has RPS beside a queue for each CPU."""
    link, facts = subject.link, subject.facts
    queues, cpus = link.rps_queues() or (), near(facts, link) or ()
    steered = steered_queues(facts, link)
    if steered and len(queues) >= len(cpus):
        change = change_on_each(facts, link, steered, "0", _SAFE)
        yield Problem(
            f"RPS is on (mask {as_mask(steered[0].cpus or ())} on {steered[0].name}) on "
            f"{link.name}, whose {len(queues)} receive queues reach each of the "
            f"{len(cpus)} CPUs near it",
            change=change,
            fix="" if change else f"Switch it off: {set_on_each(link.name, 'rps_cpus', 0)}",
        )


RULE = Rule(
    name="rps-beside-queues",
    severity="info",
    groups=("host", "steering"),
    judges=(
        Judge(
            "link",
            needs=(host_needs.LINK_MASKS, host_needs.LINK_NODE),
            applies=applies,
            check=check,
        ),
    ),
)
