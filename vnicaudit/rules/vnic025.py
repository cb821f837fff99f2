"""The vhost device named in the definition does not exist.

## What is wrong

``<backend vhost=>`` names another device than ``/dev/vhost-net``, and this host has no such file.

## Why it matters

libvirt opens that path for every queue pair. With ``<driver name='vhost'/>`` the guest does not
start: ``vhost-net was requested for an interface, but is unavailable``. Otherwise libvirt logs one
warning and starts the guest, and QEMU copies every packet (libvirt 11.3,
``qemuInterfaceOpenVhostNet``).

## Bad

`/dev/vhost-net-a` does not exist on the host:

```xml host.vhost_paths=[[/dev/vhost-net-a,false]]
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <backend vhost='/dev/vhost-net-a'/>
</interface>
```

## Good

It exists:

```xml host.vhost_paths=[[/dev/vhost-net-a,true]]
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
  <backend vhost='/dev/vhost-net-a'/>
</interface>
```

## Fix

Create the device, or remove the attribute: libvirt then uses ``/dev/vhost-net``.

## Fix safety

Unsafe: it is not known why another device was named.

## When it does not fire

* In domains of type ``qemu``, on NICs that are not virtio on a tap, and with ``<driver
  name='qemu'/>``: the attribute is not used.
* On ``/dev/vhost-net`` itself (VNIC023, VNIC024).
* When QEMU shows that the NIC has vhost.
* Skipped when the host's devices were not read.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import DEVICE, may_have_vhost, vhost_device
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A virtio NIC on a tap with a vhost device of its own that is not known to work."""
    nic = subject.nic
    if not subject.tuned or nic.driver_name == "qemu":
        return False
    if subject.running is not None and subject.running.vhost:
        return False
    return vhost_device(nic) != DEVICE and may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC whose device is missing; its severity depends on name='vhost'."""
    path = subject.nic.backend_vhost
    if dict(subject.host.vhost_paths).get(path or "") is False:
        demanded = subject.nic.driver_name == "vhost"
        effect = "the guest does not start here" if demanded else "QEMU copies every packet itself"
        yield Problem(
            f"{path} does not exist on this host: {effect}",
            field="backend_vhost",
            severity=None if demanded else "medium",
            change=Change(
                "backend_vhost", path, None, safe=False,
                reason="another device than /dev/vhost-net may have been named for a reason",
            ),
        )  # fmt: skip


RULE = Rule(
    name="vhost-device-missing",
    severity="error",
    groups=("vhost", "host", "refused"),
    judges=(
        Judge(
            "nic", needs=(facts.ACTUAL_TYPE, facts.HOST_BACKEND_VHOST), applies=applies, check=check
        ),
    ),
)
