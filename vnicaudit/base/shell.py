"""Words of commands that are shown for copying into a shell; this is the only place that quotes
them.

UUIDs and names come from definitions, which anybody may have written.
"""

from __future__ import annotations

import os
import re
import shlex

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_KUBERNETES = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""RFC 1123, as the API server accepts names."""


def word(text: str) -> str:
    """A text quoted as one word. If it begins with a dash, it may still be taken for an option:
    unless it is an id made by a service, use :func:`path_word` or a placeholder."""
    return shlex.quote(text)


def path_word(path: str) -> str:
    """A path quoted as one word that cannot be taken for an option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def ascii_word(text: str) -> str:
    """A text, or a path with bytes that are not UTF-8, as one word of printable ASCII:
    ``$'a\\012b'``, as bash, ksh and zsh read it."""
    plain = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\")
    parts = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(text))
    return f"$'{''.join(parts)}'"


def uuid_word(text: str | None) -> str:
    """A valid UUID as it is; the word ``UUID`` in place of anything else."""
    return text if text is not None and _UUID.fullmatch(text) else "UUID"


def kubernetes_word(text: str, placeholder: str) -> str:
    """The name of a Kubernetes object; the placeholder if it cannot be a valid name."""
    return text if _KUBERNETES.fullmatch(text) else placeholder
