"""Receive flow steering (RFS) is half set: one of its two tables is empty.

## What is wrong

Either the host's table (`net.core.rps_sock_flow_entries`) or the tables of the receive queues
(`rps_flow_cnt`) have entries, and the other has none.

## Why it matters

RFS hands a packet to the CPU on which its reader runs. Both tables must be set before it works for
a queue (Documentation/networking/scaling.rst of Linux): half of it does nothing. With medium and
many connections between nodes of OpenShift on IBM Z, latency became up to 3.33 times and throughput
up to 2.96 times better with RFS (A. Busch, IBM, "Unleashing the Network of OpenShift").

## Bad

```console
$ sysctl net.core.rps_sock_flow_entries
net.core.rps_sock_flow_entries = 32768
$ cat /sys/class/net/eth0/queues/rx-0/rps_flow_cnt
0
```

## Good

```console
$ sysctl net.core.rps_sock_flow_entries
net.core.rps_sock_flow_entries = 8192
$ cat /sys/class/net/eth0/queues/rx-0/rps_flow_cnt
8192
```

## Fix

Set the other half, or clear this one. `vnicaudit host rfs` works out both sizes.

## Fix safety

It takes effect at once. Where CPUs are short RFS can do harm (VNIC110).

## When it does not fire

* When some adapter has entries, or all adapters have a receive queue for each CPU near them, which
  need no steering.
* Skipped when one half is unknown: a network namespace has no `rps_sock_flow_entries`, a sosreport
  no `rps_flow_cnt`.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.flow_steering import ENTRIES, MODERATE, rfs_entries, set_on_each
from vnicaudit.knowledge.host_cpus import near
from vnicaudit.knowledge.host_setting_values import change_of, change_on_queues
from vnicaudit.knowledge.host_settings import CAN_BE_SET_BACK, HostSetting, command_for
from vnicaudit.model.host_facts import HostFacts, HostLink
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def applies(subject: VisitedHost) -> bool:
    """A host with an adapter that RFS may serve."""
    return bool(_steered(subject.facts))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for the half that is missing: of the host, or of each adapter."""
    facts = subject.facts
    entries = facts.sysctl(ENTRIES) or 0
    set_on = [link.name for link in _steered(facts) if _flows(link)]
    for link in _steered(facts) if entries and not set_on else ():
        share = rfs_entries(entries, len(link.rps_queues() or ()) or 1)
        yield Problem(
            f"{ENTRIES} is {entries}, but {link.name} has no entries in rps_flow_cnt, nor has "
            "another adapter: receive flow steering does nothing",
            field=f"{link.name}/rps_flow_cnt",
            change=change_on_queues("rps-flows", link, "0", str(share), CAN_BE_SET_BACK),
            fix="(or clear the other half: "
            f"{command_for(HostSetting('sysctl', name=ENTRIES), '0')})",
        )
    if set_on and not entries:
        setting = HostSetting("sysctl", name=ENTRIES)
        on = host_needs.guests_named(set_on)
        yield Problem(
            f"rps_flow_cnt is set on {on}, but {ENTRIES} is 0: receive flow steering does nothing",
            field="rps_sock_flow_entries",
            change=change_of(facts, setting, str(MODERATE), CAN_BE_SET_BACK),
            fix=f"(or clear the other half: {set_on_each(set_on[0], 'rps_flow_cnt', 0)})",
        )


def _steered(facts: HostFacts) -> list[HostLink]:
    """Adapters with fewer receive queues than there are CPUs near them, or whose queues or CPUs are
    unknown."""
    return [
        link
        for link in facts.links or ()
        if link.physical
        and link.up is not False
        and ((queues := link.rps_queues()) is None or (cpus := near(facts, link)) is None
             or len(queues) < len(cpus))
    ]  # fmt: skip


def _flows(link: HostLink) -> int:
    return max((queue.flows or 0 for queue in link.rps_queues() or ()), default=0)


def _both_known(facts: HostFacts) -> bool:
    if facts.sysctl(ENTRIES) is None:
        return False
    links = _steered(facts)
    known = [
        (queues := link.rps_queues()) is not None
        and all(queue.flows is not None for queue in queues)
        for link in links
    ]
    return all(known) or (facts.sysctl(ENTRIES) != 0 and any(map(_flows, links)))


_BOTH = host_needs.host_fact(
    _both_known,
    f"both {ENTRIES} and rps_flow_cnt of each adapter (a network namespace lacks the first, a "
    "sosreport the second)",
)

RULE = Rule(
    name="rfs-half-set",
    severity="low",
    groups=("host", "steering"),
    judges=(host_needs.visited_host(check, needs=(_BOTH,), applies=applies),),
)
