"""The receive ring of a guest on a vhost port overflows.

## What is wrong

The guest took a ring of 256 descriptors or fewer (`vring_0_size`), and `ovs_tx_failure_drops` of
its port grows: Open vSwitch found no room in it.

## Why it matters

Each drop is a frame that reached the host and not its guest. Red Hat advises 1024 descriptors with
Open vSwitch and DPDK; drops on the port were the symptom in the measurements of VDUSE.

## Bad

```console
$ ovs-vsctl get Interface vhu0 status:vring_0_size statistics:ovs_tx_failure_drops
"256"
52210
```

## Good

```console
$ ovs-vsctl get Interface vhu0 status:vring_0_size statistics:ovs_tx_failure_drops
"1024"
0
```

## Fix

Give the NIC `rx_queue_size='1024'` (VNIC033 plans it; in Nova `[libvirt] rx_queue_size`), and start
the guest again.

## Fix safety

A guest takes it at its next start; old iPXE cannot handle more than 256 (see VNIC033).

## When it does not fire

* When the drops stand still: a total may be from a boot. Open vSwitch updates its counters every
  5 s, so a shorter window often shows nothing, and the rule is skipped then.
* When the ring is larger: then the guest is too slow for its load.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.ovs_ports import is_connected, number
from vnicaudit.model.host_facts import OvsPort
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_SMALL = 256
_DROPS = "ovs_tx_failure_drops"


def applies(subject: VisitedHost) -> bool:
    """A host with a guest whose ring is small, or one whose ports are unknown."""
    ports = subject.ovs.ports
    return host_needs.has_dpdk(subject) if ports is None else any(map(_small_ring, ports))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    for port in subject.ovs.ports or ():
        size, grown = _small_ring(port), (port.growth or {}).get(_DROPS, 0)
        if size is not None and grown > 0:
            yield Problem(
                f"the guest on port {port.name} has a receive ring of {size}, for which "
                f"{grown} frames were too many while it was read",
                field=port.name,
                fix="Give its NIC rx_queue_size='1024' (see VNIC033), and start it again",
            )


def _small_ring(port: OvsPort) -> int | None:
    """The smallest receive ring of a connected guest (even numbers are its), if it is small."""
    sizes = [
        size
        for key, text in port.status.items()
        if key.startswith("vring_") and key.endswith("_size")
        and (ring := number(key[6:-5])) is not None and ring % 2 == 0
        and (size := number(text)) is not None
    ]  # fmt: skip
    return min(sizes) if sizes and is_connected(port) and min(sizes) <= _SMALL else None


_GROWTH = host_needs.host_fact(
    lambda facts: any(port.growth is not None for port in facts.ovs.ports or ()),
    "two readings of Open vSwitch's counters, which it updates every 5 s (--window 6)",
)

RULE = Rule(
    name="vhost-ring-small",
    severity="medium",
    groups=("host", "ovs", "rings"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PORTS, _GROWTH), applies=applies),
    ),
)
