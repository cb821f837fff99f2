"""os_distro gives an image an emulated NIC.

## What is wrong

The image has no `hw_vif_model`, and its `os_distro` is the id of a system in libosinfo's database.
Where libosinfo's Python binding is installed on a compute node, Nova then takes the first NIC that
libosinfo lists for that system. For this one it is an emulated card, although virtio is in the
list as well; and it beats `use_virtio_for_bridges`.

## Why it matters

The property looks like a mere label, and the result depends on a package of the compute node. Of
the systems in osinfo-db 20250619 that can drive virtio, 387 get an emulated NIC that way, 121 get
virtio (Nova's `nova/virt/osinfo.py` run against it): ubuntu22.04, ubuntu24.04, debian12, rhel9.4
get e1000e, freebsd14.0 gets ne2k_pci.

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

Set `hw_vif_model=virtio` on the image: it always wins. Or set `os_distro` to a word that is no id
of libosinfo's (`ubuntu`), which is what Glance's documentation asks for. Both are for new servers:
Nova keeps the model of existing ones.

## Fix safety

Safe: libosinfo lists virtio for the system, and only new servers are concerned.

## When it does not fire

* When the image has `hw_vif_model`, whatever it is.
* When `os_distro` is no id of libosinfo's: `ubuntu`, `windows`, `centos`.
* On Windows, for which libosinfo lists no virtio.
* Where the image is for another hypervisor (see VNIC062).
* Where not all properties of the image are seen (a command that only sets some, a list that is
  filled in), or a variable decides `os_distro`: skipped.

An image of a live cloud that no server was made of, among those this user sees, is *medium*. Of a
live cloud, too, the table of osinfo-db is ours, not the compute nodes': the audit notes which.

Confidence is medium: whether compute nodes have libosinfo's binding is not seen here.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.rule import ImageJudge, Problem, Rule
from vnicaudit.model.subject import ImageSubject

_FIX = Advice(
    (
        SetProperty("hw_vif_model", "virtio", "image"),
        ": it wins over libosinfo and nova.conf. This is for new servers.",
    )
)


def applies(subject: ImageSubject) -> bool:
    """Nothing names a model, and os_distro may be the id of a system with an emulated one."""
    image = subject.image
    system = image.property("os_distro")
    if system is None or image.property("hw_vif_model") is not None or image.qemu is False:
        return False
    return not system.certain or (image.libosinfo_model is not None and not image.windows)


def check(subject: ImageSubject) -> Iterator[Problem]:
    """One problem: asked only when everything is known."""
    image = subject.image
    yield Problem(
        f"os_distro = {image.certain_value('os_distro')} and no hw_vif_model: where a "
        f"compute node has libosinfo, Nova takes the first NIC it lists for this system, "
        f"{image.libosinfo_model}{image.use}",
        field="os_distro",
        severity="medium" if image.servers == 0 else None,
        confidence="medium",
        change=Change(
            "hw_vif_model",
            None,
            "virtio",
            safe=True,
            reason="libosinfo lists virtio for this system; only new servers are concerned",
        ),
        fix=_FIX,
    )


RULE = Rule(
    name="image-os-distro",
    severity="high",
    groups=("images", "models"),
    judges=(
        ImageJudge(
            needs=(facts.IMAGE_OS_DISTRO, facts.IMAGE_PROPERTIES), applies=applies, check=check
        ),
    ),
)
