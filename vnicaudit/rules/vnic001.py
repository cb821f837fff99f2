"""Legacy emulated NIC (rtl8139, ne2k, pcnet and their like).

## What is wrong

The NIC is one of the 10/100 Mb/s chips of the 1990s, emulated by QEMU. Its tap device has no
vnet header, so neither checksums nor segmentation are offloaded: QEMU copies every frame, one by
one, and each costs the guest an exit or several.

## Why it matters

A Swiss cloud measured 132 Mb/s on rtl8139 and 7.81 Gb/s on virtio with vhost (iperf, one TCP
stream, 10 s). Its DNS servers answered 18,000 queries per second on emulation and 45,800 on
virtio, with 2 vCPUs each; on emulation the second vCPU made them slower than one (21,000).
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

Change the model to virtio; keep the MAC address and, on PCI machines, the address. The guest must
have the driver: Linux has it since 2.6.25, Windows needs NetKVM from virtio-win.

## Fix safety

Safe where the guest is known to drive virtio: another virtio NIC, or an operating system that is
known to have the driver or is not Windows and has a virtio disk. A virtio disk alone does not show
that the guest is not Windows without NetKVM: the severity stays, and the change is unsafe. A guest
whose driver knows virtio 0.9 only gets a conventional PCI slot or `virtio-transitional`; where its
present address is a PCI Express port the change is unsafe. Unsafe as well: Windows until NetKVM is
installed, and every guest of which nothing is known. RHEL and CentOS 7 name virtio NICs `ethN`, so
the interface may change its name even at the same address.

## When it does not fire

* Where nothing says that the guest has a virtio driver, or the guest is known to have none, the
  finding is *low*: review it, do not convert blindly.
* A NIC whose link is down is reported as *low*: it carries no traffic.
* On s390x VNIC008 speaks instead: these models do not exist there.
* Where no model is declared and libvirt's default is meant, VNIC006 speaks instead; but not of a
  server of OpenStack, which gets it where nova.conf of its compute node says so (VNIC060).
* On assigned devices (SR-IOV, `<hostdev>`) and on machines without PCI (isapc).
* Where it cannot be started (ne2k_isa on PCI): VNIC007.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.binaries import misplaced
from vnicaudit.knowledge.models import LEGACY
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.guest_words import S390
from vnicaudit.model.rule import NicJudge, Problem, Rule
from vnicaudit.model.subject import Subject


def applies(subject: Subject) -> bool:
    """A legacy model that is declared or runs. A NIC whose model cannot be told may have one:
    this rule is the one that says so, for its neighbours VNIC002 to VNIC005 too."""
    if subject.nic.type == "hostdev" or subject.arch in S390 or subject.domain.machine == "isapc":
        return False
    if subject.effective.model.state == "unknown":
        return True
    if not subject.proven and misplaced(subject.nic, subject.domain, subject.host):
        return False
    declared = subject.nic.model is not None or subject.running is not None
    return (declared or subject.domain.is_server) and subject.model in LEGACY


def check(subject: Subject) -> Iterator[Problem]:
    """One problem; how severe it is depends on whether the guest can do better."""
    found = to_virtio(subject, RULE.severity)
    yield found.problem(f"{subject.model} is emulated packet by packet: no offload, no vhost")


RULE = Rule(
    name="legacy-emulated-nic",
    severity="high",
    groups=("models",),
    forms=("definition", "server"),
    judges=(NicJudge(needs=(facts.MODEL, facts.SERVER_MODEL), applies=applies, check=check),),
)
