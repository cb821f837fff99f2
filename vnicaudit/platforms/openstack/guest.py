"""What Nova keeps for a server -> what its guest is, and what Nova writes for it because of
that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Image, Property, as_flag
from vnicaudit.model.server import (
    MULTIQUEUE,
    MULTIQUEUE_VCPUS,
    PACKED,
    NovaVersions,
    ServerConfig,
)
from vnicaudit.platforms.domain_xml.readiness import readiness_of
from vnicaudit.platforms.openstack.libosinfo import emulated_model

_ARCHITECTURES = {
    "i386": "i686", "i486": "i686", "i586": "i686", "x86_32": "i686", "x86_32p": "i686",
    "amd64": "x86_64",
}  # fmt: skip
"""Other names that Nova takes (``fields.Architecture.canonicalize``)."""
_MACHINES = (("pc", "x86_64"), ("q35", "x86_64"), ("s390-ccw", "s390x"))
"""What machine types of one architecture begin with; a guest of another one than its node's (i686)
has ``hw_architecture``."""
_NOWHERE = Location("")
_SCSI = "virtio-scsi"

_FLAVOR_MULTIQUEUE = 25
"""``hw:vif_multiqueue_enabled``: Nova 25.0."""
_PACKED = 29
"""``hw_virtio_packed_ring`` and ``hw:virtio_packed_ring``: Nova 29.0."""
_SHARED_PAGES_KIB = 2048
_PAGES = re.compile(r"(\d{1,9})\s*([KMG]?)i?B?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1, "m": 1024, "g": 1024 * 1024}


class Guest(NamedTuple):
    """What is known of one server's guest, before its NICs."""

    arch: str | None
    machine: str | None
    readiness: str
    encrypted: bool
    shared_memory: bool | None


def guest_of(server: ServerConfig, node: str | None, *, launched: bool) -> Guest:
    """What is known of the guest. ``node`` is the architecture of its node's CPU, None where it is
    not known; ``launched``: it has run."""
    kept = dict(server.kept)
    arch = _architecture(kept, node)
    return Guest(
        arch,
        kept.get("hw_machine_type"),
        readiness=_readiness(kept, arch, launched=launched),
        encrypted=_encrypted(server),
        shared_memory=_large_pages(server),
    )


def readiness_by(properties: Mapping[str, str]) -> str:
    """The same judgement of an image, whose servers are to come: by its properties alone. Where
    it names no machine type its servers get Nova's, which is not PCI Express by default."""
    kept = {"hw_machine_type": "", **properties}
    return _readiness(kept, _architecture(properties, None), launched=False)


def queues_of(server: ServerConfig, nova: NovaVersions) -> int | None:
    """How many queues Nova writes for a virtio NIC, before the node's own limit (``[libvirt]
    max_queues``); None where it writes none, or refuses (flavor and image differ)."""
    vcpus = None if server.flavor is None else server.flavor.vcpus
    if vcpus is None or vcpus < MULTIQUEUE_VCPUS or server.clash(MULTIQUEUE, vcpus):
        return None
    by_flavor = _since(nova, _FLAVOR_MULTIQUEUE) and server.flavor_flag(MULTIQUEUE)
    return vcpus if server.flag(MULTIQUEUE) or by_flavor else None


def packed_of(server: ServerConfig, nova: NovaVersions) -> bool:
    """Whether Nova writes ``packed='on'``."""
    if not _since(nova, _PACKED) or server.clash(PACKED, None):
        return False
    return server.asks_for(PACKED)


def _since(nova: NovaVersions, release: int) -> bool:
    """Whether it is surely that release or a later one."""
    return nova.oldest is not None and nova.oldest >= release


def _encrypted(server: ServerConfig) -> bool:
    said = (server.property("hw_mem_encryption"), _spec(server, "hw:mem_encryption"))
    return any(as_flag(value) for value in said if value is not None)


def _spec(server: ServerConfig, name: str) -> str | None:
    return None if server.flavor is None else server.flavor.known(name)


def _architecture(kept: Mapping[str, str], node: str | None) -> str | None:
    """``hw_architecture``, or the one that is to be emulated; else the node's own
    (``virt/libvirt/utils.py`` ``get_arch``)."""
    names = ("hw_emulation_architecture", "hw_architecture", "architecture")
    named = next((kept[name].lower() for name in names if kept.get(name)), "")
    if named or node:
        return _ARCHITECTURES.get(named, named) or node
    machine = kept.get("hw_machine_type") or ""
    return next((arch for begin, arch in _MACHINES if machine.startswith(begin)), None)


def _large_pages(server: ServerConfig) -> bool | None:
    """True with huge pages, whose memory Nova shares (``_get_cpu_numa_config_from_instance``).
    None: not known, as ``file_backed_memory`` in nova.conf does the same."""
    text = _spec(server, "hw:mem_page_size") or server.property("hw_mem_page_size") or ""
    if text.strip().lower() == "large":
        return True
    size = _PAGES.fullmatch(text.strip())
    if size is None:
        return None
    return True if int(size[1]) * _UNITS[size[2].lower()] >= _SHARED_PAGES_KIB else None


def _readiness(kept: Mapping[str, str], arch: str | None, *, launched: bool) -> str:
    """Whether the guest drives virtio, in the words of
    :mod:`vnicaudit.platforms.domain_xml.readiness`.

    Of ``os_distro`` an id of libosinfo's is looked up. A short id counts where libosinfo lists
    virtio for that system; not on PCI Express, where an old driver does not do, and which of them
    that system has is not known. Any other word, and ``os_type``, tell no more than Windows or not.
    """
    system, distro = _system(kept), kept.get("os_distro") or ""
    found = readiness_of(
        distro or ("linux" if system.linux else None),
        arch,
        virtio_nic=launched and kept.get("hw_vif_model", "").lower() == "virtio",
        virtio_disk=launched and _virtio_disk(kept),
        windows_hint=system.windows,
    )
    listed = found == "unknown" and emulated_model(distro) is not None
    conventional = "q35" not in kept.get("hw_machine_type", "q35")
    return "ready" if listed and conventional else found


def _virtio_disk(kept: Mapping[str, str]) -> bool:
    """``hw_disk_bus``: of an image, or as Nova chose it for this server (since 25.0)."""
    bus = kept.get("hw_disk_bus", "").lower()
    return bus == "virtio" or (bus == "scsi" and kept.get("hw_scsi_model", "").lower() == _SCSI)


def _system(kept: Mapping[str, str]) -> Image:
    """An image with these words for its system, which it can be asked about."""
    words = (Property(name, kept.get(name) or "", _NOWHERE) for name in ("os_type", "os_distro"))
    return Image("", "", _NOWHERE, tuple(words))
