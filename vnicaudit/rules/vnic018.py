"""A network filter (`<filterref>`) on a type of interface that libvirt does not filter.

## What is wrong

The interface has a `<filterref>`, but is of type user, direct (macvtap), vhostuser, vdpa, hostdev,
server, client, mcast or udp. libvirt sets up filters only for tap devices: types bridge, network
and ethernet.

## Why it matters

The filter is not in force, and nothing says so: the guest may forge MAC and IP addresses although
its definition has `clean-traffic` or `no-mac-spoofing`. Measured with libvirt 9.0, 11.3 and 12.8:
the domain is defined and starts, and the filter's driver is never asked. Such definitions come from
a change of the type that kept the rest, and from templates.

## Bad

```xml
<interface type='direct'>
  <source dev='eth0' mode='bridge'/>
  <model type='virtio'/>
  <filterref filter='clean-traffic'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <filterref filter='clean-traffic'/>
</interface>
```

## Fix

Filter where the packets pass: in Open vSwitch for vhost-user, in the adapter or its switch for
vDPA, assigned devices and macvtap. Or connect the NIC to a bridge. Then remove `<filterref>`.

## Fix safety

No change is proposed: removing the filter leaves the guest as it is, and hides that somebody wanted
it.

## When it does not fire

* On types bridge and ethernet, and on networks: libvirt filters their taps. A network that hands
  out host devices is not known from the definition.
* On a bridge with `<virtualport type='openvswitch'/>`, which does not start with a filter: see
  VNIC015.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_FILTERED = frozenset({"bridge", "ethernet", "network"})


def applies(subject: Subject) -> bool:
    """An interface with a network filter, of a known type."""
    return subject.nic.network_filter is not None and subject.backend is not None


def check(subject: Subject) -> Iterator[Problem]:
    """One problem if its type is not filtered."""
    if subject.backend not in _FILTERED:
        yield Problem(
            f"its network filter is not in force: libvirt does not filter type='{subject.backend}'",
            field="network_filter",
            fix="Filter in the switch or adapter behind it, or connect the NIC to a bridge.",
        )


RULE = Rule(
    name="filter-not-in-force",
    severity="high",
    groups=("backends",),
    judges=(Judge("nic", applies=applies, check=check),),
)
