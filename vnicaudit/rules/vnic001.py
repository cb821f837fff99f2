"""Legacy emulated NIC (rtl8139, ne2k, pcnet and their like).

## What is wrong

The NIC is one of the 10/100 Mb/s chips of the 1990s, emulated by QEMU. Its tap device has no
vnet header, so neither checksums nor segmentation are offloaded: every frame is copied by QEMU's
main loop, one by one, with an exit of the guest for each.

## Why it matters

A Swiss cloud measured 132 Mb/s on rtl8139 and 7.81 Gb/s on virtio with vhost, same VM, same wire
(one TCP stream, 10 s); its DNS servers went from 18,000 to 45,800 queries per second with 2 vCPUs
(A. Scicchitano, SWITCH). On emulation a second vCPU made them slower.

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
have the driver: every Linux since 2.6.25, FreeBSD since 9, Windows with NetKVM from virtio-win.

## Fix safety

Safe where the guest is known to be ready for virtio (another virtio NIC, or a virtio disk on a
guest that is not Windows). Otherwise unsafe: without a driver the guest loses its network.

## When it does not fire

* Where readiness is unknown, or the guest is known not to support virtio, the finding is *low*:
  review it, do not convert blindly.
* On s390x VNIC008 speaks instead: these models do not exist there.
* A NIC whose link is down is reported as *low*: it carries no traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Change, Severity
from vnicaudit.model.models import LEGACY
from vnicaudit.model.rule import Problem, Scope, Subject

NAME = "legacy-emulated-nic"
SEVERITY: Severity = "high"
SCOPE: Scope = "nic"
NEEDS: tuple[str, ...] = ("model",)


def applies(subject: Subject) -> bool:
    """A NIC with a legacy model, except where no such model exists; an unknown model may be."""
    if subject.domain.arch in ("s390x", "s390"):
        return False
    return subject.model in LEGACY or subject.effective.model.state == "unknown"


def check(subject: Subject) -> Iterator[Problem]:
    """One problem per NIC; how severe depends on whether the guest can do better."""
    yield Problem(
        f"{subject.model} is emulated packet by packet: no offload, no vhost",
        field="model",
        change=Change("model", subject.nic.model, "virtio", safe=False),
    )
