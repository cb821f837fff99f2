"""A server's NIC model differs from its image's current one.

## What is wrong

For each server Nova keeps a copy of the image's properties, made when the server was created. It
includes `hw_vif_model` and the switches for multiqueue and packed rings. Here the copy and the
image differ: either the image was corrected later and the server was not, or the server was
corrected (`nova-manage image_property set`) and the image was not.

## Why it matters

A change to the image does not reach existing servers. Since Yoga (25.0) even a changed default does
not: nova-compute writes the model it chose into the copy (`_register_undefined_instance_details` in
nova/virt/libvirt/driver.py). For servers where it chose none, see VNIC084.

Conversely, a rebuild copies the image's properties again (`_reset_image_metadata` in
nova/compute/api.py) and brings the old model back.

## Bad

```console
$ openstack image set --property hw_vif_model=virtio jammy
$ nova-manage image_property show 2a0b… hw_vif_model
e1000
```

## Good

```console
$ openstack image set --property hw_vif_model=virtio jammy
$ openstack server stop 2a0b…
$ nova-manage image_property set 2a0b… --property hw_vif_model=virtio
$ openstack server start 2a0b…
```

## Fix

If the image is right: stop the server, run `nova-manage image_property set`, start it. If the
server is right: set the property on the image before somebody rebuilds the server.

## Fix safety

As for VNIC001: safe when the guest is known to support virtio. More queues are not always better:
measure before and after.

## When it does not fire

* When the server boots from a volume, or its image is gone or not visible: there is nothing to
  compare with. A rebuild copies the properties again for such a server, too. Since microversion
  2.93 (26.0) it takes them from the image that the rebuild names, which can be another image than
  the volume's.
* When the image has not changed since the server was created, and Nova does not report the kept
  properties. If the image has changed and the server's libvirt was read in the same run, the NIC in
  its definition is compared.
* On virtio, when the image names no model: it is the default.
* On an emulated model that libosinfo gives for the image's `os_distro`: new servers get it as well
  (VNIC063). The same goes for images that name an operating system other than Linux.
* On a server whose ports are all assigned devices, vDPA or macvtap: Nova writes no model there, or
  always virtio.
* For multiqueue, below two vCPUs, and when the flavor says the same as the image.
* Nova 31 and later (microversion 2.98) report the kept properties. On an older Nova the rule is
  skipped if the image has changed since and names a model or one of the switches.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import facts
from vnicaudit.knowledge.backends import KEPT_MODEL
from vnicaudit.knowledge.to_virtio import to_virtio
from vnicaudit.model.finding import VIRTIO, Change
from vnicaudit.model.fix import Advice, SetProperty
from vnicaudit.model.openstack import (
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    VIF_MODELS,
    Image,
    ServerConfig,
    as_flag,
)
from vnicaudit.model.rule import DomainSubject, Problem, Rule, Subject

_MODEL = "hw_vif_model"
_GET_THE_MODEL = frozenset({None, *KEPT_MODEL})
"""Backends that get the stored model, as reported by Neutron; None: not reported, as to tenants."""

_SWITCHES = {MULTIQUEUE: "queues", PACKED: "packed"}
_REASONS = {
    MULTIQUEUE: "more queues help many flows but can slow down small outgoing packets: measure "
    "before and after",
    PACKED: "migration compares the ring layout",
}
_FIX = Advice(("Stop the server, ", SetProperty(_MODEL, "virtio", "server"), ", start it."))
_BOTH_EMULATED = "Neither is virtio: set hw_vif_model=virtio on the image, and on the server."


def applies(subject: DomainSubject, server: ServerConfig) -> bool:
    """A server, in its cloud or in libvirt, whose image may differ from the properties that Nova
    keeps."""
    image = server.image
    if server.image_state != "there" or image is None or not image.complete:
        return False
    if not _subjects_with_model(subject):
        return False
    if server.properties_source == "unseen" and subject.domain.is_server:
        return any(image.certain_value(name) is not None for name in (_MODEL, *_SWITCHES))
    return any(True for _ in check(subject, server))


def check(subject: DomainSubject, server: ServerConfig) -> Iterator[Problem]:
    """At most one problem for each property."""
    if server.image is None or server.properties_source == "image":
        return
    yield from _of_model(subject, server, server.image)
    if server.properties_source == "api" and server.flavor is not None and server.flavor.complete:
        for name in _SWITCHES:
            yield from _of_switch(subject, server, server.image, name)


def _subjects_with_model(subject: DomainSubject) -> list[Subject]:
    """The NICs that get the model that Nova keeps."""
    return [nic for nic in subject.nics if nic.backend in _GET_THE_MODEL]


def _of_model(subject: DomainSubject, server: ServerConfig, image: Image) -> Iterator[Problem]:
    kept, now = _stored_model(subject, server), image.vif_model
    if kept is None or kept == now or not {kept, now} <= VIF_MODELS | {None}:
        return
    if now is None and (kept in VIRTIO or _by_default(image, kept)):
        return
    keeps = f"Nova keeps hw_vif_model = {kept} for this server, and its image "
    if server.properties_source == "unseen":
        keeps = f"the NIC of this server is {kept}, and its image "
    if now in VIRTIO or now is None:
        yield _left_behind(subject, keeps, now)
    else:
        keep = kept in VIRTIO
        yield Problem(
            f"{keeps}says {now}: a rebuild gives it {now}",
            field=_MODEL,
            severity="low" if keep else "info",
            fix=_on_image(_MODEL, kept) if keep else _BOTH_EMULATED,
        )


def _stored_model(subject: DomainSubject, server: ServerConfig) -> str | None:
    """The model that Nova keeps; if it is not reported, the one in the definition that Nova
    wrote."""
    if server.properties_source == "api":
        return server.vif_model
    models = (nic.nic.model for nic in _subjects_with_model(subject))
    return next((model for model in models if model is not None), None)


def _left_behind(subject: DomainSubject, keeps: str, now: str | None) -> Problem:
    """The problem of a server that was not changed when its image was corrected, or no longer names
    a model."""
    says = "names none: new servers get what their compute nodes choose"
    if now is not None:
        says = f"says {now}: new servers get that"
    emulated = [nic for nic in _subjects_with_model(subject) if nic.model not in VIRTIO]
    if not emulated:  # its definition differs from what Nova keeps, which VNIC079 reports
        return Problem(f"{keeps}{says}, this one does not", field=_MODEL, severity="low", fix=_FIX)
    found = to_virtio(emulated[0], "medium" if now is not None else "low")
    return Problem(
        f"{keeps}{says}, this one does not{found.note}",
        field=_MODEL,
        severity=found.severity,
        change=found.change,
        fix=found.fix,
    )


def _on_image(name: str, value: str) -> Advice:
    setting = SetProperty(name, value, "server-image")
    return Advice((setting, ", if the server is to keep it after a rebuild."))


def _by_default(image: Image, kept: str) -> bool:
    """True if new servers of an image that names no model may well get this one too."""
    system = image.certain_value("os_distro")
    return system is not None and (image.libosinfo_model == kept or not image.linux)


def _of_switch(
    subject: DomainSubject, server: ServerConfig, image: Image, name: str
) -> Iterator[Problem]:
    vcpus = subject.domain.vcpus
    virtio = any(nic.model in VIRTIO for nic in _subjects_with_model(subject))
    if not virtio or (name == MULTIQUEUE and (vcpus is None or vcpus < MULTIQUEUE_VCPUS)):
        return
    kept, flavor = server.flag(name), server.flavor_flag(name)
    asked = as_flag(image.certain_value(name) or "")
    if flavor is not None or bool(kept) == asked:
        return
    if kept:
        yield Problem(
            f"Nova keeps {name} = true for this server, and its image does not ask for it: a "
            "rebuild takes it away",
            field=name,
            severity="info",
            fix=_on_image(name, "true"),
        )
        return
    new = str(vcpus) if name == MULTIQUEUE else "on"
    yield Problem(
        f"the image asks for {name} now, and Nova keeps this server without it",
        field=name,
        severity="low",
        change=Change(_SWITCHES[name], None, new, safe=False, reason=_REASONS[name]),
    )


RULE = Rule(
    name="server-image-model-mismatch",
    severity="medium",
    groups=("servers", "drift"),
    forms=("definition", "server"),
    judges=(facts.of_server("domain", check, applies=applies, needs=(facts.SERVER_KEPT,)),),
)
