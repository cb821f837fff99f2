"""Guests are on an adapter of IBM Z that cannot bridge.

## What is wrong

Guests' frames leave by a qeth device (OSA or HiperSockets) in layer 3 mode, or by a RoCE Express
adapter that is a port of Open vSwitch.

## Why it matters

In layer 3 mode the device handles IP packets with its own MAC address: frames of guests do not
pass. Open vSwitch needs promiscuous mode, which RoCE Express does not have ("Open vSwitch requires
promiscuous mode and therefor can not be used with RoCE Express", IBM, *Hypervisor support*). Guests
reach nobody, or only some.

## Bad

```console
$ cat /sys/bus/ccwgroup/drivers/qeth/0.0.f500/layer2
0
```

## Good

```console
$ cat /sys/bus/ccwgroup/drivers/qeth/0.0.f500/layer2
1
```

## Fix

Set the qeth device to layer 2 while it is offline. Put guests behind RoCE Express on macvtap, or
Open vSwitch on an OSA adapter.

## Fix safety

The device is offline for a moment, and its addresses and its place in a bridge are lost: do it
while no guest needs it, and not over a connection that uses it.

## When it does not fire

* On layer 2, on macvtap over RoCE Express, on links without guests, and below tunnels, whose
  packets are the host's own.
* Its confidence is medium for RoCE Express, as its driver is also that of other adapters.
* Skipped where the layer of a qeth device is not known.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_links import carried_by, is_on_ovs
from vnicaudit.knowledge.qeth import is_roce, set_offline
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule

_LAYER = host_needs.link_fact(
    lambda link: link.qeth is None or link.qeth.layer2 is not None,
    "the layer of the qeth device (/sys/bus/ccwgroup/drivers/qeth/*/layer2)",
)


def applies(subject: LinkSubject) -> bool:
    """An adapter of IBM Z that carries guests."""
    link = subject.link
    if not subject.carries or not (link.qeth is not None or is_roce(subject.facts, link)):
        return False
    return link.name in carried_by(subject.facts, subject.host.guests, through_tunnels=False)


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if frames of guests cannot pass."""
    link, guests = subject.link, host_needs.guests_named(subject.carries)
    qeth = link.qeth
    if qeth is not None and qeth.layer2 is False:
        yield Problem(
            f"{link.name} ({qeth.card_type or 'qeth'}) is in layer 3 mode, in which frames of "
            f"{guests} do not pass",
            fix="Set it to layer 2 (its addresses are lost, and it is offline for a moment): "
            + set_offline(qeth.device, "layer2", 1),
        )
    elif qeth is None and is_on_ovs(subject.facts, link):
        yield Problem(
            f"{link.name} is a RoCE adapter in Open vSwitch, which needs promiscuous mode: frames "
            f"of {guests} do not pass",
            confidence="medium",
            fix="Put these guests on macvtap, or Open vSwitch on an OSA adapter.",
        )


RULE = Rule(
    name="z-no-bridging",
    severity="error",
    groups=("host", "z"),
    judges=(Judge("link", needs=(_LAYER,), applies=applies, check=check),),
)
