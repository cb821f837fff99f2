"""Checks of this machine: libvirt's sockets, QEMU in /proc, vhost-net, clouds, the state folder.
Nothing is connected to: a connection may start libvirt."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from vnicaudit.base.wording import count
from vnicaudit.cli.completion.clouds import cloud_names
from vnicaudit.cli.doctor.check import Check
from vnicaudit.cli.doctor.extras import install, is_installed
from vnicaudit.cli.wiring.machine import Machine

_SOCKETS = ("virtqemud-sock-ro", "libvirt-sock-ro")
_LIVE_NICS = "the NICs of this hypervisor's domains (files in /etc/libvirt/qemu are)"


def check_libvirt(folder: Path = Path("/run/libvirt")) -> Check:
    """The read-only socket of qemu:///system, of virtqemud or libvirtd."""
    sockets = [folder / name for name in _SOCKETS if os.path.lexists(folder / name)]
    if not sockets:
        return Check("libvirt", "absent", f"no socket in {folder}: libvirt does not run here")
    if not is_installed("libvirt"):
        missing = f"{sockets[0]}: libvirt-python is missing"
        return Check("libvirt", "problem", missing, _LIVE_NICS, install("libvirt"))
    open_ones = [one for one in sockets if os.access(one, os.W_OK)]
    if open_ones:
        return Check("libvirt", "ok", f"qemu:///system by {open_ones[0]}")
    denied = f"{sockets[0]}: permission denied"
    remedy = "run as root, or join the group of the socket (often libvirt)"
    return Check("libvirt", "problem", denied, _LIVE_NICS, remedy)


def check_qemu(machine: Machine) -> Check:
    """QEMU's processes: their open descriptors prove vhost."""
    unknown = "vhost, queues and rings as they really are; the definitions are judged"
    if machine.hidden:
        hidden = "processes of other users are hidden (hidepid)"
        return Check("/proc", "problem", hidden, unknown, "run as root")
    if not machine.qemus:
        return Check("/proc", "absent", "no QEMU runs here, or none that can be seen")
    seen = count(machine.qemus, "running QEMU")
    if not machine.closed:
        return Check("/proc", "ok", f"{seen}, descriptors can be read")
    closed = f"{seen}; descriptors of {machine.closed} cannot be read"
    return Check("/proc", "problem", closed, unknown, "run as root")


def check_vhost_net(machine: Machine) -> Check:
    """Whether QEMU could use vhost-net here; that it cannot is what an audit finds."""
    if machine.vhost_net is None:
        message = "cannot be told: the device or the kernel's modules cannot be seen"
        if not machine.qemus:
            return Check("/dev/vhost-net", "absent", message)
        remedy = "run on the host itself, not in a container"
        return Check("/dev/vhost-net", "problem", message, "whether vhost-net is there", remedy)
    if machine.vhost_net:
        return Check("/dev/vhost-net", "ok", "the kernel has vhost-net")
    return Check(
        "/dev/vhost-net", "absent", "this kernel has no vhost-net: QEMU itself carries each packet"
    )


def check_clouds() -> Check:
    """The clouds of clouds.yaml."""
    names = [name for name, _file in cloud_names()]
    if os.environ.get("OS_AUTH_URL"):
        names.append("envvars")
    if not names:
        return Check("openstack", "absent", "no clouds.yaml, and no OS_* variables are set")
    listed = ", ".join(f"openstack:{name}" for name in names[:5])
    listed += f" and {len(names) - 5} more" if len(names) > 5 else ""
    if is_installed("openstack"):
        return Check("openstack", "ok", listed)
    missing = f"{listed}: openstacksdk is missing"
    return Check("openstack", "problem", missing, "the servers of these clouds",
                 install("openstack"))  # fmt: skip


def check_state(folder: str) -> Check:
    """The state folder, or the nearest one above it: `apply` and `bench` write there."""
    place = Path(folder)
    there = next((one for one in (place, *place.parents) if os.path.exists(one)), Path("/"))
    if os.access(there, os.W_OK | os.X_OK):
        return Check("state", "ok", f"{folder} can be written")
    message = f"{folder} cannot be written: apply, rollback and bench need it"
    return Check("state", "absent", message, "", "name another with --state, or run as root")


def is_complete(checks: Iterable[Check]) -> bool:
    """True where an audit from here would judge all that there is."""
    return all(one.result != "problem" for one in checks)
