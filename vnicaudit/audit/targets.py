"""What the user named -> what to read: paths, standard input, live connections, clouds.

Recognition of files is by content (see :mod:`vnicaudit.audit.readers`), never by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.report import ReadError

Kind = Literal["path", "stdin", "proc", "libvirt", "nova", "openstack"]

_URI = re.compile(r"([A-Za-z][A-Za-z0-9]*)(\+[A-Za-z0-9]+)?:///?")
_DRIVERS = ("qemu", "test", "xen", "lxc", "ch", "bhyve")
"""libvirt drivers this reads from; only QEMU's NICs are judged."""
CLOUD = "openstack:"
"""Before the name of a cloud in clouds.yaml."""

_LATER = "kube:"


class Target(msgspec.Struct, frozen=True):
    """One target: its ``name`` as the user gave it, and what kind of thing that is."""

    name: str
    kind: Kind


def target_of(name: str) -> Target:
    """Tell what a target is. Raises UsageError for kinds this version does not read."""
    if name == "-":
        return Target(name, "stdin")
    if name.startswith(_LATER):
        raise UsageError(
            f"{name}: targets of this kind are not read yet; give domain XML, a libvirt URI, "
            "openstack:CLOUD, QEMU command lines or nova.conf"
        )
    if name.startswith(CLOUD):
        return _cloud(name)
    uri = _URI.match(name)
    if uri is not None and not os.path.exists(name):
        if uri.group(1) not in _DRIVERS:
            raise UsageError(
                f"{name}: not a libvirt URI this reads; one begins with {', '.join(_DRIVERS)}, "
                "for example qemu:///system"
            )
        from urllib.parse import urlsplit  # slow to load, and for live hosts only

        try:
            urlsplit(name)
        except ValueError as error:
            raise UsageError(f"{name}: not a URI: {error}") from None
        return Target(name, "libvirt")
    if _is_proc(name):
        return Target(name, "proc")
    return Target(name, "path")


def _cloud(name: str) -> Target:
    cloud, slash, region = name.removeprefix(CLOUD).strip().partition("/")
    if slash and not name.rpartition("/")[2].strip():
        alone = name.rstrip("/ ")
        raise UsageError(
            f"{name}: no region is named behind the slash; write {alone} for the region that is "
            f"configured, or {alone}/* for all of them"
        )
    if cloud:
        return Target(name, "openstack")
    if chosen := os.environ.get("OS_CLOUD", "").strip():
        return Target(f"{CLOUD}{chosen}{slash}{region}", "openstack")
    raise UsageError(
        f"{name}: no cloud is named; write openstack:NAME with a name from clouds.yaml (or set "
        "OS_CLOUD), or openstack:envvars for what the OS_* variables say"
    )


def _is_proc(name: str) -> bool:
    """A proc file system, or one process in it."""
    return os.path.isfile(os.path.join(name, "self", "cmdline")) or (
        os.path.isfile(os.path.join(name, "cmdline")) and os.path.isdir(os.path.join(name, "fd"))
    )


def _nothing(path: str) -> bool:
    del path
    return False


def walk(top: str, leave_out: Callable[[str], bool] = _nothing) -> Iterator[str | ReadError]:
    """Every regular file below ``top`` (or ``top`` itself), in a stable order, without the files
    and folders that ``leave_out`` says.

    Links are followed; a folder met twice is not entered again. Sockets, devices and FIFOs are
    passed over. What cannot be listed is a ReadError.
    """
    if not os.path.isdir(top):
        yield top
        return
    seen: set[tuple[int, int]] = set()
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            status = os.stat(folder)
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            listing = _listing(folder)
        except OSError as error:
            yield ReadError(error.strerror or str(error), folder)
            continue
        while listing.files:  # dropped as they are handed out
            if not leave_out(path := _below(folder, listing.files.pop())):
                yield path
        yield from (error for error in listing.errors if not leave_out(error.file or folder))
        below = (_below(folder, name) for name in reversed(listing.folders))
        pending.extend(path for path in below if not leave_out(path))


def _below(folder: str, name: str) -> str:
    """The path of something in a folder; without the ``./`` that says nothing, and that suppression
    patterns and build servers would stumble over."""
    return name if folder == os.curdir else os.path.join(folder, name)


class _Listing(msgspec.Struct, frozen=True):
    """Names in one folder. Names only: a folder may hold 100,000 files. ``files`` are sorted
    backwards, to be taken from the end."""

    files: list[str]
    folders: list[str]
    errors: list[ReadError]


def _listing(folder: str) -> _Listing:
    found = _Listing([], [], [])
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                if entry.is_file():
                    found.files.append(entry.name)
                elif entry.is_dir():
                    found.folders.append(entry.name)
                elif entry.is_symlink():
                    os.stat(entry.path)  # a link to a FIFO or device is passed over
            except OSError as error:
                found.errors.append(ReadError(_unreachable(entry, error), entry.path))
    found.files.sort(reverse=True)
    found.folders.sort()
    found.errors.sort(key=lambda error: error.file or "")
    return found


def _unreachable(entry: os.DirEntry[str], error: OSError) -> str:
    reason = error.strerror or str(error)
    return f"a link that leads nowhere: {reason}" if entry.is_symlink() else reason
