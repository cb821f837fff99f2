"""The operating system of a guest, as far as the names of its interfaces depend on it."""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.model.domain import Domain

LINUX = "linux"
WINDOWS = "windows"

VIRTIO_DRIVERS = {
    LINUX: "virtio_net",
    WINDOWS: "NetKVM",
    "freebsd": "vtnet",
    "dragonflybsd": "vtnet",
    "openbsd": "vio",
    "netbsd": "vioif",
}
"""Family -> its driver for virtio NICs. Sources: Linux drivers/net/virtio_net.c, virtio-win's
NetKVM, and the manual pages vtnet(4), vio(4) and vioif(4)."""

NEWEST = (999, 0)
"""Version of a system without version numbers, such as Arch or Debian's unstable."""

_OWN_NAMES = {
    "arch": "archlinux", "alpine": "alpinelinux", "linuxmint": "mint", "mswindows": "win",
    "opensuse-leap": "opensuse", "opensuse-tumbleweed": "opensuse", "oracle": "ol",
}  # fmt: skip
"""``ID`` in os-release, as reported by an agent -> libosinfo's word if it differs."""

_LINUX_NAMES = frozenset({
    "almalinux", "alpinelinux", "amzn", "anolis", "archlinux", "centos", "centos-stream", "debian",
    "eurolinux", "fedora", "gentoo", "linux", "mageia", "manjaro", "mint", "miraclelinux", "nixos",
    "ol", "opensuse", "raspbian", "rhel", "rhel-atomic", "rocky", "scientificlinux", "sle", "sled",
    "slem", "sles", "ubuntu", "voidlinux",
})  # fmt: skip
_BSD_NAMES = frozenset(VIRTIO_DRIVERS) - {LINUX, WINDOWS}
_ROLLING = frozenset({"rolling", "testing", "unstable", "rawhide", "eln", "tumbleweed", "factory"})
_OLD_WINDOWS = frozenset({"2k", "2k3", "2k3r2", "2k8", "2k8r2", "7", "vista", "xp", "6.1", "2008"})

SYSTEMD_NAME = re.compile(
    r"en(?:(?:[osd]|P\d+[ps]|p\d+s)\d[0-9a-z]*|c(?:cw)?[0-9a-f.]+(?:[g-z][0-9a-z]*)?)", re.ASCII
)
"""``eno1``, ``ens3``, ``enp1s0``, ``enc1``: names derived from an address."""

MAC_NAME = re.compile(r"enx[0-9a-f]{12}")
KERNEL_NAME = re.compile(r"eth\d+", re.ASCII)


class System(NamedTuple):
    """``family`` is a key of :data:`VIRTIO_DRIVERS`, None if it is unknown; ``distribution`` is
    libosinfo's word for it (``debian``, ``rhel``, ``win``)."""

    family: str | None = None
    distribution: str | None = None
    version: tuple[int, int] | None = None
    old_windows: bool = False
    """Windows before 8 and 2012, which lacks the cmdlets that set addresses."""


def system_of(domain: Domain, interface: str | None = None) -> System:
    """Operating system of a guest, from its agent or else from its definition. If neither tells,
    from the name of an interface in it: ``eth0`` and ``enp1s0`` are Linux's."""
    said = domain.state.guest_os if domain.state is not None else None
    if said:
        name, _, version = said.partition(" ")
        found = _system(_OWN_NAMES.get(name, name), version)
    else:
        found = _listed(domain.declared.os_id or "")
    names = (SYSTEMD_NAME, MAC_NAME, KERNEL_NAME)
    if found.family is None and any(name.fullmatch(interface or "") for name in names):
        return found._replace(family=LINUX)
    return found


def _listed(os_id: str) -> System:
    """The system for a libosinfo id, such as ``http://ubuntu.com/ubuntu/22.04``."""
    name, _, version = os_id.removeprefix("http://").partition("/")[2].partition("/")
    return _system("win" if name == "winnt" else name, version)


def _system(name: str, version: str) -> System:
    if name == "win":
        return System(WINDOWS, name, old_windows=version.lower() in _OLD_WINDOWS)
    if name in _BSD_NAMES:
        return System(name, name)
    if name in _LINUX_NAMES:
        return System(LINUX, name, _version(name, version))
    return System()


def _version(name: str, text: str) -> tuple[int, int] | None:
    if name == "archlinux" or text in _ROLLING:
        return NEWEST
    found = re.match(r"(\d{1,4})(?:\.(\d{1,4}))?(?!\d)", text, re.ASCII)
    # http://libosinfo.org/linux/2022 has a year, not a version of a distribution
    return None if found is None or name == "linux" else (int(found[1]), int(found[2] or 0))
