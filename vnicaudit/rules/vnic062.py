"""An image requests an emulated NIC (hw_vif_model).

## What is wrong

The image property `hw_vif_model` names a card that QEMU emulates. Every server created from the
image gets it, whatever nova.conf says.

## Why it matters

The property outlives its reason: it is copied from image to image long after the operating system
has a virtio driver. One TCP stream went from 248 Mb/s on e1000 to 7.81 Gb/s on virtio with vhost in
the same cloud (A. Scicchitano, SWITCH, "Improving network performance within the cloud").

## Bad

```console
$ openstack image create --disk-format qcow2 --file jammy.img --property os_distro=ubuntu \\
    --property hw_vif_model=e1000 jammy
```

## Good

```console
$ openstack image create --disk-format qcow2 --file jammy.img --property os_distro=ubuntu \\
    --property hw_vif_model=virtio jammy
```

## Fix

Set `hw_vif_model=virtio` on the image. This affects only new servers: since Yoga (25.0), Nova keeps
the model of an existing server (`image_hw_vif_model`). To change an existing server, stop it, run
`nova-manage image_property set UUID --property hw_vif_model=virtio`, and start it.

## Fix safety

Safe if libosinfo lists virtio for the system in `os_distro`. Also safe if the image says that it
holds Linux and a server created from it is known to support virtio, because its disk is virtio.
Image and server are judged by the same standard, so one is not changed without the other.

Unsafe otherwise: the image's properties do not show whether it contains a virtio driver. Windows
does not ship one: NetKVM from virtio-win must be in the image first.

## When it does not fire

* On `virtio`, and on models of particular boards (`spapr-vlan`, `lan9118`).
* When the image is for another hypervisor: `img_hv_type` or `hypervisor_type` says so, it has
  `vmware_` properties, or its disk format is vmdk, vhd, vhdx or ova.
* On a model that this release of Nova does not have (igb before 31): see VNIC070.
* On s390x, where emulated PCI cards do not work at all: see VNIC070.
* Reported as *low* when the image says that it holds Windows, or does not say what it holds: review
  it. Some appliances have no virtio driver.
* Reported as *low* in a live cloud when no server visible to this user was created from the image.
* Skipped when a variable or a template decides the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.fixes.wording import unsafe_because
from vnicaudit.knowledge.nova_releases import lacks_vif_model
from vnicaudit.model.finding import Change, Confidence
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import Image
from vnicaudit.model.rule import Judge, Problem, Rule

_EMULATED = frozenset({"rtl8139", "ne2k_pci", "pcnet", "e1000", "e1000e", "igb", "vmxnet3"})

_ON_IMAGE = SetProperty("hw_vif_model", "virtio", "image")
_ON_SERVER = SetProperty("hw_vif_model", "virtio", "server")
_READY = "libosinfo lists virtio for this system; only new servers are affected"
_PROVEN = "servers created from it support virtio; only new servers are affected"
_EXPRESS = (
    "libosinfo lists virtio for this system, but an old driver does not work on PCI Express (q35)"
)
_LINUX = "Linux has had a virtio driver since 2.6.25 (2008), but a small kernel may lack it"
_WINDOWS = "Windows does not include a virtio driver: add NetKVM to the image first"
_UNKNOWN = "without a virtio driver in the image, new servers have no network"


def applies(image: Image) -> bool:
    """The image may request an emulated model, and may be for QEMU."""
    if image.property("hw_vif_model") is None or image.qemu is False or image.on_z:
        return False
    if lacks_vif_model(image.vif_model or "", image.nova):
        return False
    return image.vif_model is None or image.vif_model in _EMULATED


def check(image: Image) -> Iterator[Problem]:
    """One problem."""
    value = image.certain_value("hw_vif_model") or ""
    note, reason, safe = _note_and_safety(image)
    yield Problem(
        f"hw_vif_model = {value}: every new server of this image gets an emulated "
        f"NIC{image.use}{note}",
        field="hw_vif_model",
        severity="low" if note or image.servers == 0 else None,
        confidence=_confidence(image),
        change=Change("hw_vif_model", value, "virtio", safe=safe, reason=reason),
        fix=Advice(
            (
                _ON_IMAGE,
                "; only new servers get it. Existing ones keep their model: stop the server, ",
                _ON_SERVER,
                ", start it." if safe else f", start it. {unsafe_because(reason)}",
            )
        ),
    )


def _note_and_safety(image: Image) -> tuple[str, str, bool]:
    """``(note, reason, safe)``: what to add to the message, and how safe virtio is for the system
    in the image."""
    if image.windows:
        return "; review: this is Windows", _WINDOWS, False
    express = "q35" in (image.certain_value("hw_machine_type") or "")
    if image.readiness == "ready" or (image.libosinfo_model is not None and not express):
        return "", _READY, True
    if image.proven:
        return "", _PROVEN, True
    if image.libosinfo_model is not None:
        return "", _EXPRESS, False
    if image.linux:
        return "", _LINUX, False
    return "; review: its system may not support virtio", _UNKNOWN, False


def _confidence(image: Image) -> Confidence:
    """Low for vmxnet3 unless the image is known to be for QEMU: it may be for VMware."""
    if image.qemu:
        return "high"
    return "low" if image.vif_model == "vmxnet3" else "medium"


RULE = Rule(
    name="image-emulated-model",
    severity="medium",
    groups=("images", "models"),
    judges=(Judge("image", needs=(facts.IMAGE_HW_VIF_MODEL,), applies=applies, check=check),),
)
