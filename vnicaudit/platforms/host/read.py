"""The local host -> :class:`~vnicaudit.model.host.HostConfig`."""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.host.devices import read_paths, read_vdpa_drivers
from vnicaudit.platforms.host.kernel import read_arch, read_release
from vnicaudit.platforms.host.kvm import read_kvm
from vnicaudit.platforms.host.tree import Tree
from vnicaudit.platforms.host.vhost_net import read_vhost_net
from vnicaudit.platforms.host.zerocopy import read_zerocopy


def read_host(root: str = "/", paths: Iterable[str] = ()) -> HostConfig:
    """The facts of the host this runs on. ``root`` is where its root directory is found (another
    one in a container); ``paths`` are device files its domains name, from ``<backend vhost=>``
    and ``<source dev=>`` of vDPA NICs. Versions of libvirt and QEMU are left None."""
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
