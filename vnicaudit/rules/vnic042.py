"""QEMU is the client of an Open vSwitch vhost-user port.

## What is wrong

``mode='client'`` on an Open vSwitch socket means a port of type ``dpdkvhostuser``: Open vSwitch
owns the socket, and QEMU connects to it only once.

## Why it matters

When Open vSwitch restarts, for an upgrade or after a crash, the sockets are gone, and every such
guest has no network until it is restarted. Open vSwitch has deprecated this port type in favour of
``dpdkvhostuserclient``: there QEMU owns the socket, and Open vSwitch reconnects.

## Bad

```xml
<interface type='vhostuser'>
  <source type='unix' path='/var/run/openvswitch/vhu0a1b2c3d-4e' mode='client'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml
<interface type='vhostuser'>
  <source type='unix' path='/var/run/openvswitch/vhu0a1b2c3d-4e' mode='server'/>
  <model type='virtio'/>
</interface>
```

## Fix

Use a ``dpdkvhostuserclient`` port, and ``mode='server'`` in the definition. Neutron chooses both by
itself if its Open vSwitch offers that port type.

## Fix safety

Not automatic: port and guest must change together, with the guest powered off. In server mode QEMU
waits at start until Open vSwitch connects.

## When it does not fire

* On passt and other backends. Only sockets in Open vSwitch's run directory count, or those with a
  name from Neutron (``vhu`` and 11 characters of the port's UUID).
* With ``<reconnect enabled='yes'/>`` (libvirt 4.1), or ``reconnect=`` in QEMU's ``-chardev``: QEMU
  reconnects by itself.
* On a QEMU command line whose ``-chardev`` names no path.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.fix import OwnerAdvice
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A vhost-user NIC that connects, without reconnecting, to a socket that looks like Open
    vSwitch's."""
    nic = subject.nic
    if nic.type != "vhostuser" or nic.backend_type == "passt" or nic.reconnect == "yes":
        return False
    return nic.source_mode == "client" and nic.ovs_socket


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC."""
    where = "mode='client' on" if subject.nic.origin == "interface" else "QEMU is the client of"
    yield Problem(
        f"{where} Open vSwitch's socket (dpdkvhostuser): when Open vSwitch restarts, the guest has "
        "no network until it is restarted",
        field="source_mode",
        confidence="medium",
        fix=OwnerAdvice("serve-vhostuser"),
    )


RULE = Rule(
    name="ovs-vhostuser-client",
    severity="medium",
    groups=("backends",),
    judges=(Judge("nic", applies=applies, check=check),),
)
