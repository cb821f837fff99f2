"""Running virtio NIC without vhost.

## What is wrong

The guest runs under KVM, its NIC is virtio on a tap, and yet the packets do not go through the
kernel's vhost-net: QEMU's command line has no ``vhost=on``, and the process holds no
``/dev/vhost-net``. libvirt says so nowhere: when the device cannot be opened it logs one warning
and starts the guest without it.

## Why it matters

Every packet is copied by QEMU itself instead of a kernel thread. IBM's driver reference warns that
this "can result in poor performance"; the virtio figure that made the case for virtio, 7.81 Gb/s
against 132 Mb/s of rtl8139 (A. Scicchitano, SWITCH), was measured with vhost on. The domain XML
never proves that vhost is in use, not even with ``<driver name='vhost'/>``; only QEMU's command
line and its open descriptors do (measured with libvirt 9.0 and 11.3).

## Bad

```xml running.driver=virtio-net-pci running.model=virtio running.backend=tap running.vhost=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

```xml running.driver=virtio-net-pci running.model=virtio running.backend=tap running.vhost=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Make ``/dev/vhost-net`` usable on the hypervisor (``modprobe vhost_net``, and a file in
``/etc/modules-load.d``), then power the guest off and on where it is managed. vhost is set up only
when QEMU starts; a reboot inside the guest changes nothing.

## Fix safety

Loading the module touches no running guest. The guest is down while it is powered off and on.

## When it does not fire

* NICs that never have vhost-net: ``user``, ``vhostuser``, ``vdpa``, ``hostdev``, emulated models.
* Domains of type ``qemu``, KubeVirt's emulation among them: there is no vhost without KVM.
* ``<driver name='qemu'/>``: VNIC021 speaks instead.
* A guest that is shut off. Without QEMU's command line, log or ``/proc`` the rule is skipped.
* A NIC whose link is down is reported as *low*: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.vhost import may_have_vhost
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject

_FIX = (
    "Make /dev/vhost-net usable on the hypervisor (modprobe vhost_net, and a file in "
    "/etc/modules-load.d), then power the guest off and on where it is managed."
)
_BARE = " A QEMU started without libvirt also needs vhost=on in its -netdev tap."


def applies(subject: Subject) -> bool:
    """A virtio NIC on a tap of a KVM guest that is not known to be shut off."""
    if subject.state is not None and subject.state.active is False:
        return False
    if subject.tuned and subject.nic.driver_name == "qemu":
        return False
    running = subject.running
    if running is not None and (running.vhost or running.backend not in (None, "tap")):
        return False
    return may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem where what runs shows that vhost is off."""
    running = subject.running
    if running is not None and running.vhost is False:
        yield Problem(
            f"vhost-net is not in use (seen in QEMU's {running.evidence}): "
            "QEMU copies every packet itself",
            field="driver_name",
            severity="low" if subject.nic.link_state == "down" else None,
            fix=_FIX + (_BARE if subject.nic.origin == "qemu" else ""),
        )


RULE = Rule(
    name="vhost-inactive",
    severity="high",
    groups=("vhost",),
    judges=(
        NicJudge(
            needs=(facts.MODEL, facts.RUNNING_VHOST, facts.ACCELERATOR),
            applies=applies,
            check=check,
        ),
    ),
)
