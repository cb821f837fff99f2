"""vhost is required on a host that does not have it.

## What is wrong

``<driver name='vhost'/>`` makes vhost-net mandatory, but this host has neither ``/dev/vhost-net``
nor the module that provides it.

## Why it matters

The guest does not start: ``vhost-net was requested for an interface, but is unavailable`` (measured
with libvirt 9.0 and 11.3). A guest that is running now stays down after its next stop.

## Bad

The host has no `/dev/vhost-net`:

```xml host.vhost_net=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
</interface>
```

## Good

The same definition, on a host with `/dev/vhost-net`:

```xml host.vhost_net=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
</interface>
```

## Fix

Add vhost-net to the host, as VNIC023 describes. Without the attribute the guest would start, with a
slower network.

## Fix safety

The only change for the guest is that it starts.

## When it does not fire

* In domains of type ``qemu``: the attribute has no effect there (VNIC022).
* When the module is installed but not loaded, or QEMU shows that the NIC has vhost.
* With another device in ``<backend vhost=>`` (VNIC025).
* Skipped when the host's devices were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import DEVICE, may_have_vhost, vhost_device
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A virtio NIC on a tap that requires vhost from /dev/vhost-net, and does not have it."""
    if not subject.tuned or subject.nic.driver_name != "vhost":
        return False
    if subject.running is not None and subject.running.vhost:
        return False
    return vhost_device(subject.nic) == DEVICE and may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC on a host without vhost-net."""
    if subject.host.vhost_net is False:
        yield Problem(
            "name='vhost' on a host without vhost-net: the guest does not start here",
            field="driver_name",
            fix="Add vhost-net to the host: a kernel with CONFIG_VHOST_NET and its modules. "
            "Without name='vhost' the guest starts, and QEMU copies every packet.",
        )


RULE = Rule(
    name="vhost-demanded-but-missing",
    severity="error",
    groups=("vhost", "host", "refused"),
    judges=(
        Judge("nic", needs=(facts.ACTUAL_TYPE, facts.HOST_VHOST_NET), applies=applies, check=check),
    ),
)
