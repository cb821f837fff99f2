"""A vhost-user port at which Open vSwitch is the server.

## What is wrong

A port has the type `dpdkvhostuser`: Open vSwitch makes the socket, and QEMU connects to it.

## Why it matters

When Open vSwitch restarts, the socket is gone, and the guest has no network until it is stopped and
started. The type is deprecated since 2.10 for that reason
(Documentation/topics/dpdk/vhost-user.rst).

## Bad

```console
$ ovs-vsctl get Interface vhu0 type
dpdkvhostuser
```

## Good

```console
$ ovs-vsctl get Interface vhu0 type options
dpdkvhostuserclient
{vhost-server-path="/run/vhost/vhu0.sock"}
```

## Fix

Make the port a `dpdkvhostuserclient` with a `vhost-server-path`, and let QEMU listen there
(`<source type='unix' path='…' mode='server'/>`). Nova does so with any Open vSwitch of today.

## Fix safety

The guest loses its NIC until it is stopped and started with the new definition.

## When it does not fire

* On ports of type `dpdkvhostuserclient`.
* Skipped when the ports could not be read. VNIC042 finds the same in the definition of the guest.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.host_settings import HostSetting, command_for
from vnicaudit.knowledge.ovs_ports import VHOST_CLIENT, VHOST_SERVER
from vnicaudit.model.rule import Problem, Rule, VisitedHost


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    for port in subject.ovs.ports or ():
        setting = HostSetting("ovs-interface", port.name, "type")
        if port.type == VHOST_SERVER:
            yield Problem(
                f"port {port.name} is of the deprecated type {VHOST_SERVER}: "
                "its guest loses its network when Open vSwitch restarts",
                field=port.name,
                fix=f"{command_for(setting, VHOST_CLIENT)} options:vhost-server-path=SOCKET, "
                "and mode='server' in the guest's definition",
            )


RULE = Rule(
    name="vhostuser-server-port",
    severity="medium",
    groups=("host", "ovs"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PORTS,), applies=host_needs.has_dpdk),
    ),
)
