"""Packets of few connections, or of a stream at line rate, are steered by software (RPS).

## What is wrong

Receive packet steering (RPS) is on, and the adapter serves few connections, or streams at its
speed.

## Why it matters

RPS spreads connections, not the packets of one: each costs a hand-over to another CPU, and there is
little to spread. On IBM Z, 1 and 10 connections took 7 and 17 % longer with RPS on RoCE; on OSA, 1
took longer and 10 gained nothing (N. Hoppmann, IBM, "Exploring the performance of network
adapters").

## Bad

```console
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus     # a database with 10 connections
ff
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

* With `workload = "many-connections"`. It is *low* with `"few-connections"` and `"streaming"`, else
  a question.
* On virtual devices, when the mask is the host's default (`net.core.rps_default_mask`) or that of
  an OpenShift PerformanceProfile, and beside a queue for each CPU (VNIC107).
* Skipped where queues were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_mask
from vnicaudit.knowledge.flow_steering import set_on_each, steered_queues, streams
from vnicaudit.knowledge.host_cpus import near
from vnicaudit.knowledge.host_setting_values import change_on_each
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_SERVES = {"few-connections": "serves few connections", "streaming": "streams"}


def applies(subject: LinkSubject) -> bool:
    """An adapter, where nobody says that it serves many connections."""
    return subject.link.physical is True and subject.host.workload != "many-connections"


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if RPS is on, and VNIC107 has not found that already."""
    link, facts = subject.link, subject.facts
    steered, cpus = steered_queues(facts, link), near(facts, link)
    if not steered or (cpus is not None and len(link.rps_queues() or ()) >= len(cpus)):
        return
    seen = f"RPS is on (mask {as_mask(steered[0].cpus or ())} on {steered[0].name}) on {link.name}"
    serves = _SERVES.get(subject.host.workload or "")
    if serves is not None:
        message = f"{seen}, which {serves}: a hand-over to another CPU costs more than it gains"
    elif streams(facts, link):
        message = f"{seen}, which received at line rate: does RPS gain anything?"
    else:
        message = f"{seen}, which costs time with 1 to 10 connections: does it serve many?"
    change = change_on_each(facts, link, steered, "0", CAN_BE_SET_BACK) if serves else None
    yield Problem(
        message,
        severity="info" if serves is None else None,
        confidence="medium",
        change=change,
        fix="" if change else f"With few connections: {set_on_each(link.name, 'rps_cpus', 0)}",
    )


RULE = Rule(
    name="rps-for-few",
    severity="low",
    groups=("host", "steering"),
    judges=(Judge("link", needs=(host_needs.LINK_MASKS,), applies=applies, check=check),),
)
