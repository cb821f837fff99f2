"""os_distro gives an image an emulated NIC.

## What is wrong

The image has no `hw_vif_model`, and its `os_distro` is the id of a system in libosinfo's database.
If libosinfo's Python binding is installed on a compute node, Nova takes the first NIC that
libosinfo lists for that system. For this system it is an emulated card, although the list also
contains virtio. This choice overrides `use_virtio_for_bridges`.

## Why it matters

The property looks like a mere label, and its effect depends on a package on the compute node. Of
the systems in osinfo-db 20250619 that support virtio, 387 get an emulated NIC in this way, and 121
get virtio (Nova's `nova/virt/osinfo.py` run against it): ubuntu22.04, ubuntu24.04, debian12 and
rhel9.4 get e1000e, freebsd14.0 gets ne2k_pci.

## Bad

```console
$ openstack image create --disk-format qcow2 --file jammy.img --property os_distro=ubuntu22.04 jammy
```

## Good

```console
$ openstack image create --disk-format qcow2 --file jammy.img --property os_distro=ubuntu22.04 \\
    --property hw_vif_model=virtio jammy
```

## Fix

Set `hw_vif_model=virtio` on the image: it always wins. Or set `os_distro` to a word that is not a
libosinfo id (`ubuntu`), as Glance's documentation recommends. Either affects only new servers: Nova
keeps the model of existing ones.

## Fix safety

Safe: libosinfo lists virtio for the system, and only new servers are affected.

## When it does not fire

* When the image has `hw_vif_model`, whatever its value.
* When `os_distro` is not a libosinfo id: `ubuntu`, `windows`, `centos`.
* On Windows, for which libosinfo lists no virtio.
* When the image is for another hypervisor (see VNIC062).
* Skipped when some properties of the image are not visible (a command that sets only a few, a list
  that is filled in), or a variable decides `os_distro`.
* Reported as *medium* in a live cloud when no server visible to this user was created from the
  image.

Confidence is medium: it is not visible whether the compute nodes have libosinfo's binding. A live
cloud is judged by vnicaudit's own table of osinfo-db, not by the one on the compute nodes; the
audit notes its version.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import Image
from vnicaudit.model.rule import Judge, Problem, Rule

_FIX = Advice(
    (
        SetProperty("hw_vif_model", "virtio", "image"),
        ": it overrides libosinfo and nova.conf. This affects only new servers.",
    )
)


def applies(image: Image) -> bool:
    """Nothing names a model, and os_distro may be the id of a system with an emulated one."""
    system = image.property("os_distro")
    if system is None or image.property("hw_vif_model") is not None or image.qemu is False:
        return False
    return not system.certain or (image.libosinfo_model is not None and not image.windows)


def check(image: Image) -> Iterator[Problem]:
    """One problem; called only if all facts are known."""
    yield Problem(
        f"os_distro = {image.certain_value('os_distro')} and no hw_vif_model: if a compute node "
        "has libosinfo, Nova takes the first NIC it lists for this system, "
        f"{image.libosinfo_model}{image.use}",
        field="os_distro",
        severity="medium" if image.servers == 0 else None,
        confidence="medium",
        change=Change(
            "hw_vif_model",
            None,
            "virtio",
            safe=True,
            reason="libosinfo lists virtio for this system; only new servers are affected",
        ),
        fix=_FIX,
    )


RULE = Rule(
    name="image-os-distro",
    severity="high",
    groups=("images", "models"),
    judges=(
        Judge(
            "image",
            needs=(facts.IMAGE_OS_DISTRO, facts.IMAGE_PROPERTIES),
            applies=applies,
            check=check,
        ),
    ),
)
