"""Nova is configured to write no NIC model (use_virtio_for_bridges is false).

## What is wrong

`[libvirt] use_virtio_for_bridges` is false on a compute node. If neither the image (`hw_vif_model`)
nor libosinfo (`os_distro`) names a model, Nova then writes no `<model>`, and libvirt fills in its
default. On x86 that is rtl8139, for `pc` and `q35` alike.

## Why it matters

A Swiss cloud found its guests on rtl8139 for this reason. One TCP stream went from 132 Mb/s to 7.81
Gb/s when the option was turned on and the guests were moved to virtio (A. Scicchitano, SWITCH).

## Bad

```ini
[libvirt]
use_virtio_for_bridges = false
```

## Good

```ini
[libvirt]
use_virtio_for_bridges = true
```

True is the default: the line can also be removed.

## Fix

First find the affected servers. Servers that were created while the option was false follow
nova.conf for good: Nova keeps no model for them (it writes NULL when it chose none, and skips that
at each start). Each becomes virtio at its next hard reboot, stop and start, or cold migration,
without anybody asking for it. `vnicaudit audit openstack:CLOUD nodes/ --select VNIC084` lists them,
both before and after the option is turned on.

For each server whose guest has no virtio driver: stop it, run `nova-manage image_property set UUID
--property hw_vif_model=rtl8139`, and start it. Then set the option to true and restart
nova-compute.

If a server's image named a model when the server was created, the server keeps that model, whatever
the option says.

## Fix safety

Unsafe until servers and images have been checked: guests without a virtio driver (Windows without
NetKVM) lose their network. Existing servers lose it at their next hard reboot. Give those servers,
and the images of such systems, their own `hw_vif_model` first.

## When it does not fire

* When `compute_driver` names another driver than libvirt, or `virt_type` is neither kvm nor qemu:
  Nova does not read the option, or has another default.
* When a file that Nova reads later (`nova-compute.conf`, `nova.conf.d/`) sets it to true.
* Skipped in a template if the line depends on a condition or its value is filled in.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change
from vnicaudit.model.nova import NovaConfig, as_bool
from vnicaudit.model.rule import Judge, Problem, Rule


def applies(nova: NovaConfig) -> bool:
    """The option is set here, and may be false for guests of QEMU."""
    option = nova.setting("libvirt", "use_virtio_for_bridges")
    if option is None or nova.libvirt is False or not _may_be_qemu(nova):
        return False
    return not option.certain or as_bool(option.value) is False


def check(nova: NovaConfig) -> Iterator[Problem]:
    """One problem; called only if the option is certain, so it is false."""
    option = nova.setting("libvirt", "use_virtio_for_bridges")
    value = "" if option is None else option.value
    yield Problem(
        f"use_virtio_for_bridges = {value}: if the image names no model, Nova writes none, and "
        "libvirt's default on x86 is rtl8139",
        field="libvirt/use_virtio_for_bridges",
        change=Change(
            "use_virtio_for_bridges",
            value,
            "true",
            safe=False,
            reason="guests without a virtio driver lose their network: new ones at once, and those "
            "created while it was off at their next hard reboot",
        ),
        fix="1. Find the servers that were created while it was off (audit their cloud as well: "
        "VNIC084): their next hard reboot makes them virtio. 2. Protect those without a driver: "
        "stop the server, nova-manage image_property set UUID --property hw_vif_model=rtl8139, "
        "start it. 3. Set [libvirt] use_virtio_for_bridges = true (the default) and restart "
        "nova-compute.",
        related=() if option is None else nova.overridden(option),
    )


def _may_be_qemu(nova: NovaConfig) -> bool:
    kind = nova.winner("libvirt", "virt_type")
    return kind is None or not kind.certain or kind.value in ("kvm", "qemu")


RULE = Rule(
    name="nova-virtio-off",
    severity="high",
    groups=("nova", "models"),
    judges=(
        Judge(
            "config",
            needs=(
                facts.NOVA_DRIVER,
                facts.NOVA_VIRT_TYPE,
                facts.NOVA_USE_VIRTIO_FOR_BRIDGES,
            ),
            applies=applies,
            check=check,
        ),
    ),
)
