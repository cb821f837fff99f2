"""libvirt connection URIs: recognise them, and tell what they reach and which URI to connect to."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

_DRIVERS = frozenset({"bhyve", "ch", "lxc", "qemu", "test", "xen"})
_URI = re.compile(r"([a-z]+)(?:\+([a-z0-9]+))?://")

_PARTS = re.compile(
    r"[a-z]+(?:\+(?P<transport>[^:/?#]*))?://(?P<server>[^/?#]*)(?P<path>[^?#]*)", re.I
)
_TRANSPORTS = (None, "unix", "ssh", "libssh", "libssh2", "tls", "tcp")
_PLAIN = ("no_tty", "mode")
"""Parameters that start, read and switch off nothing."""
_STARTERS = ("command=", "netcat=")
"""Parameters that name a program, here or at the other end."""


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


def unsafe_parts(uri: str) -> tuple[str, ...]:
    """The parts of a URI beyond the name of a host, a transport and a driver; empty: none.

    A URI can have the client start a program (``qemu+ext://…?command=``, ``netcat=``, ``proxy=``),
    read a key or a socket of somebody's choice, switch off the check of host keys, or run QEMU's
    driver in this process (``qemu:///embed?root=``): https://libvirt.org/uri.html and
    https://libvirt.org/drvqemu.html.
    """
    match = _PARTS.match(uri)
    if match is None:
        return ("its form",)
    transport = match["transport"]
    found = [] if transport is None or transport.lower() in _TRANSPORTS else [f"+{transport}"]
    embedded = unquote(match["path"]).strip("/").lower() == "embed"
    if embedded or not uri.isprintable():
        found.append("its path")
    for pair in re.split("[&;#]", uri[match.end() :].lstrip("?")):  # libvirt splits at both
        name = unquote(pair.partition("=")[0]).strip().lower()
        if name and name not in _PLAIN:
            found.append(f"{name}=")
    return tuple(dict.fromkeys(found))


def starting_parts(uri: str) -> tuple[str, ...]:
    """Those of the :func:`unsafe_parts` that may start a program; empty: none."""
    return tuple(
        part for part in unsafe_parts(uri) if part in _STARTERS or part.startswith(("+", "its "))
    )
