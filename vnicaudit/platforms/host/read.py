"""Read the local host into :class:`~vnicaudit.model.host.HostConfig`.

``root`` may be a mount of the host's root; the kernel is the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.host.kvm import read_kvm
from vnicaudit.platforms.host.tree import Tree, read_paths, read_vdpa_drivers
from vnicaudit.platforms.host.vhost_net import read_vhost_net, read_zerocopy


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
