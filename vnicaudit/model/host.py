"""The hypervisor host, as far as it affects NICs. ``None``: not requested, or unknown."""

from __future__ import annotations

import msgspec

from vnicaudit.model.version import Version

DEADLINE = 30.0
"""Default timeout of a live host, in seconds."""


class CloudLimits(msgspec.Struct, frozen=True):
    """Limits on reading a cloud: ``rate`` requests in a second (None: no limit), and ``total``
    seconds for all that is read of it (None: no limit)."""

    rate: float | None = None
    total: float | None = 3600.0


class Network(msgspec.Struct, frozen=True):
    """A libvirt network; ``actual_type`` is what an interface on it becomes: bridge, direct or
    hostdev."""

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
    """``/dev/kvm`` can be used, with hardware virtualization behind it."""
    vhost_net: bool | None = None
    """``/dev/vhost-net`` can be opened (its module loads itself); False: neither the device nor a
    module for it exists; None also where only one of them does."""
    zerocopy_tx: bool | None = None
    """``vhost_net.experimental_zcopytx`` is on."""
    vhost_paths: tuple[tuple[str, bool], ...] = ()
    """Device paths that were checked (vhost and vDPA devices), and whether they exist."""
    vdpa_drivers: tuple[tuple[str, str], ...] = ()
    """vDPA devices on their bus and the driver each is bound to, ``""`` for none."""


class Host(msgspec.Struct, frozen=True):
    """One host: its name, facts and networks."""

    name: str
    declared: HostConfig = HostConfig()
    networks: tuple[Network, ...] = ()


class VdpaDevice(msgspec.Struct, frozen=True):
    """One device on the vDPA bus. ``path`` is what a NIC names (``/dev/vhost-vdpa-0``); None: it
    has none, as no driver that makes one is bound to it."""

    name: str
    path: str | None = None
    driver: str | None = None
    """``vhost_vdpa``, ``virtio_vdpa``; ``""`` when it is bound to none."""
    vduse: bool | None = None
    """A program is the device, by VDUSE."""
    shared_memory: bool | None = None
    """The guest's memory must be shared: the device reads it by the address QEMU has it at."""


def needed_memlock_kib(ram_kib: int, vdpa_count: int) -> int:
    """How much memory libvirt lets QEMU lock for a domain with that many vDPA devices: all of it
    for each, and 1 GiB. It is more than the host has, easily, and only a limit.

    libvirt 11.3 ``qemuDomainGetMemLockLimitBytes`` (src/qemu/qemu_domain.c): vDPA devices count
    since 7.2, each of them since 8.7. Not so with ``<hard_limit>`` (which is the limit then), with
    ``<locked/>`` (there is none), on ppc64 with KVM, and with VFIO or NVMe devices, which add to
    it.
    """
    return vdpa_count * ram_kib + 1024 * 1024 if vdpa_count else 0
