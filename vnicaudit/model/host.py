"""The hypervisor host, as far as it bears on NICs. ``None``: nobody asked, or it cannot be told."""

from __future__ import annotations

import msgspec

from vnicaudit.model.version import Version

DEADLINE = 30.0
"""Seconds a live host may keep silent, where nobody says otherwise."""


class Network(msgspec.Struct, frozen=True):
    """A libvirt network; ``actual_type`` is what an interface on it becomes: bridge, direct or
    hostdev."""

    name: str
    actual_type: str


class HostConfig(msgspec.Struct, frozen=True, cache_hash=True):
    """Facts of one host. Rules see this record; identity stays outside of it."""

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
    """Device paths that were looked at (vhost and vDPA devices) and whether they exist."""
    vdpa_drivers: tuple[tuple[str, str], ...] = ()
    """vDPA devices on their bus and the driver each is bound to, ``""`` for none."""


class Host(msgspec.Struct, frozen=True):
    """One host: its name, facts and networks."""

    name: str
    declared: HostConfig = HostConfig()
    networks: tuple[Network, ...] = ()
