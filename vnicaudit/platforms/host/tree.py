"""Files below a host's root directory, read without changing anything.

Every result may be None: *unknown* (not permitted, too large, gone while reading).
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.nic import PathMtu

_MAX_BYTES = 16 * 1024 * 1024
"""The largest file that is read, modules.dep, is below 1 MB on distribution kernels."""


class Tree:
    """A host's file system. ``root`` is ``/``, or the mount point of the host's root."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)

    def path(self, name: str) -> Path:
        """The local path for an absolute path of the host."""
        return self._root / name.lstrip("/")

    def text(self, name: str) -> str | None:
        """The content of a file, unpacked if its name ends in ``.gz``; None if it is missing or
        cannot be read."""
        path = self.path(name)
        try:
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except (OSError, EOFError, zlib.error):
            return None
        return None if len(data) > _MAX_BYTES else data.decode("utf-8", "replace")

    def exists(self, name: str) -> bool | None:
        """True if the path exists, symbolic links followed; None if that cannot be seen."""
        try:
            self.path(name).stat()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return None
        return True

    def names(self, folder: str) -> tuple[str, ...]:
        """The names in a folder, ordered; empty if it is missing or cannot be read."""
        try:
            return tuple(sorted(entry.name for entry in self.path(folder).iterdir()))
        except OSError:
            return ()

    def link_name(self, name: str) -> str | None:
        """The last part of a symbolic link's target; None if it is not a link."""
        try:
            return self.path(name).readlink().name
        except OSError:
            return None


# Network interfaces of a host, as far as they limit the size of a guest's frames.
#
# Source: Documentation/ABI/testing/sysfs-class-net of Linux; only tun devices have ``tun_flags``
# (drivers/net/tun.c).


_NET = "/sys/class/net"
_MOST_PORTS = 4096
_LARGEST = 65_535


def read_path_mtu(tree: Tree, tap: str) -> PathMtu | None:
    """The MTUs (bytes) on the path of a NIC's frames from its tap on; None if there is no such
    interface."""
    if "/" in tap or tap.startswith("."):
        return None
    own = _mtu(tree, tap)
    if own is None:
        return None
    bridge = tree.link_name(f"{_NET}/{tap}/master")
    return PathMtu(own, None if bridge is None else _uplink(tree, bridge))


def _uplink(tree: Tree, bridge: str) -> int | None:
    """The smallest MTU of the ports that connect a Linux bridge to the outside: adapters, bonds and
    VLANs."""
    ports = tree.names(f"{_NET}/{bridge}/brif")[:_MOST_PORTS]
    found = (_mtu(tree, port) for port in ports if _leaves(tree, port))
    return min((mtu for mtu in found if mtu is not None), default=None)


def _leaves(tree: Tree, port: str) -> bool:
    if tree.exists(f"{_NET}/{port}/tun_flags"):
        return False
    if tree.exists(f"{_NET}/{port}/device") or tree.exists(f"{_NET}/{port}/bonding"):
        return True
    return "DEVTYPE=vlan" in (tree.text(f"{_NET}/{port}/uevent") or "").split()


def _mtu(tree: Tree, name: str) -> int | None:
    text = (tree.text(f"{_NET}/{name}/mtu") or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 5):
        return None
    return int(text) if 0 < int(text) <= _LARGEST else None


# Device files that a NIC may name, and the devices on the vDPA bus: those on which a NIC of type
# vdpa can be put, and their requirements.
#
# Paths, from the source of Linux: ``/sys/bus/vdpa/devices/NAME`` is a link to the device, below its
# parent (drivers/vdpa/vdpa.c). ``vhost-vdpa-N`` in it is its character device
# (drivers/vhost/vdpa.c, vhost_vdpa_probe), which libvirt searches there too (node_device_udev.c,
# udevGetVDPACharDev). A device of VDUSE is below one of the class ``vduse``, in
# ``/sys/devices/virtual/vduse/NAME/NAME`` (drivers/vdpa/vdpa_user/vduse_dev.c, vduse_create_dev and
# vduse_dev_init_vdpa; a qtest for QEMU uses this path). A simulated one has no parent
# (drivers/vdpa/vdpa_sim/vdpa_sim.c, vdpasim_create). Devices are not opened, because that resets
# them.


_BUS = "/sys/bus/vdpa/devices"
_CHARACTER = re.compile(r"vhost-vdpa-\d+")
_SIMULATOR = "/sys/module/vdpa_sim/parameters/use_va"
_HARDWARE = frozenset({"pci", "auxiliary"})


def read_vdpa(tree: Tree) -> tuple[VdpaDevice, ...]:
    """The devices, by name; empty if there is no such bus, or it cannot be seen."""
    return tuple(_device(tree, name) for name in tree.names(_BUS))


def _device(tree: Tree, name: str) -> VdpaDevice:
    folder = f"{_BUS}/{name}"
    parent = _parent(tree, folder)
    bus = tree.link_name(f"{folder}/../subsystem") if parent else None
    return VdpaDevice(
        name=name,
        path=_path(tree, folder),
        driver=_driver(tree, folder),
        vduse=None if parent is None else bus == "vduse",
        shared_memory=needs_shared_memory(parent, bus, tree.text(_SIMULATOR)),
    )


def needs_shared_memory(parent: str | None, bus: str | None, simulator: str | None) -> bool | None:
    """True if vhost-vdpa passes the guest's memory to the device as files (``use_va``): memory that
    QEMU has not mapped shared from a file is then skipped silently (drivers/vhost/vdpa.c,
    vhost_vdpa_va_map). True for VDUSE, False for hardware; for a simulator its module's parameter
    decides, since Linux 6.4 (``simulator``, None without that parameter). None: unknown."""
    if bus == "vduse":
        return True
    if bus in _HARDWARE:
        return False
    return {"Y": True, "N": False}.get((simulator or "").strip()) if parent == "" else None


def _parent(tree: Tree, folder: str) -> str | None:
    """The parent device; ``""`` if there is none, None if that is unknown."""
    try:
        target = tree.path(folder).readlink()
    except OSError:
        return None
    parent = Path(target).parent.name
    return "" if parent == "devices" else parent


def _path(tree: Tree, folder: str) -> str | None:
    for entry in tree.names(folder):
        path = f"/dev/{entry}"
        if _CHARACTER.fullmatch(entry) and tree.exists(path):
            return path
    return None


def _driver(tree: Tree, folder: str) -> str | None:
    driver = f"{folder}/driver"
    return "" if tree.exists(driver) is False else tree.link_name(driver)


def read_paths(tree: Tree, paths: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Path -> whether it exists, for every vhost-vDPA device of the host and for ``paths``.
    Relative paths, and paths that cannot be seen, are left out."""
    own = {f"/dev/{name}" for name in tree.names("/dev") if name.startswith("vhost-vdpa-")}
    asked = {path for path in paths if path.startswith("/") and "\0" not in path}
    answers = ((path, tree.exists(path)) for path in sorted(own | asked))
    return tuple((path, there) for path, there in answers if there is not None)


def read_vdpa_drivers(tree: Tree) -> tuple[tuple[str, str], ...]:
    """vDPA device -> driver (``vhost_vdpa``, ``virtio_vdpa``; ``""`` if it is bound to none)."""
    return tuple((name, tree.link_name(f"{_BUS}/{name}/driver") or "") for name in tree.names(_BUS))
