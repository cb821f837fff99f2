"""A VDUSE port has one pair of queues for a guest with several vCPUs.

## What is wrong

A port of Open vSwitch makes a VDUSE device without `vhost-max-queue-pairs`: the device has one pair
of queues, whatever its guest asks for.

## Why it matters

One vCPU and one PMD do all the work of the NIC. With vhost-user the guest decides; with VDUSE the
port does (ovs-vswitchd.conf.db(5): default 1, since 3.5).

## Bad

```console
$ ovs-vsctl get Interface vduse0 options
{vhost-server-path="/dev/vduse/vduse0"}
```

## Good

```console
$ ovs-vsctl get Interface vduse0 options
{vhost-max-queue-pairs="4", vhost-server-path="/dev/vduse/vduse0"}
```

## Fix

With the guest off, take the port out and add it again as it is, with `vhost-max-queue-pairs`: Open
vSwitch reads it only then. Make the vDPA device again, and give the guest's NIC as many queues.

## Fix safety

The guest has to be stopped while port and device are made.

## When it does not fire

* Before Open vSwitch 3.5, where it cannot be set.
* When no running guest with several vCPUs has the device.
* Skipped when the ports or the version could not be read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import host_needs
from vnicaudit.knowledge.ovs_ports import guests_of, number, vduse_name
from vnicaudit.model.host import Version
from vnicaudit.model.rule import Problem, Rule, VisitedHost

_KEY = "vhost-max-queue-pairs"
_SINCE = Version(3, 5)
_MOST = 8
"""Pairs of queues that a fix asks for at most: a guest that needs more is for its owner to say."""
_FIX = (
    "It is read only when the port is made: with the guest off, take the port out and add it again "
    f"as it is, with options:{_KEY}={{}}; then make its vDPA device again"
)
"""Only a new path is read with it (netdev_dpdk_vhost_client_set_config of lib/netdev-dpdk.c, Open
vSwitch 3.5.0 and 3.7.1)."""


def applies(subject: VisitedHost) -> bool:
    """A host with a VDUSE port, or one whose ports are unknown."""
    ports = subject.ovs.ports
    return host_needs.has_dpdk(subject) if ports is None else any(map(vduse_name, ports))


def check(subject: VisitedHost) -> Iterator[Problem]:
    """One problem for each port."""
    ovs = subject.ovs
    if ovs.version is None or ovs.version < _SINCE:
        return
    for port in ovs.ports or ():
        if not vduse_name(port) or (number(port.options.get(_KEY)) or 1) > 1:
            continue
        for guest in guests_of(port, subject):
            if (guest.vcpus or 1) > 1:
                yield Problem(
                    f"VDUSE port {port.name} has one pair of queues, and {guest.name} has "
                    f"{guest.vcpus} vCPUs",
                    field=port.name,
                    fix=_FIX.format(min(guest.vcpus or 1, _MOST)),
                )


_VERSION = host_needs.host_fact(
    lambda facts: facts.ovs.version is not None,
    "the version of Open vSwitch (ovs-appctl version)",
)

RULE = Rule(
    name="vduse-one-queue-pair",
    severity="info",
    groups=("host", "ovs", "queues"),
    judges=(
        host_needs.visited_host(check, needs=(host_needs.OVS_PORTS, _VERSION), applies=applies),
    ),
)
