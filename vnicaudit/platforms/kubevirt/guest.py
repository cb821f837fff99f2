"""Facts of the guest in a manifest: its operating system and its vCPUs."""

from __future__ import annotations

import re
from typing import Final

from vnicaudit.model.guest_words import Readiness
from vnicaudit.platforms.kubevirt.objects import text_at
from vnicaudit.text.yaml_nodes import YamlPlace

READY: Final = "ready"
LIKELY: Final = "likely-ready"
NEEDS_DRIVER: Final = "needs-driver"
UNKNOWN: Final = "unknown"

_KEYS = (
    "vm.kubevirt.io/os",
    "kubevirt.io/os",
    "instancetype.kubevirt.io/os-type",
    "kubevirt.io/domain-os",
)
_OF_TEMPLATE = "os.template.kubevirt.io/"
"""Prefix of a label of the common templates, whose key names the system; its value is ``true``."""

_LINUX = re.compile(
    r"(linux|fedora|rhel|redhat|centos|ubuntu|debian|alpine|opensuse|sles|suse|rocky|alma|oracle"
    r"|cirros|flatcar|archlinux|amazonlinux|coreos|rhcos|silverblue)",
)
_OLD = re.compile(r"(rhel|centos|redhat|oracle)[-.]?[2-5](\D|$)")
"""Releases some of which are older than the driver."""
_WINDOWS = re.compile(r"win(dows)?([-.]?(\d|xp|vista|server)|dows)")
_FOR_WINDOWS = re.compile(rf"(?<![a-z])({_WINDOWS.pattern}|virtio-win|virtio-container-disk)")
"""Parts of names that people choose; the last two are disks with drivers for Windows."""
_NAMED = (
    ("containerDisk", "image"), ("dataVolume", "name"), ("persistentVolumeClaim", "claimName"),
)  # fmt: skip
"""Fields of a volume that name its content."""
_MOST_VCPUS = 65_536
"""A larger number of vCPUs is a mistake in the manifest."""
_QUANTITY = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?(m?)")


def readiness_of_words(*words: str | None) -> Readiness:
    """The virtio readiness of a guest by names of its system; the first recognised name counts;
    ``unknown`` if there is none."""
    for word in words:
        name = (word or "").lower()
        if _WINDOWS.match(name):
            return NEEDS_DRIVER
        if _LINUX.match(name) and not _OLD.match(name):
            return READY
    return UNKNOWN


def named_systems(*holders: YamlPlace | None) -> list[str]:
    """The operating systems named by labels and annotations of ``metadata``."""
    found = []
    for holder in holders:
        for kind in ("annotations", "labels"):
            place = None if holder is None else holder.at(kind)
            if place is None:
                continue
            found += [text for key in _KEYS if (text := text_at(place, key)) is not None]
            found += [
                key.removeprefix(_OF_TEMPLATE)
                for key in place.names()
                if key.startswith(_OF_TEMPLATE)
            ]
    return found


def readiness_of_devices(
    domain: YamlPlace, volumes: YamlPlace | None, name: str
) -> tuple[Readiness, bool]:
    """The guest's virtio readiness by its devices and its name, and True if only the name of its
    container disk shows it. A virtio disk is no proof for Windows, where NetKVM is a separate
    driver: if the system is unknown, the guest is only ``likely-ready``."""
    found = [] if volumes is None else volumes.items()
    if _for_windows(domain, found, name):
        return NEEDS_DRIVER, False
    by_image = readiness_of_words(*(image for volume in found if (image := _image(volume))))
    if _has_virtio_disk(domain, volumes):
        return (READY if by_image == READY else LIKELY), False
    return by_image, by_image == READY


def _for_windows(domain: YamlPlace, volumes: list[YamlPlace], name: str) -> bool:
    """True if Hyper-V enlightenments, a disk of Sysprep, or names show Windows."""
    features = (domain.at("features", part) for part in ("hyperv", "hypervPassthrough"))
    if any(part is not None for part in features):
        return True
    if any("sysprep" in volume.names() for volume in volumes):
        return True
    names = [text_at(volume, *way) for volume in volumes for way in _NAMED]
    return any(_FOR_WINDOWS.search((text or "").lower()) for text in (name, *names))


def vcpus_of(domain: YamlPlace) -> int | None:
    """``sockets x cores x threads``, or the CPU limit or request rounded up; 0 if the manifest sets
    none of them, None if a template does.

    Source: KubeVirt ``vcpu.GetCPUTopology`` and ``SetDefaultGuestCPUTopology``.
    """
    cpu = domain.child("cpu")
    product, given = 1, False
    if cpu is not None and not cpu.complete:
        return None
    for part in ("sockets", "cores", "threads"):
        place = None if cpu is None else cpu.child(part)
        if place is None:
            continue
        count = place.integer
        if count is None or count < 0:
            return None
        given = given or count > 0
        product *= count or 1
    if product > _MOST_VCPUS:
        return None
    return product if given else _by_resources(domain)


def _by_resources(domain: YamlPlace) -> int | None:
    for bound in ("limits", "requests"):
        place = domain.at("resources", bound, "cpu")
        if place is not None:
            return _quantity(place.text)
    return 0


def _quantity(text: str | None) -> int | None:
    """A quantity of CPUs rounded up, as ``resource.Quantity.Value()`` does: ``1500m`` -> 2."""
    match = _QUANTITY.fullmatch(text or "")
    if match is None:
        return None
    whole, rest = int(match.group(1)), int(match.group(2) or 0)
    if match.group(3):
        return -(-whole // 1000)
    return whole + (1 if rest else 0)


def _has_virtio_disk(domain: YamlPlace, volumes: YamlPlace | None) -> bool:
    """True for a virtio disk that is not only for cloud-init."""
    seeds = {
        text_at(volume, "name")
        for volume in ([] if volumes is None else volumes.items())
        if any(key.startswith("cloudInit") for key in volume.names())
    }
    disks = domain.at("devices", "disks")
    return any(
        text_at(disk, "disk", "bus") == "virtio" and text_at(disk, "name") not in seeds
        for disk in ([] if disks is None else disks.items())
    )


def _image(volume: YamlPlace) -> str:
    """``quay.io/containerdisks/fedora:40`` -> ``fedora:40``."""
    text = text_at(volume, "containerDisk", "image") or ""
    name = text.rsplit("/", 1)[-1].lower()
    match = _LINUX.search(name.split("@")[0].split(":")[0])
    return name[match.start() :] if match else name
