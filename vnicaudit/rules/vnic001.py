"""Legacy emulated NIC (rtl8139, ne2k, pcnet or similar).

## What is wrong

QEMU emulates a 10/100 Mb/s network chip from the 1990s. Its tap device has no vnet header, so
neither checksums nor segmentation are offloaded. QEMU copies every frame on its own, and each frame
costs the guest at least one VM exit.

## Why it matters

A Swiss cloud measured 132 Mb/s on rtl8139 and 7.81 Gb/s on virtio with vhost (iperf, one TCP
stream, 10 s). With 2 vCPUs each, its DNS servers answered 18,000 queries per second on emulation
and 45,800 on virtio; on emulation, adding the second vCPU made them slower than one alone (21,000).
Source: A. Scicchitano, SWITCH, "Improving network performance within the cloud".

## Bad

```xml
<interface type='bridge'>
  <source bridge='br0'/>
  <model type='rtl8139'/>
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

Change the model to virtio. Keep the MAC address and, on PCI machines, the PCI address. The guest
needs the driver: Linux has had it since 2.6.25; Windows needs NetKVM from virtio-win.

## Fix safety

Safe when the guest is known to support virtio: it has another virtio NIC, its operating system is
known to include the driver, or it has a virtio disk and is known not to be Windows.

A virtio disk alone is not enough, because a Windows guest can have one without NetKVM: the severity
stays the same, but the change is unsafe. The change is also unsafe on Windows until NetKVM is
installed, and when nothing is known about the guest.

A guest whose driver supports only virtio 0.9 needs a conventional PCI slot or
`virtio-transitional`. If its current address is on a PCI Express port, the change is unsafe.

RHEL and CentOS 7 name virtio NICs `ethN`, so the interface may be renamed even if the address stays
the same.

`<mtu>` wakes up: only virtio tells the guest its MTU (QEMU's `host_mtu`). A guest that ran at 1500
beside `<mtu size='8901'/>` uses 8901 from then on and loses peers whose path is smaller. Above 1500
the change is unsafe, except in Nova, whose MTU is the network's own.

A boot ROM made for the old model goes with it: with e1000's ROM, virtio does not boot from the
network. `--fix` and `vnicaudit plan` remove it; the change is unsafe.

## When it does not fire

* Reported as *low* when nothing shows that the guest has a virtio driver, or when it is known to
  have none: review it, do not convert it blindly.
* Reported as *low* when the NIC's link is down: it carries no traffic.
* On s390x, where these models do not exist: see VNIC008.
* When no model is declared and libvirt's default applies: see VNIC006. OpenStack servers are still
  reported here: they get the default because of nova.conf on their compute node (VNIC060).
* On assigned devices (SR-IOV, `<hostdev>`) and on machines without PCI (isapc).
* When the guest cannot start with the model (ne2k_isa on PCI): see VNIC007.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.models import LEGACY, misplaced
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import S390
from vnicaudit.model.rule import Judge, Problem, Rule, Subject


def applies(subject: Subject) -> bool:
    """A legacy model that is declared or runs; also any NIC of unknown model, so that this rule
    alone is reported as skipped, and not VNIC002 to VNIC005 too."""
    if subject.nic.type == "hostdev" or subject.arch in S390 or subject.domain.machine == "isapc":
        return False
    if subject.effective.model.state == "unknown":
        return True
    if not subject.proven and misplaced(subject.nic, subject.domain, subject.host):
        return False
    declared = subject.nic.model is not None or subject.running is not None
    return (declared or subject.domain.is_server) and subject.model in LEGACY


def check(subject: Subject) -> Iterator[Problem]:
    """One problem, whose severity depends on whether the guest supports virtio."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem(f"{subject.model} is emulated packet by packet: no offload, no vhost")


RULE = Rule(
    name="legacy-emulated-nic",
    severity="high",
    groups=("models",),
    forms=("definition", "server"),
    judges=(Judge("nic", needs=(facts.MODEL, facts.SERVER_MODEL), applies=applies, check=check),),
)
