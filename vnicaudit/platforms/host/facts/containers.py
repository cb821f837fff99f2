"""The kind of container that facts are read in: such a place does not see its host.

Source: detect_container of systemd (src/basic/virt.c, 0099e558), which asks what the manager of the
container left in /run before files that an image may have by accident, and never needs root for
that. A file of an image says nothing where the first namespaces of the kernel are in use, as in a
virtual machine that was made from one; they have fixed numbers (include/linux/proc_ns.h of Linux,
since 3.8). Kubernetes mounts /dev/termination-log into each container (terminationMessagePath, its
default); lxcfs mounts its own /proc/stat.
"""

from __future__ import annotations

from vnicaudit.platforms.host.readings import Excerpt, HostCommand, HostFact, HostReadings

_MANAGERS = ("/run/host/container-manager", "/run/systemd/container")
_MARKS = {"/run/.containerenv": "podman", "/.dockerenv": "docker"}
_NESTED = "/sys/fs/cgroup/cgroup.type"
"""Only in a cgroup that is not the root of the (unified) tree."""
_MOUNTS = ("/proc/self/mountinfo", "/proc/1/mountinfo")
_POD, _STAT, _LXCFS = " /dev/termination-log ", " /proc/stat ", " lxcfs "
_NAMESPACES = {
    HostCommand("readlink /proc/self/ns/pid"): "pid:[4026531836]",
    HostCommand("readlink /proc/self/ns/cgroup"): "cgroup:[4026531835]",
}
"""The first namespaces of the kernel."""
_HOSTNAMECTL = HostCommand(
    "hostnamectl status", ("sos_commands/host/hostnamectl_status",), is_run=False
)


def container_of(readings: HostReadings) -> str:
    """The kind of container; empty: none."""
    mounts = next(filter(None, map(readings.text, _MOUNTS)), "")
    if _POD in mounts:
        return "kubernetes"
    manager = next(filter(None, map(readings.text, _MANAGERS)), "").strip()
    if manager and manager != "oci":
        return manager[:64]
    is_first = [
        seen.strip() == first
        for command, first in _NAMESPACES.items()
        if (seen := readings.output(command.name)) is not None
    ]
    if all(is_first) and len(is_first) == len(_NAMESPACES):
        return "other" if manager else _by_lxcfs(mounts)
    for path, name in _MARKS.items():
        if readings.text(path) is not None:
            return name
    lines = (readings.output(_HOSTNAMECTL.name) or "").split("\n")
    pairs = (line.partition(":") for line in lines)
    told = {name.strip(): value.strip() for name, _colon, value in pairs}
    if told.get("Chassis") == "container":
        return told.get("Virtualization", "other")
    is_nested = bool(manager) or not all(is_first) or readings.text(_NESTED) is not None
    return _by_lxcfs(mounts) or ("other" if is_nested else "")


def _by_lxcfs(mounts: str) -> str:
    return "lxc" if any(_STAT in line and _LXCFS in line for line in mounts.split("\n")) else ""


FACT = HostFact(
    "container",
    lambda readings: {"container": container_of(readings)},
    files=_MANAGERS,
    excerpts=(Excerpt(f"{_POD}|{_STAT}.*{_LXCFS}", _MOUNTS),),
    present=(*_MARKS, _NESTED),
    commands=(*_NAMESPACES, _HOSTNAMECTL),
)
