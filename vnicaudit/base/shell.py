"""Words of commands that are shown to be copied into a shell: the one place where they are quoted.

A definition says of itself what its UUID and its name are, and anybody may have written it.
"""

from __future__ import annotations

import os
import re
import shlex

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_KUBERNETES = re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?")
"""RFC 1123, as the API server takes names."""


def word(text: str) -> str:
    """A text as one word. One that begins with a dash may be an option for all that: where it is
    not an id that a service made, :func:`path_word` or a placeholder is better."""
    return shlex.quote(text)


def path_word(path: str) -> str:
    """A path as one word that is no option."""
    return shlex.quote(f"./{path}" if path.startswith("-") else path)


def ascii_word(text: str) -> str:
    """A text, or a path with bytes that are no UTF-8, as one word of printable ASCII:
    ``$'a\\012b'``, as bash, ksh and zsh read it."""
    plain = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\")
    parts = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(text))
    return f"$'{''.join(parts)}'"


def uuid_word(text: str | None) -> str:
    """A UUID; ``UUID`` in place of what is none."""
    return text if text is not None and _UUID.fullmatch(text) else "UUID"


def kubernetes_word(text: str, placeholder: str) -> str:
    """The name of an object of Kubernetes; the placeholder for what cannot be one."""
    return text if _KUBERNETES.fullmatch(text) else placeholder
