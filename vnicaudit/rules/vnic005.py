"""Another emulated NIC (usb-net, spapr-vlan, sunhme), or a misspelt virtio model.

## What is wrong

The NIC has neither vhost nor a vnet header. Either QEMU emulates a device on another bus (`usb-net`
on USB, `spapr-vlan` on POWER), or the model is QEMU's own name for virtio, such as
`virtio-net-pci`. libvirt passes that name on, but treats only `virtio`, `virtio-transitional` and
`virtio-non-transitional` as virtio. For any other name it opens no vhost, sets no vnet header and
ignores `<driver>`.

## Why it matters

Without a vnet header every frame up to the MTU is handled one by one. Virtio with vhost hands the
kernel segments of up to 64 KiB. VNIC001 shows the order of magnitude (132 Mb/s and 7.81 Gb/s).
These models were not part of that measurement, so the severity is *medium*.

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='usb-net'/>
</interface>
```

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio-net-pci'/>
</interface>
```

## Good

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='virtio'/>
</interface>
```

## Fix

Change the model to virtio and keep the MAC address. A NIC on another bus gets a new address.

## Fix safety

As for VNIC001: safe when the guest is known to support virtio.

A boot ROM and `<mtu>` are treated as in VNIC001: virtio tells the guest its MTU.

## When it does not fire

* On ARM boards with an on-board NIC (any machine type except `virt`): they have no bus for virtio.
* On lan9118, smc91c111 and other board components. On machines where they cannot exist: see
  VNIC007.
* Reported as *low* when nothing shows that the guest has a virtio driver, when it is known to have
  none, or when the link is down.
* On s390x: see VNIC008.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.models import misplaced, model_of_driver
from vnicaudit.knowledge.systems import is_board
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390, VIRTIO
from vnicaudit.model.rule import Judge, Problem, Rule, Subject

_OTHER_BUS = frozenset({"usb-net", "spapr-vlan", "sunhme"})


def applies(subject: Subject) -> bool:
    """A NIC of another bus, or virtio under QEMU's name, on a machine that can have virtio."""
    if subject.arch in S390 or is_board(subject.domain):
        return False
    if not subject.proven and misplaced(subject.nic, subject.domain, subject.host):
        return False
    return subject.model in _OTHER_BUS or _virtio_by_qemu_name(subject)


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, whose severity depends on whether the guest supports virtio."""
    found = to_virtio(subject, RULE.severity)
    if _virtio_by_qemu_name(subject):
        name = subject.nic.model
        what = f"{name} is not virtio to libvirt: no offload, no vhost, no <driver> tuning"
    else:
        what = f"{subject.model} is emulated frame by frame: no offload, no vhost"
    yield found.problem(what)


def _virtio_by_qemu_name(subject: Subject) -> bool:
    """True for ``virtio-net-pci`` and the like in a definition, running or not."""
    name = subject.nic.model or ""
    if subject.nic.origin != "interface" or name in VIRTIO or subject.model not in VIRTIO:
        return False
    return model_of_driver(name) in VIRTIO and name != "virtio-net-ccw"


RULE = Rule(
    name="other-emulated-nic",
    severity="medium",
    groups=("models",),
    forms=("definition", "server"),
    judges=(Judge("nic", applies=applies, check=check),),
)
