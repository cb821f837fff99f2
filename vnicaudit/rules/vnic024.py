"""vhost demanded on a host that has none.

## What is wrong

``<driver name='vhost'/>`` makes vhost-net a condition, and this host has neither
``/dev/vhost-net`` nor a module that would provide it.

## Why it matters

The guest does not start: ``vhost-net was requested for an interface, but is unavailable``
(measured with libvirt 9.0 and 11.3). A guest that runs now stays down after its next stop.

## Bad

```xml host.vhost_net=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
</interface>
```

## Good

```xml host.vhost_net=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <driver name='vhost'/>
</interface>
```

## Fix

Give the host vhost-net (VNIC023 says how). Without the attribute the guest would start, slower.

## Fix safety

Nothing changes for the guest but that it starts.

## When it does not fire

* Domains of type ``qemu``: there the attribute has no effect (VNIC022).
* A module that is merely not loaded; a NIC whose QEMU shows that it has vhost.
* With another device in ``<backend vhost=>`` (VNIC025).
* Where the host's devices were not looked at, the rule is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.vhost import DEVICE, may_have_vhost, vhost_device
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """A virtio NIC on a tap that demands vhost from /dev/vhost-net, and does not have it."""
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
            fix="Give the host vhost-net: a kernel with CONFIG_VHOST_NET, with its modules "
            "installed. Without name='vhost' the guest starts, and QEMU copies every packet.",
        )


RULE = Rule(
    name="vhost-demanded-but-missing",
    severity="error",
    groups=("vhost", "host", "refused"),
    judges=(
        NicJudge(needs=(facts.ACTUAL_TYPE, facts.HOST_VHOST_NET), applies=applies, check=check),
    ),
)
