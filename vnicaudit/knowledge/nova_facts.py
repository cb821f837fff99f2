"""The facts that rules on nova.conf, images and flavors need, like those in
:mod:`vnicaudit.knowledge.facts`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from vnicaudit.knowledge.rings import RING_SIZES
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.model.nova_options import as_number
from vnicaudit.model.openstack import FOREIGN_VIF_MODELS
from vnicaudit.model.rule import Fact
from vnicaudit.model.subject import (
    ConfigSubject,
    FlavorSubject,
    ImageSubject,
)

_RENDERED = "the rendered file: here a template or another option decides"


def _option(section: str, name: str) -> Fact[ConfigSubject]:
    """An option of nova.conf: known when it is not set, or set for certain."""

    def is_known(subject: ConfigSubject) -> bool:
        nova = subject.nova
        options = (nova.winner(section, name), nova.written(section, name))
        return all(option is None or option.certain for option in options)

    return Fact(is_known, f"[{section}] {name} as Nova reads it ({_RENDERED})")


def _one_is_wrong_or_all_certain(
    options: Iterable[NovaOption], is_wrong: Callable[[NovaOption], bool]
) -> bool:
    """True if enough is known about several options: one is certainly wrong, or all are certain."""
    certain = [option.certain for option in options]
    return all(certain) or any(option.certain and is_wrong(option) for option in options)


def _rings(nova: NovaConfig) -> list[NovaOption]:
    options = (nova.setting("libvirt", name) for name in ("rx_queue_size", "tx_queue_size"))
    return [option for option in options if option is not None]


def _devices(nova: NovaConfig) -> list[NovaOption]:
    names = ("device_spec", "passthrough_whitelist")
    return [o for o in nova.settings if o.section == "pci" and o.name in names]


def _not_current(nova: NovaConfig) -> list[NovaOption]:
    return [o for o in nova.own if (o.known and o.known.status != "current") or o.name[:2] == "--"]


def _is_no_ring(option: NovaOption) -> bool:
    return bool(option.value.strip()) and as_number(option.value) not in RING_SIZES


def _is_refused(option: NovaOption) -> bool:
    form = None if option.known is None else option.known.form
    return form is not None and not form.accepts(option.value)


def _values_known(nova: NovaConfig) -> bool:
    """True if one value is certainly wrong, or none is uncertain."""
    if any(option.broken for option in nova.settings):
        return True
    return _one_is_wrong_or_all_certain(nova.settings, _is_refused)


def _is_there(nova: NovaConfig, section: str, name: str) -> bool:
    options = [o for o in nova.own if o.name == name and o.section in (section, "")]
    return not options or any(option.present for option in options)


NOVA_DRIVER: Fact[ConfigSubject] = Fact(
    lambda subject: subject.nova.libvirt is not None,
    f"[DEFAULT] compute_driver as Nova reads it ({_RENDERED})",
)
NOVA_RING_SIZES: Fact[ConfigSubject] = Fact(
    lambda subject: _one_is_wrong_or_all_certain(_rings(subject.nova), _is_no_ring),
    f"[libvirt] rx_queue_size and tx_queue_size as Nova reads them ({_RENDERED})",
)
NOVA_VALUES: Fact[ConfigSubject] = Fact(
    lambda subject: _values_known(subject.nova),
    f"the values of options that affect NICs, as Nova reads them ({_RENDERED})",
)
NOVA_NAMES: Fact[ConfigSubject] = Fact(
    lambda subject: any(option.present for option in _not_current(subject.nova)),
    "the rendered file (it may have options that this release lacks)",
)
NOVA_DEVICES: Fact[ConfigSubject] = Fact(
    lambda subject: any(option.certain for option in _devices(subject.nova)),
    f"the list of PCI devices as Nova reads it ({_RENDERED})",
)
NOVA_MAX_QUEUES = _option("libvirt", "max_queues")
NOVA_VIRT_TYPE = _option("libvirt", "virt_type")
NOVA_USE_VIRTIO_FOR_BRIDGES = _option("libvirt", "use_virtio_for_bridges")
NOVA_TX_QUEUE_SIZE = _option("libvirt", "tx_queue_size")
NOVA_LIBVIRT_USE_VIRTIO_FOR_BRIDGES: Fact[ConfigSubject] = Fact(
    lambda subject: _is_there(subject.nova, "DEFAULT", "libvirt_use_virtio_for_bridges"),
    "the rendered file (it may set [DEFAULT] libvirt_use_virtio_for_bridges)",
)


def _is_for_a_known_hypervisor(subject: ImageSubject) -> bool:
    """True if the hypervisor of an image is known, as far as its NIC model depends on it."""
    image = subject.image
    return image.qemu is not None or image.vif_model not in FOREIGN_VIF_MODELS


def _as_it_will_be_set(name: str) -> str:
    return f"{name} as it will be set (here a variable or a template decides)"


def _image_property(name: str) -> Fact[ImageSubject]:
    """A property of an image: known if it is not set, or set for certain."""

    def is_known(subject: ImageSubject) -> bool:
        entry = subject.image.property(name)
        return entry is None or entry.certain

    return Fact(is_known, _as_it_will_be_set(name))


def _flavor_property(name: str) -> Fact[FlavorSubject]:
    """An extra spec of a flavor: known if it is not set, or set for certain."""

    def is_known(subject: FlavorSubject) -> bool:
        entry = subject.flavor.property(name)
        return entry is None or entry.certain

    return Fact(is_known, _as_it_will_be_set(name))


IMAGE_PROPERTIES: Fact[ImageSubject] = Fact(
    lambda subject: subject.image.complete,
    "all properties of the image (here only some are set, or the list is filled in)",
)
IMAGE_QEMU: Fact[ImageSubject] = Fact(
    _is_for_a_known_hypervisor,
    "the hypervisor the image is for (its disk format, or img_hv_type)",
)
IMAGE_ARCHITECTURE: Fact[ImageSubject] = Fact(
    lambda subject: (
        subject.image.vif_model != "spapr-vlan" or subject.image.architecture is not None
    ),
    "the image's architecture (hw_architecture)",
)
"""Only spapr-vlan depends on it where it is not named."""
IMAGE_HW_VIF_MODEL = _image_property("hw_vif_model")
IMAGE_HW_VIRTIO_PACKED_RING = _image_property("hw_virtio_packed_ring")
IMAGE_OS_DISTRO = _image_property("os_distro")
FLAVOR_MULTIQUEUE = _flavor_property("hw:vif_multiqueue_enabled")
FLAVOR_PACKED_RING = _flavor_property("hw:virtio_packed_ring")
FLAVOR_VCPUS: Fact[FlavorSubject] = Fact(
    lambda subject: (
        subject.flavor.vcpus is not None
        or subject.flavor.property("hw:vif_multiqueue_enabled") is None
    ),
    "the flavor's number of vCPUs",
)
"""Only multiqueue depends on it."""
