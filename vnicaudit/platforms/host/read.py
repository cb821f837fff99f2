"""Read the local host into :class:`~vnicaudit.model.host.HostConfig`.

``root`` may be a mount of the host's root; the kernel is the same either way.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path

from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.host.tree import Tree, read_paths, read_vdpa_drivers


def read_host(root: str = "/", paths: Iterable[str] = ()) -> HostConfig:
    """The facts of the host this runs on. ``root`` is the path of its root directory (another one
    in a container); ``paths`` are device files that its domains name, in ``<backend vhost=>`` and
    in ``<source dev=>`` of vDPA NICs. Versions of libvirt and QEMU are left None."""
    tree = Tree(root)
    release = read_release(tree)
    arch = read_arch(tree)
    return HostConfig(
        arch=arch,
        kernel=release,
        kvm=read_kvm(tree, arch),
        vhost_net=read_vhost_net(tree, release),
        zerocopy_tx=read_zerocopy(tree),
        vhost_paths=read_paths(tree, paths),
        vdpa_drivers=read_vdpa_drivers(tree),
    )


_I686 = frozenset({"i386", "i486", "i586"})


def read_release(tree: Tree) -> str:
    """``uname -r``, which names the folder of the kernel's modules."""
    text = (tree.text("/proc/sys/kernel/osrelease") or "").strip()
    return text or os.uname().release


def read_arch(tree: Tree) -> str:
    """``uname -m`` in libvirt's words. /proc/sys/kernel/arch exists since Linux 6.1."""
    text = (tree.text("/proc/sys/kernel/arch") or "").strip()
    return libvirt_arch(text or os.uname().machine)


def libvirt_arch(machine: str) -> str:
    """libvirt 11.3 virArchFromHost: every 32-bit x86 is i686; others are named as the kernel
    names them."""
    return "i686" if machine in _I686 else machine


# Can ``/dev/kvm`` be used here?
#
# Opening it successfully is not enough: on some hosts the device opens without hardware
# virtualization (seen: the ``kvm_pvm`` module on a CPU without vmx or svm, where QEMU 7.2 dies with
# ``-cpu host``). ``virt-host-validate`` checks the same CPU features.


_FEATURE = {"x86_64": ("vmx", "svm"), "i686": ("vmx", "svm"), "s390x": ("sie",)}
"""Words in /proc/cpuinfo that show hardware virtualization; there are none for other
architectures."""


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


def kvm_is_usable(
    *, device: bool | None, loaded: bool | None, opened: bool | None, cpu: bool | None
) -> bool | None:
    """True: KVM exists and works. False: there is no device. None: unknown."""
    if device is False:
        return False
    if device is None or not loaded or opened is None:
        return None
    return opened and (True if cpu else None)


def read_kvm(tree: Tree, arch: str) -> bool | None:
    """Read whether KVM can be used. The device is opened only if the module is loaded, since
    opening loads it."""
    device = tree.exists("/dev/kvm")
    loaded = tree.exists("/sys/module/kvm")
    opened = can_open(tree.path("/dev/kvm")) if device and loaded else None
    cpu = hardware(tree.text("/proc/cpuinfo"), arch)
    return kvm_is_usable(device=device, loaded=loaded, opened=opened, cpu=cpu)


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


# Can libvirt open ``/dev/vhost-net``, and is its zero-copy transmit on (a module parameter, off by
# default)?
#
# The module loads itself when the device is opened (alias ``devname:vhost-net``), so it need not be
# loaded yet. The device itself is created at boot from ``modules.devname``, or when the module is
# loaded.


_DEVICE = "/dev/vhost-net"
_LISTED = re.compile(r"(?:^|/)vhost[_-]net\.ko(?:\.\w+)?(?::|$)", re.MULTILINE)

_CONFIGURED = re.compile(r"^CONFIG_VHOST_NET=[ym]$", re.MULTILINE)


def listed(modules: str) -> bool:
    """True if ``modules.dep`` or ``modules.builtin`` lists the module, compressed or not."""
    return _LISTED.search(modules) is not None


def configured(config: str) -> bool:
    """True if a kernel configuration has vhost-net, as a module or built in."""
    return _CONFIGURED.search(config) is not None


def vhost_net_is_usable(
    *, device: bool | None, loaded: bool | None, available: bool | None
) -> bool | None:
    """True: opening the device works. False: neither device nor module exist. None: only one of the
    two exists, or one of them cannot be seen (in a container, for example)."""
    if device and available is not False:
        return True
    if loaded:
        return True
    return False if device is False and available is False else None


def read_vhost_net(tree: Tree, release: str) -> bool | None:
    """Read whether vhost-net can be opened, for the running kernel's ``release``."""
    loaded = tree.exists("/sys/module/vhost_net")
    available = _available(tree, release)
    return vhost_net_is_usable(device=tree.exists(_DEVICE), loaded=loaded, available=available)


def _available(tree: Tree, release: str) -> bool | None:
    """True if the kernel has the module; None if neither its configuration (/proc/config.gz, not on
    every distribution) nor the lists of its modules tell."""
    config = tree.text("/proc/config.gz")
    if config is not None and not configured(config):
        return False
    folder = f"/lib/modules/{release}"
    lists = [tree.text(f"{folder}/{name}") for name in ("modules.dep", "modules.builtin")]
    known = [text for text in lists if text is not None]
    if any(listed(text) for text in known):
        return True
    return False if len(known) == len(lists) else None


_PARAMETER = "/sys/module/vhost_net/parameters/experimental_zcopytx"


def zerocopy_of(text: str) -> bool | None:
    """Off or on, from ``0``/``1`` (an int parameter) or ``N``/``Y``; None for anything else."""
    word = text.strip()
    if word in ("0", "N"):
        return False
    return True if word in ("1", "Y") else None


def read_zerocopy(tree: Tree) -> bool | None:
    """Read whether zero-copy transmit is on; None while the module is not loaded."""
    text = tree.text(_PARAMETER)
    return None if text is None else zerocopy_of(text)
