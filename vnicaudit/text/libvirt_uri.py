"""libvirt connection URIs: recognise them, and tell what they reach and which URI to connect to."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import msgspec

_DRIVERS = frozenset({"bhyve", "ch", "lxc", "qemu", "test", "xen"})
_URI = re.compile(r"([a-z]+)(?:\+([a-z0-9]+))?://")


class Uri(msgspec.Struct, frozen=True):
    """One connection URI, taken apart. ``dial`` is the URI given to libvirt: the user's text, and
    for ssh ``no_tty=1``, which keeps ssh from asking for a password or a host key."""

    text: str
    driver: str
    transport: str | None
    server: str
    path: str
    own_socket: bool
    dial: str

    @property
    def session(self) -> bool:
        """True for an unprivileged daemon: its NICs belong to a user, not to the host."""
        return self.path == "/session"

    @property
    def remote(self) -> bool:
        """True if the daemon is reached over a network."""
        return bool(self.server) or self.transport not in (None, "unix")

    @property
    def local(self) -> bool:
        """True if the URI means QEMU of this machine. A socket given by path does not count,
        because it may lead elsewhere (a tunnel)."""
        return self.driver == "qemu" and not self.remote and not self.own_socket


def is_uri(text: str) -> bool:
    """True if a target is a libvirt connection URI."""
    match = _URI.match(text)
    return match is not None and match.group(1) in _DRIVERS


def parse(text: str) -> Uri:
    """Parse a URI. Raises ValueError if it is none (see :func:`is_uri`)."""
    match = _URI.match(text)
    if match is None or not is_uri(text):
        raise ValueError(f"not a libvirt URI: {text!r}")
    parts = urlsplit(text)
    query = parse_qs(parts.query, keep_blank_values=True)
    dial = text
    if match.group(2) == "ssh" and "no_tty" not in query:
        dial += ("&" if parts.query else "?") + "no_tty=1"
    return Uri(
        text,
        match.group(1),
        match.group(2),
        parts.netloc,
        parts.path,
        "socket" in query,
        dial,
    )
