"""Facts of the host this program runs on, from files below its root directory. Nothing is written
and no module is loaded.

Every result may be None: *unknown* (not permitted, too large, gone while reading). ``root`` may be
a mount of the host's root; the kernel is the same either way.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path

from vnicaudit.model.host import HostConfig, VdpaDevice
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
        target = self.link(name)
        return None if target is None else Path(target).name

    def link(self, name: str) -> str | None:
        """A symbolic link's target; None if it is not a link."""
        try:
            return str(self.path(name).readlink())
        except OSError:
            return None

    def opens(self, name: str) -> bool | None:
        """True if a character device opens for reading and writing; None if permission is
        denied."""
        return can_open(self.path(name))


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
    ports = () if bridge is None else tree.names(f"{_NET}/{bridge}/brif")[:_MOST_PORTS]
    found = (_mtu(tree, port) for port in ports if _leaves(tree, port))
    return PathMtu(own, min((mtu for mtu in found if mtu is not None), default=None))


def _leaves(tree: Tree, port: str) -> bool:
    """True for a port that connects a Linux bridge to the outside: an adapter, a bond or a VLAN."""
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
    paths = (f"/dev/{entry}" for entry in tree.names(folder) if _CHARACTER.fullmatch(entry))
    unbound = tree.exists(f"{folder}/driver") is False
    return VdpaDevice(
        name=name,
        path=next((path for path in paths if tree.exists(path)), None),
        driver="" if unbound else tree.link_name(f"{folder}/driver"),
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
    target = tree.link(folder)
    if target is None:
        return None
    parent = Path(target).parent.name
    return "" if parent == "devices" else parent


def read_paths(tree: Tree, paths: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """Path -> whether it exists, for every vhost-vDPA device of the host and for ``paths``.
    Relative paths, and paths that cannot be seen, are left out."""
    own = {f"/dev/{name}" for name in tree.names("/dev") if name.startswith("vhost-vdpa-")}
    asked = {path for path in paths if path.startswith("/") and "\0" not in path}
    answers = ((path, tree.exists(path)) for path in sorted(own | asked))
    return tuple((path, there) for path, there in answers if there is not None)


def read_host(root: str = "/", paths: Iterable[str] = ()) -> HostConfig:
    """The facts of the host this runs on. ``root`` is the path of its root directory (another one
    in a container); ``paths`` are device files that its domains name, in ``<backend vhost=>`` and
    in ``<source dev=>`` of vDPA NICs. Versions of libvirt and QEMU are left None."""
    return read_tree(Tree(root), paths)


def read_tree(tree: Tree, paths: Iterable[str] = ()) -> HostConfig:
    """The facts of the host with this file system; see :func:`read_host`."""
    release = read_release(tree)
    arch = read_arch(tree)
    return HostConfig(
        arch=arch,
        kernel=release,
        kvm=read_kvm(tree, arch),
        vhost_net=read_vhost_net(tree, release),
        zerocopy_tx=_SWITCH.get((tree.text(_ZEROCOPY) or "").strip()),
        vhost_paths=read_paths(tree, paths),
        vdpa_drivers=tuple((device.name, device.driver or "") for device in read_vdpa(tree)),
    )


_I686 = frozenset({"i386", "i486", "i586"})
_ZEROCOPY = "/sys/module/vhost_net/parameters/experimental_zcopytx"
"""Zero-copy transmit (off by default); missing while the module is not loaded."""
_SWITCH = {"0": False, "N": False, "1": True, "Y": True}
"""A parameter of a module, of type int or bool."""


def read_release(tree: Tree) -> str:
    """``uname -r``, which names the folder of the kernel's modules."""
    text = (tree.text("/proc/sys/kernel/osrelease") or "").strip()
    return text or os.uname().release


def read_arch(tree: Tree) -> str:
    """``uname -m`` in libvirt's words: every 32-bit x86 is i686 (libvirt 11.3 virArchFromHost).
    /proc/sys/kernel/arch exists since Linux 6.1."""
    machine = (tree.text("/proc/sys/kernel/arch") or "").strip() or os.uname().machine
    return "i686" if machine in _I686 else machine


# Can ``/dev/kvm`` be used here?
#
# Opening it successfully is not enough: on some hosts the device opens without hardware
# virtualization (seen: the ``kvm_pvm`` module on a CPU without vmx or svm, where QEMU 7.2 dies with
# ``-cpu host``). ``virt-host-validate`` checks the same CPU features.


_FEATURE = {"x86_64": ("vmx", "svm"), "i686": ("vmx", "svm"), "s390x": ("sie",)}
"""Words in /proc/cpuinfo that show hardware virtualization; there are none for other
architectures."""


def read_kvm(tree: Tree, arch: str) -> bool | None:
    """True: KVM exists and works. False: there is no device. None: unknown. The device is opened
    only if the module is loaded, since opening loads it."""
    device = tree.exists("/dev/kvm")
    if device is False:
        return False
    opened = tree.opens("/dev/kvm") if device and tree.exists("/sys/module/kvm") else None
    if opened and not hardware(tree.text("/proc/cpuinfo"), arch):
        return None
    return opened


def hardware(cpuinfo: str | None, arch: str) -> bool | None:
    """True if ``/proc/cpuinfo`` lists hardware virtualization, False if its features lack it; None
    if the text has no features, or those of this architecture are unknown."""
    wanted = _FEATURE.get(arch)
    if wanted is None or cpuinfo is None:
        return None
    for line in cpuinfo.splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "features"):
            return any(word in wanted for word in words.split())
    return None


def can_open(path: Path) -> bool | None:
    """True if a character device opens for reading and writing; None if permission is denied."""
    try:
        if not stat.S_ISCHR(path.stat().st_mode):
            return False
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC))
    except PermissionError:
        return None
    except OSError:
        return False
    return True


# Can libvirt open ``/dev/vhost-net``?
#
# The module loads itself when the device is opened (alias ``devname:vhost-net``), so it need not be
# loaded yet. The device itself is created at boot from ``modules.devname``, or when the module is
# loaded.


_LISTED = re.compile(r"(?:^|/)vhost[_-]net\.ko(?:\.\w+)?(?::|$)", re.MULTILINE)
"""In ``modules.dep`` or ``modules.builtin``, compressed or not."""
_CONFIGURED = re.compile(r"^CONFIG_VHOST_NET=[ym]$", re.MULTILINE)


def read_vhost_net(tree: Tree, release: str) -> bool | None:
    """True: opening the device works, for the running kernel's ``release``. False: neither device
    nor module exist. None: only one of the two exists, or one of them cannot be seen (in a
    container, for example)."""
    device, available = tree.exists("/dev/vhost-net"), _available(tree, release)
    if tree.exists("/sys/module/vhost_net") or (device and available is not False):
        return True
    return False if device is False and available is False else None


def _available(tree: Tree, release: str) -> bool | None:
    """True if the kernel has the module; None if neither its configuration (/proc/config.gz, not on
    every distribution) nor the lists of its modules tell."""
    config = tree.text("/proc/config.gz")
    if config is not None and _CONFIGURED.search(config) is None:
        return False
    folder = f"/lib/modules/{release}"
    lists = [tree.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin")]
    known = [text for text in lists if text is not None]
    if any(map(_LISTED.search, known)):
        return True
    return False if len(known) == len(lists) else None
