"""The kernel datapath of Open vSwitch loses packets on their way to ovs-vswitchd.

## What is wrong

A packet without a flow in the kernel is handed to ovs-vswitchd (an upcall). Packets are lost there:
`lost` of `ovs-appctl dpctl/show` grows, or is at least 0.01 % of the hits.

## Why it matters

Lost are the first packets of connections, which begin a second later or not at all. hotsos warns of
more than 5 lost ones (`openvswitch/dpif_lost_packets`, 57b256c).

## Bad

```console
$ ovs-appctl dpctl/show | grep lookups
  lookups: hit:39017272 missed:137481 lost:54691
```

## Good

```console
$ ovs-appctl dpctl/show | grep lookups
  lookups: hit:39017272 missed:137481 lost:0
```

## Fix

Find what keeps ovs-vswitchd from its queue: its log (`Unreasonably long poll interval`),
`ovs-appctl upcall/show`, CPUs that it shares, or a flood of new connections.

## Fix safety

Nothing is changed.

## When it does not fire

* While `lost` is at most 5, or below 0.01 % of the hits and does not grow.
* A total counts since the datapath was made: without growth, a restart of ovs-vswitchd may have
  caused it, and the confidence is medium.
* On the userspace datapath.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_FEW = 5
_SHARE = 10_000
_FIX = (
    "Find what keeps ovs-vswitchd from its queue: its log, ovs-appctl upcall/show, "
    "and who shares its CPUs"
)


def applies(subject: VisitedHost) -> bool:
    """A host whose Open vSwitch uses the kernel's datapath, or may."""
    bridges = subject.ovs.bridges
    may_be_used = bridges is None or any(kind != "netdev" for kind in bridges.values())
    return host_needs.has_ovs(subject) and may_be_used


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem if packets are lost."""
    ovs = subject.ovs
    if ovs.lookups is None or ovs.lookups.lost_upcalls <= _FEW:
        return
    lost, hit = ovs.lookups.lost_upcalls, ovs.lookups.hit
    grown = ovs.lookups_growth.lost_upcalls if ovs.lookups_growth else 0
    begin = "the kernel datapath of Open vSwitch"
    if grown > 0:
        yield Problem(
            f"{begin} lost {grown} packets on their way to ovs-vswitchd while it was read, "
            f"and {lost} in all",
            fix=_FIX,
        )
    elif lost * _SHARE >= hit:
        yield Problem(
            f"{begin} lost {lost} packets on their way to ovs-vswitchd since it was made, "
            f"beside {hit} that found a flow",
            confidence="medium",
            fix=_FIX,
        )


_LOOKUPS = host_needs.host_fact(
    lambda facts: facts.ovs.lookups is not None,
    "the datapath's counters (ovs-appctl dpctl/show, as root)",
)

RULE = Rule(
    name="ovs-lost",
    severity="medium",
    groups=("host", "ovs"),
    judges=(host_needs.visited_host(check, needs=(_LOOKUPS,), applies=applies),),
)
