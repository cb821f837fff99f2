"""Packed ring on a NIC model that has none (hw_virtio_packed_ring).

## What is wrong

The packed ring is asked for together with an emulated `hw_vif_model`. Since Caracal (29.0) Nova
writes `packed='on'` whatever the model is, and libvirt refuses it on anything but virtio: the
server does not start.

## Why it matters

The property is meant for all images and put on one that is not virtio, or on a flavor that such
an image is booted with. Source: Nova, `virt/libvirt/vif.py`, `get_base_config`: the setting is
passed on before the model is looked at; and VNIC011 for what libvirt says.

## Bad

```console
$ openstack image set --property hw_vif_model=e1000 --property hw_virtio_packed_ring=true old
```

## Good

```console
$ openstack image set --property hw_vif_model=virtio --property hw_virtio_packed_ring=true old
```

## Fix

Set `hw_vif_model=virtio`, or remove the packed ring.

## Fix safety

No change is proposed: which of the two is meant is not known.

## When it does not fire

* When the image names no `hw_vif_model`: its servers get virtio, unless VNIC063 speaks.
* When a flavor has it, and no server in the same file boots such an image with it.
* Where the image is for another hypervisor (see VNIC062).
* Where a variable or a template decides a value: skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Severity
from vnicaudit.model.openstack import Image, as_flag
from vnicaudit.model.rule import FlavorSubject, ImageSubject, Problem, Scope

NAME = "packed-ring-not-virtio"
SEVERITY: Severity = "error"
SCOPE: Scope = "image"
NEEDS: tuple[str, ...] = ("image.hw_vif_model", "image.hw_virtio_packed_ring")
FLAVOR_NEEDS: tuple[str, ...] = ("flavor.hw:virtio_packed_ring",)

_FIX = "Set hw_vif_model=virtio on the image, or remove the packed ring."


def applies(subject: ImageSubject) -> bool:
    """Both are set, and may clash."""
    image = subject.image
    model, packed = image.property("hw_vif_model"), image.property("hw_virtio_packed_ring")
    if model is None or packed is None or image.qemu is False:
        return False
    return not (packed.certain and not as_flag(packed.value)) and image.vif_model != "virtio"


def check(subject: ImageSubject) -> Iterator[Problem]:
    """One problem."""
    yield Problem(
        f"hw_virtio_packed_ring on a NIC that is not virtio ({subject.image.vif_model}): Nova "
        "passes it on, and libvirt refuses to define the server",
        field="hw_virtio_packed_ring",
        fix=_FIX,
    )


def applies_flavor(subject: FlavorSubject) -> bool:
    """It may be on, and an image that is not virtio is booted with the flavor."""
    packed = subject.flavor.property("hw:virtio_packed_ring")
    if packed is None or (packed.certain and not as_flag(packed.value)):
        return False
    return any(map(_clashes, subject.flavor.images))


def check_flavor(subject: FlavorSubject) -> Iterator[Problem]:
    """One problem for each such image."""
    for image in filter(_clashes, subject.flavor.images):
        model = image.property("hw_vif_model")
        yield Problem(
            f"hw:virtio_packed_ring with the image {image.name}, whose NIC is not virtio "
            f"({image.vif_model}): Nova passes it on, and libvirt refuses to define the server",
            field="hw:virtio_packed_ring",
            fix=_FIX,
            related=() if model is None else (model.location,),
        )


def _clashes(image: Image) -> bool:
    return image.qemu is not False and image.vif_model not in (None, "virtio")
