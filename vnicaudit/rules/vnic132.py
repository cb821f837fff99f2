"""Open vSwitch cuts large segments of guests in software.

## What is wrong

Guests hand Open vSwitch segments of up to 64 KiB (`userspace-tso-enable`), and the port on which
they leave cannot cut them: Open vSwitch does, and counts it (`netdev_soft_seg_good`; since 4.0
`dp_packet_gso` and `dp_packet_partial_gso`).

## Why it matters

A PMD spends its time on cutting and copying. In Red Hat's measurements of VDUSE this counter gave
away that the driver of the adapter lacked the offload of the outer UDP checksum.

## Bad

```console
$ ovs-appctl coverage/show | grep seg
netdev_soft_seg_good     212.8/sec    20.717/sec        0.3453/sec   total: 1243
$ ovs-vsctl get Interface dpdk0 status:tx_tcp_seg_offload
"false"
```

## Good

```console
$ ovs-appctl coverage/show | grep seg
$ ovs-vsctl get Interface dpdk0 status:tx_tcp_seg_offload
"true"
```

## Fix

Switch the offload on at the port's device, or take an adapter and a driver of DPDK that have TSO,
and for tunnels the offload of the outer UDP checksum.

## Fix safety

Switching on an offload of a device takes effect at once. Open vSwitch reads it when it opens the
port.

## When it does not fire

* When the counters stand still: a total may be old.
* On the kernel's datapath, where the kernel cuts.
* Skipped before Open vSwitch 3.3, which has no counter.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.ovs_ports import SEGMENTATION_EVENTS, is_connected, is_vhost
from vnicaudit.model.host import Version
from vnicaudit.model.host_facts import HostFacts, Ovs, OvsPort
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_SINCE = Version(3, 3)
_TUNNELS = frozenset({"vxlan", "geneve"})
_TSO, _OUTER = "tx_tcp_seg_offload", "tx_out_udp_csum_offload"


def applies(subject: VisitedHost) -> bool:
    """A host whose Open vSwitch has a userspace datapath, or may."""
    bridges = subject.ovs.bridges
    if bridges is None:
        return host_needs.has_dpdk(subject)
    return host_needs.has_ovs(subject) and "netdev" in bridges.values()


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem if the counters grow."""
    ovs = subject.ovs
    grown = sum((ovs.coverage_growth or {}).get(event, 0) for event in SEGMENTATION_EVENTS)
    rate = sum((ovs.coverage_rates or {}).get(event, 0) for event in SEGMENTATION_EVENTS)
    if not grown and not rate:
        return
    how = f"{grown} while it was read" if grown else f"{rate:.1f} a second within the last minute"
    why = _reasons(ovs)
    yield Problem(
        f"Open vSwitch cuts large segments in software ({how}){f': {why}' if why else ''}",
        confidence="high" if why else "medium",
        fix="Give the ports on which these segments leave TSO, and for tunnels the offload of the "
        "outer UDP checksum: ethtool -K DEVICE tso on gso on for a device of the kernel; "
        "for one of DPDK its firmware and driver decide",
    )


def _reasons(ovs: Ovs) -> str:
    """Which ports lack what."""
    ports = [port for port in ovs.ports or () if _may_send(port)]
    plain = [port.name for port in ports if port.status.get(_TSO) == "false"]
    tunnels = any(port.type in _TUNNELS for port in ovs.ports or ())
    outer = [
        port.name
        for port in ports
        if tunnels and not is_vhost(port) and port.status.get(_OUTER) == "false"
    ]
    parts = [f"no TSO on {host_needs.guests_named(plain)}"] if plain else []
    parts += [f"no outer UDP checksum on {host_needs.guests_named(outer)}"] if outer else []
    return "; ".join(parts)


def _may_send(port: OvsPort) -> bool:
    """True for a port that sends now: a device, or a guest that is connected."""
    if port.error or (port.up is False and not is_connected(port)):
        return False
    return is_connected(port) if is_vhost(port) else port.type in ("", "system", "dpdk", "afxdp")


def _is_counted(facts: HostFacts) -> bool:
    ovs = facts.ovs
    if ovs.coverage is None:
        return False
    return bool(ovs.coverage) or (ovs.version is not None and ovs.version >= _SINCE)


_COUNTED = host_needs.host_fact(
    _is_counted, "the counters of Open vSwitch 3.3 or later (ovs-appctl coverage/show, as root)"
)

RULE = Rule(
    name="software-segmentation",
    severity="medium",
    groups=("host", "ovs", "offloads"),
    judges=(host_needs.visited_host(check, needs=(_COUNTED,), applies=applies),),
)
