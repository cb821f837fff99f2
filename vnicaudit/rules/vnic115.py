"""Packets are steered onto CPUs that are isolated, polling, dedicated to guests, or offline.

## What is wrong

A receive queue's mask (RPS) or a transmit queue's (XPS) names CPUs that are kept for something
else: isolated ones, those of Open vSwitch's polling threads (PMD), CPUs of pinned vCPUs, or CPUs
that are offline.

## Why it matters

RPS puts protocol processing on the CPUs of its mask (Documentation/networking/scaling.rst of
Linux): there it interrupts the work that was to be left alone. A CPU that is offline is left out of
the spreading.

## Bad

```console
$ cat /sys/devices/system/cpu/isolated
2-3
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
f
```

## Good

```console
$ cat /sys/class/net/eth0/queues/rx-0/rps_cpus
3
```

## Fix

Leave those CPUs out of the mask; `vnicaudit host mask` converts lists.

## Fix safety

It takes effect at once, and can be set again.

## When it does not fire

* When the mask is the host's default (`net.core.rps_default_mask`) or that of an OpenShift
  PerformanceProfile.
* When the transmit masks of a device name one CPU each, or all CPUs together, as drivers preset
  them. Reported as *low* for XPS: it chooses the queue by the sending CPU, and moves no work.
* Skipped where queues were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.cpu_lists import as_list, as_mask
from vnicaudit.knowledge.flow_steering import steered_queues
from vnicaudit.knowledge.host_cpus import NO_CPUS, not_for_packets, online
from vnicaudit.knowledge.host_needs import guests_named
from vnicaudit.knowledge.host_setting_values import change_on_each
from vnicaudit.knowledge.host_settings import HostSetting, SettingKind, command_for
from vnicaudit.model.host_facts import HostFacts, HostLink, Queue
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_SAFE = "the mask can be set back"


def applies(subject: LinkSubject) -> bool:
    """A link with queues; where they were not read, one that matters: an adapter, or one that
    carries guests."""
    link = subject.link
    return bool(link.queues) or (
        link.queues is None and (link.physical is True or bool(subject.carries))
    )


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem for the masks of receive queues that have CPUs that are kept for something else,
    and one for those of transmit queues."""
    link, facts = subject.link, subject.facts
    masks: tuple[tuple[SettingKind, list[Queue]], ...] = (
        ("rps", steered_queues(facts, link)),
        ("xps", _set_transmit_queues(facts, link)),
    )
    for kind, queues in masks:
        named = {cpu for queue in queues for cpu in queue.cpus or ()}
        others = not_for_packets(facts, named) if named else {}
        wrong = frozenset().union(*others.values())
        on = [queue for queue in queues if wrong.intersection(queue.cpus or ())]
        if on:
            right = as_mask(frozenset(on[0].cpus or ()) - wrong)
            setting = HostSetting(kind, link.name, on[0].name)
            reasons = "; ".join(f"{as_list(cpus)} ({why})" for why, cpus in others.items())
            change = change_on_each(facts, link, on, right, _SAFE)
            yield Problem(
                f"{kind.upper()} of {guests_named([queue.name for queue in on])} on {link.name} "
                f"names CPUs that are kept for something else: {reasons}",
                field=kind,
                severity="low" if kind == "xps" else None,
                change=change,
                fix="" if change else f"Leave them out of each mask: {command_for(setting, right)}",
            )


def _set_transmit_queues(facts: HostFacts, link: HostLink) -> list[Queue]:
    """Transmit queues with a mask that somebody set: drivers preset one CPU for each queue, or
    masks that name every CPU together."""
    queues = [queue for queue in link.queues or () if queue.name.startswith("tx-") and queue.cpus]
    named = frozenset(cpu for queue in queues for cpu in queue.cpus or ())
    is_preset = not (online(facts) or NO_CPUS) - named
    return [] if is_preset or all(len(queue.cpus or ()) == 1 for queue in queues) else queues


RULE = Rule(
    name="steering-onto-wrong-cpus",
    severity="medium",
    groups=("host", "steering"),
    judges=(
        Judge(
            "link",
            needs=(host_needs.LINK_MASKS, host_needs.ONLINE),
            applies=applies,
            check=check,
        ),
    ),
)
