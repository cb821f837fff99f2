"""The backends that carry packets: ``-netdev``, and the backend half of ``-nic`` and ``-net``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vnicaudit.knowledge.backends import is_ovs_socket
from vnicaudit.platforms.qemu.options import Options, lenient, number, truth

VHOST_OF_ITS_OWN = ("vhost-user", "vhost-vdpa")
"""Backends with a data path of their own, for which vhost-net does not matter."""


class Socket(NamedTuple):
    """The socket of a vhost-user backend, in libvirt's terms: ``mode`` client or server,
    ``reconnect`` yes or no."""

    mode: str
    ovs: bool
    reconnect: str


class Backend(NamedTuple):
    """``kind`` is QEMU's word: tap, bridge, user, vhost-user…; None if it is unknown.

    ``vhost`` tells whether vhost-net carries the packets, None if that does not apply. ``queues``
    counts queue pairs, None if only the device knows. ``socket`` is known only for vhost-user.
    """

    kind: str | None
    vhost: bool | None = None
    queues: int | None = 1
    socket: Socket | None = None


def sockets(chardevs: Iterable[str]) -> dict[str, Socket]:
    """The Unix sockets among the values of ``-chardev``, by id."""
    given = [lenient(value, "backend") for value in chardevs]
    return {
        chardev["id"]: _socket(chardev)
        for chardev in given
        if chardev.get("backend") == "socket" and "id" in chardev and "path" in chardev
    }


def _socket(chardev: Options) -> Socket:
    """The socket of a chardev. ``reconnect-ms=`` exists since QEMU 9.2; 0 is off, as in
    ``reconnect=``."""
    seconds = chardev.get("reconnect-ms", chardev.get("reconnect"))
    return Socket(
        "server" if truth(chardev.get("server")) else "client",
        is_ovs_socket(chardev["path"]),
        "yes" if number(seconds) else "no",
    )


def backend_of(given: Options, sockets: dict[str, Socket]) -> Backend:
    """The backend that the options describe."""
    kind = given.get("type") or "user"
    if kind in VHOST_OF_ITS_OWN:
        default = None if kind == "vhost-vdpa" else 1
        queues = number(given.get("queues")) or default
        return Backend(kind, None, queues, sockets.get(given.get("chardev", "")))
    if kind == "af-xdp":  # one client per queue: net_init_af_xdp in net/af-xdp.c, QEMU 8.2
        return Backend(kind, False, number(given.get("queues")) or 1)
    if kind not in ("tap", "bridge"):
        return Backend(kind, False)
    return Backend(kind, _vhost(given), _tap_queues(given))


def _vhost(given: Options) -> bool:
    """True for ``vhost=on``, or if implied: QEMU switches vhost on for ``vhostfd=`` and
    ``vhostforce=on`` (net_init_tap_one in net/tap.c), unless ``vhost=off`` is explicit."""
    explicit = truth(given.get("vhost"))
    if explicit is not None:
        return explicit
    passed = "vhostfd" in given or "vhostfds" in given
    return passed or truth(given.get("vhostforce")) is True


def _tap_queues(given: Options) -> int:
    """Number of queue pairs: one descriptor for each (``fds=28:30``); else ``queues=``; else
    one."""
    for name in ("fds", "vhostfds"):
        if given.get(name):
            return given[name].count(":") + 1
    return number(given.get("queues")) or 1
