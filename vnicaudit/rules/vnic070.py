"""An image requests a NIC model that Nova's libvirt driver does not support.

## What is wrong

`hw_vif_model` is one of these:

* a word that Nova does not know;
* a model of another hypervisor (`netfront`, `vmxnet`, `sriov`) or of an emulated board (`lan9118`);
* a model that this release of Nova does not have yet (`igb` came with 31, 2025.1);
* an emulated PCI card on an image for s390x, where it does not work; e1000e and igb, which QEMU has
  there from release 10 on, are *medium*;
* `spapr-vlan` on an image for another architecture than POWER.

## Why it matters

Servers cannot be built from the image. Nova refuses a word it does not know when the image is used.
A model that does not fit the `virt_type` ends in `UnsupportedHardware` on the compute node. On
s390x Nova accepts e1000 and QEMU fails.

Source: Nova 15.1.5 to 34.0.0, `network/model.py`, `objects/fields.py` (VIFModel) and
`virt/libvirt/vif.py` (SUPPORTED_VIF_MODELS). The word `igb` is known from 31 on; the libvirt driver
has vmxnet3 since 22 and e1000e since 19.

## Bad

```console
$ openstack image create --disk-format qcow2 --file c.img --property hw_vif_model=virtio-net-pci c
```

## Good

```console
$ openstack image create --disk-format qcow2 --file c.img --property hw_vif_model=virtio c
```

## Fix

Set `hw_vif_model=virtio`, or another supported model: virtio, e1000, e1000e, igb (from Nova 31 on),
ne2k_pci, pcnet, rtl8139, vmxnet3; spapr-vlan on POWER. On s390x QEMU has none of the emulated ones
except e1000e and igb, from release 10 on.

## Fix safety

Unsafe: the image's properties do not show whether its system has a virtio driver.

## When it does not fire

* On any upper or lower case (`VirtIO`) and on the old names (`VirtualE1000`), which Nova accepts.
* Skipped on models of other hypervisors, unless something says that the image is for QEMU (a disk
  format of raw or qcow2, or `img_hv_type`).
* On igb, vmxnet3 and e1000e, unless Nova is known to be too old for them. The release comes from
  the highest microversion of a live cloud, or from `--nova-release`.
* Skipped on `spapr-vlan` if the image does not say for which architecture it is.
* Skipped when a variable or a template decides the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.fixes.wording import unsafe_because
from vnicaudit.knowledge.nova_releases import VIF_MODELS_SINCE, VIF_WORDS_SINCE, lacks_vif_model
from vnicaudit.model.finding import PPC64, Change
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import VIF_MODELS, Image
from vnicaudit.model.rule import Judge, Problem, Rule

_ON_IMAGE = SetProperty("hw_vif_model", "virtio", "image")
_REASON = "the system in the image may have no virtio driver"
_OTHERS = frozenset({"netfront", "vmxnet", "sriov"})
_HAS = ("e1000", "e1000e", "ne2k_pci", "pcnet", "rtl8139", "vmxnet3", "igb")
_LATER_ON_Z = frozenset({"e1000e", "igb"})
"""QEMU has them on s390x from release 10 on (measured: absent in 7.2.22, there in 10.0.13)."""
_NOT_ON_Z = frozenset({"e1000", "rtl8139", "ne2k_pci", "pcnet", "vmxnet3", "lan9118", "spapr-vlan"})


def applies(image: Image) -> bool:
    """The model may not work, and the image may be for QEMU."""
    if image.property("hw_vif_model") is None or image.qemu is False:
        return False
    return image.vif_model in (None, "spapr-vlan") or _problem(image) is not None


def check(image: Image) -> Iterator[Problem]:
    """One problem."""
    value = image.certain_value("hw_vif_model") or ""
    found = _problem(image)
    if found is None:
        return
    # a server starts on some hosts: with an emulated CPU, or with a newer QEMU
    may_work = image.vif_model in (_LATER_ON_Z if image.on_z else {"lan9118"})
    yield Problem(
        f"hw_vif_model = {value[:40]!r}: {found}",
        field="hw_vif_model",
        severity="medium" if may_work else None,
        change=Change("hw_vif_model", value, "virtio", safe=False, reason=_REASON),
        fix=Advice((_ON_IMAGE, f"{_other_models(image)} {unsafe_because(_REASON)}")),
    )


def _other_models(image: Image) -> str:
    """Other models that can be set, as the end of a sentence."""
    if image.on_z:
        return "; of the others, QEMU has only e1000e and igb on s390x, from release 10 on."
    names = [name for name in _HAS if not lacks_vif_model(name, image.nova)]
    shown = (
        f"{name} (since Nova 31)" if name == "igb" and image.nova is None else name
        for name in names
    )
    return f", or another model that Nova's libvirt driver has: {', '.join(shown)}."


def _problem(image: Image) -> str | None:
    model = image.vif_model or ""
    if model not in VIF_MODELS:
        return "Nova does not know this model and refuses the image"
    if image.nova is not None and image.nova < VIF_WORDS_SINCE.get(model, 0):
        since = VIF_WORDS_SINCE[model]
        return (
            f"Nova {image.nova} does not know this model, which came with {since}: it refuses the "
            "image"
        )
    if lacks_vif_model(model, image.nova):
        since = VIF_MODELS_SINCE[model]
        return (
            f"Nova's libvirt driver has had it since {since}, and this is Nova {image.nova} or "
            "older"
        )
    if model in _OTHERS:
        return "a model of another hypervisor; Nova's libvirt driver refuses it"
    if image.on_z and model in _NOT_ON_Z:
        return "it does not exist on s390x; the server does not start"
    if image.on_z and model in _LATER_ON_Z:
        return "QEMU has it on s390x only from release 10 on; with an older one it does not start"
    arch = image.architecture
    if model == "spapr-vlan" and arch is not None and arch not in PPC64:
        return f"it exists on POWER only, and the image is for {arch[:20]}"
    if model == "lan9118":
        return "Nova accepts it only with virt_type = qemu; with kvm the server cannot be built"
    return None


RULE = Rule(
    name="image-model-unsupported",
    severity="error",
    groups=("images", "models", "refused"),
    judges=(
        Judge(
            "image",
            needs=(
                facts.IMAGE_HW_VIF_MODEL,
                facts.IMAGE_QEMU,
                facts.IMAGE_ARCHITECTURE,
            ),
            applies=applies,
            check=check,
        ),
    ),
)
