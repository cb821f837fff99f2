"""Guests' packets do not fit into a tunnel's underlay.

## What is wrong

The largest packets of guests, with what the tunnel adds to each (VXLAN and Geneve 50 bytes, OVN 58,
20 more over IPv6), are larger than the MTU of the link by which the tunnel's packets leave.

## Why it matters

Open vSwitch forbids fragments of its tunnels' packets (`df_default`): large ones are dropped, and
only some guests hear of it. Linux's own tunnels fragment them, which halves their rate or worse.
Short packets pass, so ping and logins work.

## Bad

```console
$ ip -d link show dev vxlan7 | grep -o 'mtu [0-9]*\\|remote [0-9.]*'
mtu 1500
remote 192.0.2.7
$ ip link show dev eth0 | grep -o 'mtu [0-9]*'
mtu 1500
```

## Good

```console
$ ip link show dev eth0 | grep -o 'mtu [0-9]*'
mtu 1600
```

## Fix

Raise the MTU of the underlay: its switches first, then the link. Or lower that of the overlay's
network and guests; Neutron does it by `global_physnet_mtu` and `path_mtu`.

## Fix safety

A change of the link's MTU is proposed, which is unsafe: the whole network behind it must carry
packets of that size, and some adapters reset their link.

## When it does not fire

* When guests' MTUs leave room for the tunnel, and on links without guests.
* On GRE, whose overhead depends on its flags.
* Skipped when the way to the remote is not known; and for Open vSwitch when guests may also leave
  it by an adapter: their MTU is then right for that.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_mtu import largest_packets, ovs_guests, ovs_tunnels, ovs_uplinks, room
from vnicaudit.knowledge.host_setting_values import change_of_mtu
from vnicaudit.model.rule import Judge, LinkSubject, Problem, Rule, VisitedHost

_WAY = host_needs.link_fact(
    lambda link: link.tunnel is not None and link.tunnel.mtu is not None,
    "the way to the tunnel's remote (ip route show)",
)


_OVS_WAY = host_needs.host_fact(
    lambda facts: any(way for _port, way in ovs_tunnels(facts)),
    "the way to a remote of Open vSwitch's tunnels (remote_ip, ip route show)",
)
_ONLY_WAY = host_needs.host_fact(
    lambda facts: not ovs_uplinks(facts),
    "the network of each guest, as frames may also leave Open vSwitch by an adapter",
)


def applies(subject: LinkSubject) -> bool:
    """A tunnel of Linux with a remote of its own that carries guests."""
    link = subject.link
    return bool(subject.carries) and link.tunnel is not None and not link.tunnel.external


def check(subject: LinkSubject) -> Iterator[Problem]:
    """One problem if its packets are too large."""
    link, tunnel = subject.link, subject.link.tunnel
    if tunnel is None or tunnel.mtu is None:
        return
    sizes = [size for size in (largest_packets(subject.facts, subject.guests()), link.mtu) if size]
    more = room(link.kind or "", tunnel.remote)
    if sizes and more is not None and min(sizes) + more > tunnel.mtu:
        yield Problem(
            f"packets of {min(sizes)} bytes need {min(sizes) + more} in the tunnel {link.name}, "
            f"and {tunnel.device} has an MTU of {tunnel.mtu}",
            change=change_of_mtu(subject.facts, tunnel.device or "", min(sizes) + more),
            fix=_LOWER.format(tunnel.mtu - more),
        )


def applies_ovs(subject: VisitedHost) -> bool:
    """A host with guests and tunnels in Open vSwitch."""
    facts = subject.facts
    return any(True for _each in ovs_tunnels(facts)) and bool(ovs_guests(facts, subject.guests))


def check_ovs(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each link by which tunnels leave that is too narrow."""
    facts = subject.facts
    size = largest_packets(facts, ovs_guests(facts, subject.guests))
    if size is None:
        return
    told: set[str] = set()
    for port, way in ovs_tunnels(facts):
        of_ovn = port.name.startswith("ovn-")
        more = room(port.type, port.options.get("remote_ip", ""), of_ovn=of_ovn)
        if way is None or more is None or way.device in told or size + more <= way.mtu:
            continue
        told.add(way.device)
        yield Problem(
            f"packets of {size} bytes need {size + more} in {port.type} tunnels, and {way.device} "
            f"has an MTU of {way.mtu}",
            field=way.device,
            change=change_of_mtu(facts, way.device, size + more),
            fix=_LOWER.format(way.mtu - more),
        )


_LOWER = "(or lower the MTU of the overlay to {})"


RULE = Rule(
    name="tunnel-over-underlay",
    severity="medium",
    groups=("host", "mtu"),
    judges=(
        Judge("link", needs=(_WAY,), applies=applies, check=check),
        host_needs.visited_host(check_ovs, needs=(_OVS_WAY, _ONLY_WAY), applies=applies_ovs),
    ),
)
