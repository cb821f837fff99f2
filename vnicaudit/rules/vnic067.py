"""Packed ring on a NIC model that does not support it (hw_virtio_packed_ring).

## What is wrong

The packed ring is requested together with an emulated `hw_vif_model`. Since Caracal (29.0) Nova
writes `packed='on'` whatever the model is, and libvirt refuses it on anything but virtio: the
server does not start. The same happens with a port of vnic_type `direct`, which is an assigned
device.

For a server in a live cloud, the two settings come from its flavor or from the properties that Nova
keeps for it.

## Why it matters

Typically the property was meant for all images and also set on one that is not virtio, or on a
flavor that such an image is booted with. Nova passes the setting on before it looks at the model or
sorts out assigned devices (`get_base_config` in `virt/libvirt/vif.py`). VNIC011 describes libvirt's
refusal (measured with libvirt 9.0 for both cases).

A running server fails when Nova rebuilds its definition: a start leaves it SHUTOFF without a fault
that explains it, and a hard reboot leaves it in ERROR (measured with Nova 34 and e1000).

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

No change is proposed: it is not known which of the two is intended.

## When it does not fire

* When the image names no `hw_vif_model`: its servers get virtio, unless VNIC063 applies.
* On a flavor, when no server in the same file or cloud boots such an image with it.
* On a vDPA port, which libvirt makes virtio. On a server whose NIC model is unknown, and with Nova
  before 29.
* When the image is for another hypervisor (see VNIC062).
* Skipped when a variable or a template decides a value.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.knowledge.models import shown_model
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import FLAVOR_WORDS, PACKED, Flavor, Image, ServerConfig, as_flag
from vnicaudit.model.rule import DomainSubject, Judge, Problem, Rule

_SINCE = 29
"""The first Nova that has the switch (Caracal)."""

_FIX = Advice(
    (
        SetProperty("hw_vif_model", "virtio", "image"),
        ", or remove the packed ring.",
    )
)
_ON_SERVER = SetProperty("hw_vif_model", "virtio", "server")
_FIX_SERVER = Advice(
    (
        "Stop the server, ",
        _ON_SERVER,
        " (or hw_virtio_packed_ring=false), start it.",
    )
)
_FIX_FLAVOR = Advice(
    (
        "Resize the server to a flavor without hw:virtio_packed_ring, or make its NICs virtio: "
        "stop it, ",
        _ON_SERVER,
        ", start it.",
    )
)


def applies(image: Image) -> bool:
    """Packed rings and a model are set, and may clash."""
    model, packed = image.property("hw_vif_model"), image.property("hw_virtio_packed_ring")
    if model is None or packed is None or image.qemu is False:
        return False
    return not (packed.certain and not as_flag(packed.value)) and image.vif_model != "virtio"


def check(image: Image) -> Iterator[Problem]:
    """One problem."""
    yield Problem(
        f"hw_virtio_packed_ring on a NIC that is not virtio ({image.vif_model}): Nova "
        "passes it on, and libvirt refuses to define the server",
        field="hw_virtio_packed_ring",
        fix=_FIX,
    )


def applies_flavor(flavor: Flavor) -> bool:
    """Packed rings may be on, and a non-virtio image is booted with the flavor."""
    packed = flavor.property("hw:virtio_packed_ring")
    if packed is None or (packed.certain and not as_flag(packed.value)):
        return False
    return any(map(_clashes, flavor.images))


def check_flavor(flavor: Flavor) -> Iterator[Problem]:
    """One problem for each such image."""
    for image in filter(_clashes, flavor.images):
        model = image.property("hw_vif_model")
        yield Problem(
            f"hw:virtio_packed_ring with the image {image.name}, whose NIC is not virtio "
            f"({image.vif_model}): Nova passes it on, and libvirt refuses to define the server",
            field="hw:virtio_packed_ring",
            fix=_FIX,
            related=() if model is None else (model.location,),
        )


def applies_server(subject: DomainSubject, server: ServerConfig) -> bool:
    """A server that requests packed rings, with a NIC on which libvirt refuses them."""
    nova = server.nova
    if nova is not None and nova.newest is not None and nova.newest < _SINCE:
        return False
    return server.asks_for(PACKED) and _refusal_reason(subject, server) is not None


def check_server(subject: DomainSubject, server: ServerConfig) -> Iterator[Problem]:
    """One problem, naming the first such NIC."""
    what = _refusal_reason(subject, server)
    by_flavor = server.flavor_flag(PACKED)
    yield Problem(
        f"{FLAVOR_WORDS[PACKED] if by_flavor else PACKED} on a NIC that is not virtio ({what}): "
        "Nova passes it on, and libvirt refuses to define the server",
        confidence="high" if server.properties_source == "api" else "medium",
        fix=_FIX_FLAVOR if by_flavor else _FIX_SERVER,
    )


def _refusal_reason(subject: DomainSubject, server: ServerConfig) -> str | None:
    """The reason why libvirt refuses packed rings; None if there is no such NIC."""
    model = server.vif_model or "virtio"
    for nic in subject.nics:
        if nic.nic.origin == "interface" and nic.backend == "hostdev":
            return "an assigned device"
        if model not in VIRTIO and nic.backend in KEPT_MODEL:
            return shown_model(model)
    return None


def _clashes(image: Image) -> bool:
    return image.qemu is not False and image.vif_model not in (None, "virtio")


RULE = Rule(
    name="packed-ring-not-virtio",
    severity="error",
    groups=("images", "rings", "refused"),
    forms=("definition", "server"),
    judges=(
        Judge(
            "image",
            needs=(
                facts.IMAGE_HW_VIF_MODEL,
                facts.IMAGE_HW_VIRTIO_PACKED_RING,
            ),
            applies=applies,
            check=check,
        ),
        facts.of_server("domain", check_server, applies=applies_server),
        Judge(
            "flavor",
            needs=(facts.FLAVOR_PACKED_RING,),
            applies=applies_flavor,
            check=check_flavor,
        ),
    ),
)
