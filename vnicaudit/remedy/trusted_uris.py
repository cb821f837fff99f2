"""The libvirt URIs that may be dialled although they come from a file.

A URI can have the client start a program (``qemu+ext://…?command=``, ``netcat=``, ``proxy=``), read
a key or a socket of somebody's choice, switch off the check of host keys, or run QEMU's driver in
this process (``qemu:///embed?root=``): https://libvirt.org/uri.html and
https://libvirt.org/drvqemu.html. A URI that the user types is trusted; a plan, or the record of a
run, may have been written by somebody else.
"""

from __future__ import annotations

import re
from collections.abc import Container
from urllib.parse import unquote

from vnicaudit.errors import RefusedError

_URI = re.compile(
    r"[a-z]+(?:\+(?P<transport>[^:/?#]*))?://(?P<server>[^/?#]*)(?P<path>[^?#]*)", re.I
)
_TRANSPORTS = (None, "unix", "ssh", "libssh", "libssh2", "tls", "tcp")
_PLAIN = ("no_tty", "mode")
"""Parameters that start, read and switch off nothing."""


def check_uri(uri: str, trusted: Container[str] = ()) -> None:
    """Raises RefusedError for a URI from a file that does more than name a host, unless the user
    named the same URI."""
    parts = unsafe_parts(uri)
    if parts and uri not in trusted:
        raise RefusedError(
            f"{uri} comes from a file, and {', '.join(parts)} may start a program here or switch "
            "off a check: it was not contacted; if it is your own, pass the same URI with "
            "--trust-uri"
        )


def unsafe_parts(uri: str) -> tuple[str, ...]:
    """The parts of a URI beyond the name of a host, a transport and a driver; empty: none."""
    match = _URI.match(uri)
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
