"""A running guest names a vhost socket to which its port is not connected.

## What is wrong

A guest runs with the socket of a vhost port (or the vDPA device made from it), and Open vSwitch
says that the port is disconnected.

## Why it matters

The guest has no network on this NIC: QEMU waits for the other end, or the driver of the guest did
not take the device.

## Bad

```console
$ ovs-vsctl get Interface vhu0 status:status
disconnected
```

## Good

```console
$ ovs-vsctl get Interface vhu0 status:status
connected
```

## Fix

Look into the logs of ovs-vswitchd and of the guest's QEMU for the path: permissions on the folder
of sockets, another path, memory that is not shared, huge pages that are missing.

## Fix safety

Nothing is changed.

## When it does not fire

* When no running guest names the socket.
* A guest that is still booting, or whose driver for the NIC is not loaded, looks the same: the
  confidence is medium.
* Skipped when the ports could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.ovs_ports import guests_of, is_vhost
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    for port in subject.ovs.ports or ():
        names = [guest.name for guest in guests_of(port, subject)] if is_vhost(port) else []
        if names and port.status.get("status") == "disconnected":
            yield Problem(
                f"{host_needs.guests_named(names)} runs with the socket of port {port.name}, "
                "which is disconnected",
                field=port.name,
                confidence="medium",
                fix="If the guest has booted, look for the socket in the logs of ovs-vswitchd "
                "and of its QEMU: permissions, another path, memory that is not shared",
            )


RULE = Rule(
    name="vhost-port-disconnected",
    severity="high",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PORTS,), applies=host_needs.has_dpdk),
    ),
)
