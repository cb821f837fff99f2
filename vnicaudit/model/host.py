"""The hypervisor host, as far as it affects NICs. ``None``: not requested, or unknown."""

from __future__ import annotations

import msgspec

from vnicaudit.model.version import Version


class Network(msgspec.Struct, frozen=True):
    """A libvirt network; ``actual_type`` is the type that an interface on it gets: bridge, direct
    or hostdev."""

    name: str
    actual_type: str


class HostConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """Facts of one host. Rules see this record; it holds no identity."""

    libvirt_version: Version | None = None
    qemu_version: Version | None = None
    assumed: bool = False
    """The versions were given by ``--assume-qemu`` or ``--assume-libvirt``."""
    arch: str | None = None
    kernel: str | None = None
    kvm: bool | None = None
    """``/dev/kvm`` can be used, and has hardware virtualization."""
    vhost_net: bool | None = None
    """``/dev/vhost-net`` can be opened (its module loads itself); False: neither the device nor a
    module for it exists; None also if only one of the two exists."""
    zerocopy_tx: bool | None = None
    """``vhost_net.experimental_zcopytx`` is on."""
    vhost_paths: tuple[tuple[str, bool], ...] = ()
    """Device paths that were checked (vhost and vDPA devices), and whether they exist."""
    vdpa_drivers: tuple[tuple[str, str], ...] = ()
    """vDPA devices on their bus and the driver that each is bound to, ``""`` for none."""


NO_HOST = HostConfig()
"""Facts of a host of which nothing is known."""


class Host(msgspec.Struct, frozen=True):
    """One host: its name, facts and networks."""

    name: str
    declared: HostConfig = HostConfig()
    networks: tuple[Network, ...] = ()


class VdpaDevice(msgspec.Struct, frozen=True):
    """One device on the vDPA bus. ``path`` is the path that a NIC names (``/dev/vhost-vdpa-0``);
    None: there is none, because it is not bound to the driver that creates it."""

    name: str
    path: str | None = None
    driver: str | None = None
    """``vhost_vdpa``, ``virtio_vdpa``; ``""`` if it is not bound to a driver."""
    vduse: bool | None = None
    """A program implements the device, by VDUSE."""
    shared_memory: bool | None = None
    """The guest's memory must be shared: the device reads it at the addresses of the QEMU
    process."""


def needed_memlock_kib(ram_kib: int, vdpa_count: int) -> int:
    """How much memory libvirt lets QEMU lock for a domain with that many vDPA devices, in KiB: all
    of its memory for each device, plus 1 GiB. This can easily exceed the host's memory; it is only
    a limit.

    libvirt 11.3 ``qemuDomainGetMemLockLimitBytes`` (src/qemu/qemu_domain.c): vDPA devices count
    since 7.2, each of them since 8.7. It does not hold with ``<hard_limit>`` (which is then the
    limit), with ``<locked/>`` (there is none), on ppc64 with KVM, and with VFIO or NVMe devices,
    which add to it.
    """
    return vdpa_count * ram_kib + 1024 * 1024 if vdpa_count else 0
