"""Running virtio NIC without vhost.

## What is wrong

The guest runs under KVM and its NIC is virtio on a tap, but the packets do not go through the
kernel's vhost-net: QEMU's command line has no ``vhost=on``, and the QEMU process does not hold
``/dev/vhost-net`` open. This is easy to miss: if libvirt cannot open the device, it logs one
warning and starts the guest without it.

A NIC on one of QEMU's hubs (``-net nic -net tap``, ``-netdev hubport``) has no vhost either, even
with ``vhost=on`` at the tap, and is offered no checksum or segmentation offload (measured with QEMU
7.2, ``x-query-virtio-status``).

## Why it matters

QEMU copies every packet itself; with vhost a kernel thread does. IBM's driver reference warns that
this "can result in poor performance". The best-known figures in favour of virtio, 7.81 Gb/s against
132 Mb/s on rtl8139 (A. Scicchitano, SWITCH), were measured with vhost on. The domain XML never
proves that vhost is in use, not even with ``<driver name='vhost'/>``. Only QEMU's command line and
its open descriptors do (measured with libvirt 9.0 and 11.3).

## Bad

QEMU runs this NIC without vhost:

```xml running.driver=virtio-net-pci running.model=virtio running.backend=tap running.vhost=false
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Good

The same definition, but QEMU runs it with vhost:

```xml running.driver=virtio-net-pci running.model=virtio running.backend=tap running.vhost=true
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Make ``/dev/vhost-net`` usable on the hypervisor: run ``modprobe vhost_net`` and add a file to
``/etc/modules-load.d``. Then power the guest off and on through its owner. vhost is set up only
when QEMU starts; a reboot inside the guest changes nothing. libvirt's command line or log shows no
reason: if the definition has ``<driver name='qemu'/>``, remove that instead (VNIC021).

A QEMU started without libvirt uses vhost only with ``vhost=on`` in its ``-netdev tap``. Replace a
hub by ``-netdev tap,id=n,vhost=on`` and ``-device virtio-net-pci,netdev=n``.

In a pod of KubeVirt, switch ``useEmulation`` off in the KubeVirt resource: only then does the pod
ask its node for ``/dev/vhost-net``. A VM that started without a virtio NIC, and was given one while
it ran, has to be restarted, too: its launcher's pod did not ask.

## Fix safety

Loading the module does not affect running guests. The power cycle means downtime for the guest.

## When it does not fire

* On NICs that never use vhost-net: ``user``, ``vhostuser``, ``vdpa``, ``hostdev``, emulated models.
  A NIC on a hub (``-net nic -net tap``, ``-netdev hubport``) is reported, whatever ``vhost=`` says.
* In domains of type ``qemu``, including KubeVirt's emulation: there is no vhost without KVM.
* On ``<driver name='qemu'/>``: see VNIC021.
* On a VM of KubeVirt whose launcher's pod was not read, or has no KVM: see VNIC200 and VNIC213.
* When the guest is shut off. Skipped without QEMU's command line, log or ``/proc``.
* Reported as *low* when the NIC's link is down: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import may_have_vhost
from vnicaudit.model.finding import VIRTIO, name_of
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_FIX = (
    "Make /dev/vhost-net usable on the hypervisor (modprobe vhost_net, and a file in "
    "/etc/modules-load.d), then power the guest off and on through its owner."
)
_FIX_IN_POD = (
    "KubeVirt gives a pod /dev/vhost-net unless useEmulation is on in the KubeVirt resource "
    "(spec.configuration.developerConfiguration): switch it off, see that the node offers "
    "devices.kubevirt.io/vhost-net, then run virtctl restart."
)
"""Source: KubeVirt ``pkg/virt-controller/services/renderresources.go``."""
_IN_POD = "its launcher's pod did not ask for /dev/vhost-net"
_FIX_OF_LAUNCHER = (
    "The pod asks its node for /dev/vhost-net when a VM starts with a virtio NIC: run virtctl "
    "restart at a convenient time."
)
_HUB = "hubport"
"""QEMU's word for a backend on a hub."""
_WITHOUT_HUB = (
    "Replace -net (or -netdev hubport) by -netdev tap,id=n,vhost=on and -device "
    "virtio-net-pci,netdev=n on QEMU's command line, then restart it."
)
_FIX_BY_HAND = (
    "Set vhost=on in its -netdev tap (instead of vhost=off, or where vhost= is missing); QEMU "
    "then needs a usable /dev/vhost-net (modprobe vhost_net, and a file in /etc/modules-load.d). "
    "Then restart it."
)
_FIX_UNSEEN = f"{_FIX} If its definition has <driver name='qemu'/>, remove name= there instead."
"""Where only libvirt's command line is known, which shows no reason."""
_FIX_IN_GANETI = (
    "Set -H vhost_net=True with gnt-instance modify, then stop the instance there and start it; "
    "the node needs a usable /dev/vhost-net."
)
_FIXES = {"qemu": _FIX_BY_HAND, "kubevirt": _FIX_IN_POD, "ganeti": _FIX_IN_GANETI}


def applies(subject: Subject) -> bool:
    """A virtio NIC on a tap of a KVM guest that is not known to be shut off."""
    if subject.state is not None and subject.state.active is False:
        return False
    if subject.tuned and subject.nic.driver_name == "qemu":
        return False
    running = subject.running
    if subject.domain.kind == "manifest" and (running is None or running.vhost is None):
        return False  # whether KubeVirt can use it at all: VNIC200, VNIC201
    if running is not None and running.backend == _HUB:
        return subject.model in VIRTIO and subject.domain.type != "qemu"
    if running is not None and (running.vhost or running.backend not in (None, "tap")):
        return False
    return may_have_vhost(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem if the running NIC shows that vhost is off."""
    running = subject.running
    if running is not None and running.backend == _HUB:
        yield Problem(
            "on a QEMU hub: no vhost, no checksum or segmentation offload, one queue",
            field="driver_name",
            fix=_WITHOUT_HUB,
        )
    elif running is not None and running.vhost is False:
        seen = _IN_POD if running.evidence == "instance" else f"seen in QEMU's {running.evidence}"
        yield Problem(
            f"vhost-net is not in use ({seen}): QEMU copies every packet itself",
            field="driver_name",
            severity="low" if subject.nic.link_state == "down" else None,
            fix=_fix(subject),
        )


def _fix(subject: Subject) -> str:
    if subject.running is not None and subject.running.evidence == "instance":
        return _FIX_OF_LAUNCHER
    unseen = _FIX_UNSEEN if subject.domain.is_command_line else _FIX
    return _FIXES.get(name_of(subject.domain.owner), unseen)


RULE = Rule(
    name="vhost-inactive",
    severity="high",
    groups=("vhost",),
    forms=("definition", "manifest"),
    judges=(
        Judge(
            "nic",
            needs=(facts.MODEL, facts.RUNNING_VHOST, facts.ACCELERATOR),
            applies=applies,
            check=check,
        ),
    ),
)
