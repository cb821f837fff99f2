"""The libvirt URIs that may be dialled although they come from a file.

A URI that the user types is trusted; a plan, or the record of a run, may have been written by
somebody else (:func:`vnicaudit.text.libvirt_uri.unsafe_parts`).
"""

from __future__ import annotations

from collections.abc import Container

from vnicaudit.errors import RefusedError
from vnicaudit.text.libvirt_uri import unsafe_parts

ALL = "all"
"""Given instead of URIs: whatever URI the plan or the run names."""


def check_uri(uri: str, trusted: Container[str] = ()) -> None:
    """Raises RefusedError for a URI from a file that does more than name a host, unless the user
    named the same URI, or :data:`ALL`."""
    parts = unsafe_parts(uri)
    if parts and uri not in trusted and ALL not in trusted:
        raise RefusedError(
            f"{uri} comes from a file, and {', '.join(parts)} may start a program here or switch "
            "off a check: it was not contacted; if it is your own, pass the same URI with "
            "--trust-uri (`all`: every URI in it)"
        )
