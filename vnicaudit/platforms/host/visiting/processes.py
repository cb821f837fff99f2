"""The QEMU processes of a host that was visited, as domains: their command lines, the descriptors
of vhost-net that they have open, and the taps that their NICs' descriptors belong to.

A descriptor of a tap names it in ``/proc/PID/fdinfo/N``, as ``iff:`` (``tun_chr_show_fdinfo`` in
drivers/net/tun.c of Linux). That of a macvtap does not: it is ``/dev/tapN``, and the link has a
folder ``tapN`` in sysfs (drivers/net/macvtap.c).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from vnicaudit.model.domain import Domain, DomainState, LiveFacts
from vnicaudit.model.finding import Location
from vnicaudit.model.nic import RunningQemu
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.host.facts.processes import (
    AWAY,
    DESCRIPTORS,
    HIDDEN,
    MACVTAPS,
    TAPS,
    qemus_of,
)
from vnicaudit.platforms.host.readings import HostReadings, files_in
from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.proc import arguments_in, domain_of, is_vhost_net, running_in

_NODES = "/dev/tap"
_FOLDER = re.compile(r"/proc/([0-9]{1,9})/fd:")
_TAP = re.compile(r"/proc/([0-9]{1,9})/fdinfo/([0-9]{1,9})")


class SeenQemu(NamedTuple):
    """One process: what it runs, its arguments, and the tap of each of its descriptors that has
    one, by number."""

    qemu: RunningQemu
    arguments: Arguments
    taps: Mapping[str, str]


def guests_in(
    readings: HostReadings, target: str, *, elsewhere: bool
) -> Iterator[Domain | ReadError]:
    """The guests of the processes, and errors for those that cannot be understood. ``elsewhere``:
    also those of other network namespaces, whose taps are no links of this one."""
    for seen in seen_qemus(readings, target, elsewhere=elsewhere):
        if isinstance(seen, ReadError):
            yield seen
        else:
            domain = _with_ends(domain_of(seen.qemu, target), seen.arguments, seen.taps)
            yield msgspec.structs.replace(domain, live=LiveFacts(DomainState(active=True)))
            yield from domain.unread


def seen_qemus(
    readings: HostReadings, target: str, *, elsewhere: bool
) -> Iterator[SeenQemu | ReadError]:
    """The processes themselves; see :func:`guests_in`."""
    found = qemus_of(readings)
    if found is None:
        told = "the QEMU processes there could not be listed, which needs the grep of GNU"
        yield ReadError(told, target)
        return
    if readings.output(HIDDEN) is not None:
        hidden = "processes of other users are hidden there (hidepid): log in as root, or sudo=true"
        yield ReadError(hidden, target)
    away = frozenset((readings.output(AWAY) or "").split())
    open_ones = _descriptors(readings.output(DESCRIPTORS) or "")
    taps = _taps(readings.output(TAPS) or "")
    macvtaps = _macvtaps(readings.output(MACVTAPS) or "")
    for pid, words in found.items():
        path = f"/proc/{pid}/cmdline"
        if path in away and not elsewhere:
            continue
        seen = open_ones.get(pid)
        vhost = None if seen is None else seen.vhost
        qemu = running_in(words, words[0], Location(target), pid, vhost)
        if isinstance(qemu, ReadError):
            yield msgspec.structs.replace(qemu, message=f"{qemu.message} ({path})", file=target)
            continue
        own = taps.get(pid, {})
        if seen is not None and path not in away:
            own |= {fd: macvtaps[node] for fd, node in seen.taps.items() if node in macvtaps}
        yield SeenQemu(qemu, arguments_in(words), own)


class _OpenOnes:
    """Of one process: the number of descriptors of vhost-net, and those of nodes of macvtaps."""

    def __init__(self) -> None:
        self.vhost = 0
        self.taps: dict[str, str] = {}


def _descriptors(text: str) -> dict[int, _OpenOnes]:
    """By process, from ``ls -lnR``. Folders that cannot be read are left out: every QEMU has a
    descriptor 0."""
    found: dict[int, _OpenOnes] = {}
    pid = None
    for line in text.split("\n"):
        folder = _FOLDER.fullmatch(line)
        if folder is not None:
            pid = int(folder[1])
        elif pid is not None and " -> " in line:
            start, _arrow, path = line.rpartition(" -> ")
            seen = found.setdefault(pid, _OpenOnes())
            seen.vhost += is_vhost_net(path)
            if path.startswith(_NODES):
                seen.taps[start.rpartition(" ")[2]] = path[len(_NODES) :]
    return found


def _macvtaps(text: str) -> dict[str, str]:
    """Number of the node -> the macvtap it belongs to."""
    parts = (line.split("/") for line in text.split("\n"))
    return {part[5].removeprefix("tap"): part[4] for part in parts if len(part) == 6}


def _taps(text: str) -> dict[int, dict[str, str]]:
    """Process -> descriptor -> the tap it belongs to."""
    found: dict[int, dict[str, str]] = {}
    for path, line in files_in(text).items():
        place = _TAP.fullmatch(path)
        name = line.partition(":")[2].strip()
        if place is not None and name:
            found.setdefault(int(place[1]), {})[place[2]] = name
    return found


_End = tuple[str | None, str | None]
"""A tap; the socket of vhost-user or the device of vDPA."""


def _with_ends(domain: Domain, arguments: Arguments, taps: Mapping[str, str]) -> Domain:
    """The domain, each NIC with the tap that its netdev's descriptor or name stands for, or with
    the socket of vhost-user or the device of vDPA. ``taps`` is empty if they are those of another
    namespace, or not to be seen."""
    sockets = {one.keys.get("id"): one.keys.get("path") for one in arguments.parsed("chardev")}

    def end_of(keys: Mapping[str, str]) -> _End:
        descriptor = (keys.get("fd") or keys.get("fds") or "").partition(":")[0]
        tap = taps.get(descriptor) or keys.get("ifname")
        return tap if taps else None, sockets.get(keys.get("chardev", "")) or keys.get("vhostdev")

    by_netdev = {one.keys.get("id"): end_of(one.keys) for one in arguments.parsed("netdev")}
    named: dict[str, _End] = {}
    nameless: list[_End] = []
    for one in arguments.parsed("device", "net", "nic"):
        own = one.name == "nic" and "netdev" not in one.keys
        end = end_of(one.keys) if own else by_netdev.get(one.keys.get("netdev", ""))
        name = one.keys.get("id") or one.keys.get("mac", "").lower()
        if name and end is not None:
            named[name] = end
        elif end is not None:
            nameless.append(end)
    names = [nic.alias or (nic.mac or "").lower() for nic in domain.nics]
    in_order = iter(nameless if names.count("") == len(nameless) else ())
    nics = []
    for nic, name in zip(domain.nics, names, strict=True):
        tap, source = named.get(name, (None, None)) if name else next(in_order, (None, None))
        nics.append(msgspec.structs.replace(nic, target_dev=tap, source=source))
    return msgspec.structs.replace(domain, nics=tuple(nics))
