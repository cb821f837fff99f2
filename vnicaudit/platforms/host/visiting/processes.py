"""The QEMU processes of a host that was visited, as domains: their command lines, the descriptors
of vhost-net that they have open, and the taps that their NICs' descriptors belong to.

A descriptor of a tap names it in ``/proc/PID/fdinfo/N``, as ``iff:`` (``tun_chr_show_fdinfo`` in
drivers/net/tun.c of Linux).
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
from vnicaudit.platforms.host.readings import HostFact, HostReadings, files_in
from vnicaudit.platforms.qemu.arguments import Arguments
from vnicaudit.platforms.qemu.proc import arguments_in, domain_of, is_qemu, is_vhost_net, running_in

_LINES, _OPEN, _TAPS, _AWAY = "qemu", "qemu descriptors", "qemu taps", "qemu elsewhere"
_HIDDEN = "qemu hidden"
_SCRIPT = rf"""
qemus=$(printf '%s\0' /proc/[0-9]*/cmdline |
    xargs -0 grep -zslE '^(.*/)?([.]?qemu-system-[A-Za-z0-9_.-]+|qemu-kvm|kvm)$' 2>/dev/null)
qemu_lines() {{
    printf 'x\0' | grep -qzHZ x || return 3
    [ $# = 0 ] || contents "$@"
}}
qemu_descriptors() {{
    [ $# = 0 ] || ls -lnR "$@" 2>/dev/null | grep -aE '^/proc/|/dev/vhost-| 0 -> '
    true
}}
fact '{_LINES}' qemu_lines $qemus
folders= taps= away=
for file in $qemus; do
    folder=${{file%/cmdline}}
    folders="$folders $folder/fd"
    if [ "$folder/ns/net" -ef /proc/self/ns/net ]; then taps="$taps $folder/fdinfo/*"
    elif [ -e "$folder/ns/net" ]; then away="$away $file"
    fi
done
fact '{_OPEN}' qemu_descriptors $folders
[ -z "$taps" ] || fact '{_TAPS}' excerpt '^iff:.*' $taps
part '{_AWAY}'
printf '%s\n' $away
[ -e /proc/1/cmdline ] || part '{_HIDDEN}'
"""


QEMUS = HostFact("qemu", script=_SCRIPT)
"""They are no part of HostFacts, but the host's guests."""
_PATH = re.compile(r"/proc/([0-9]{1,9})/cmdline")
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
    lines = readings.output(_LINES)
    if lines is None:
        told = "the QEMU processes there could not be listed, which needs the grep of GNU"
        yield ReadError(told, target)
        return
    if readings.output(_HIDDEN) is not None:
        hidden = "processes of other users are hidden there (hidepid): log in as root, or sudo=true"
        yield ReadError(hidden, target)
    away = frozenset((readings.output(_AWAY) or "").split())
    descriptors = _descriptors(readings.output(_OPEN) or "")
    taps = _taps(readings.output(_TAPS) or "")
    for path, text in files_in(lines).items():
        number, words = _PATH.fullmatch(path), text.split("\0")
        if number is None or not is_qemu(words[0]) or (path in away and not elsewhere):
            continue
        pid = int(number[1])
        found = running_in(words, words[0], Location(target), pid, descriptors.get(pid))
        if isinstance(found, ReadError):
            yield msgspec.structs.replace(found, message=f"{found.message} ({path})", file=target)
        else:
            yield SeenQemu(found, arguments_in(words), taps.get(pid, {}))


def _descriptors(text: str) -> dict[int, int]:
    """Process -> number of descriptors of vhost-net, from ``ls -lnR``. Folders that cannot be read
    are left out: every QEMU has a descriptor 0."""
    found: dict[int, int] = {}
    pid = None
    for line in text.split("\n"):
        folder = _FOLDER.fullmatch(line)
        if folder is not None:
            pid = int(folder[1])
        elif pid is not None and " -> " in line:
            found[pid] = found.get(pid, 0) + is_vhost_net(line.rpartition(" -> ")[2])
    return found


def _taps(text: str) -> dict[int, dict[str, str]]:
    """Process -> descriptor -> the tap it belongs to."""
    found: dict[int, dict[str, str]] = {}
    for path, line in files_in(text).items():
        place = _TAP.fullmatch(path)
        name = line.partition(":")[2].strip()
        if place is not None and name:
            found.setdefault(int(place[1]), {})[place[2]] = name
    return found


def _with_ends(domain: Domain, arguments: Arguments, taps: Mapping[str, str]) -> Domain:
    """The domain, each NIC with the tap that its netdev's descriptor or name stands for, or with
    the socket of vhost-user or the device of vDPA. ``taps`` is empty if they are those of another
    namespace, or not to be seen."""
    sockets = {one.keys.get("id"): one.keys.get("path") for one in arguments.parsed("chardev")}
    by_netdev: dict[str | None, tuple[str | None, str | None]] = {}
    for one in arguments.parsed("netdev"):
        descriptor = (one.keys.get("fd") or one.keys.get("fds") or "").partition(":")[0]
        tap = taps.get(descriptor) or one.keys.get("ifname")
        socket = sockets.get(one.keys.get("chardev", ""))
        by_netdev[one.keys.get("id")] = tap if taps else None, socket or one.keys.get("vhostdev")
    by_device = {
        one.keys.get("id") or one.keys["mac"].lower(): by_netdev.get(one.keys.get("netdev"))
        for one in arguments.parsed("device")
        if "id" in one.keys or "mac" in one.keys
    }
    nics = []
    for nic in domain.nics:
        tap, source = by_device.get(nic.alias or (nic.mac or "").lower()) or (None, None)
        nics.append(msgspec.structs.replace(nic, target_dev=tap, source=source))
    return msgspec.structs.replace(domain, nics=tuple(nics))
