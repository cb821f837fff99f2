"""Open vSwitch could not use a port.

## What is wrong

The column `error` of an interface is not empty: Open vSwitch has the port in its database, but not
in its datapath.

## Why it matters

No frame passes it. If it belongs to a guest, that guest is cut off; if its device is gone, the port
is a relic that is tried again at each change (ovs-vswitchd.conf.db(5), *Interface*, `error`).

## Bad

```console
$ ovs-vsctl --columns=name,error list Interface dpdk0
name                : dpdk0
error               : "Error attaching device '0000:3b:00.0' to DPDK"
```

## Good

```console
$ ovs-vsctl --columns=name,error list Interface dpdk0
name                : dpdk0
error               : []
```

## Fix

Mend what the text names: a missing device, a driver that is not bound, an option. Delete a port
whose device is gone for good.

## Fix safety

Deleting a port drops what its guest or tunnel sends; one that does not work loses nothing.

## When it does not fire

* When Open vSwitch uses the port.
* Skipped when the ports could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_SHOWN = 200


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port with an error."""
    for port in subject.ovs.ports or ():
        if port.error:
            yield Problem(
                f"Open vSwitch could not use port {port.name}: {port.error[:_SHOWN]}",
                field=port.name,
                fix="Mend what the error names; if the device is gone for good, delete the port "
                "(ovs-vsctl del-port)",
            )


RULE = Rule(
    name="ovs-port-error",
    severity="medium",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PORTS,), applies=host_needs.has_ovs),
    ),
)
