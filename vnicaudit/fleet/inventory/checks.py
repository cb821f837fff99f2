"""Checks of an inventory: valid names, addresses, users and URIs, and no secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl, unquote, urlsplit

from vnicaudit.base.wording import shortened
from vnicaudit.fleet.inventory.tree import InventoryTree, TreePath
from vnicaudit.text.secret_names import is_harmless, is_secret_name

_NAME = re.compile(r"[^\s\x00-\x1f\x7f,!&~*?\[\]\"'`;|<>\\{}]{1,253}")
_ADDRESS = re.compile(r"(?!-)[A-Za-z0-9._:%\[\]-]{1,253}")
_USER = re.compile(r"(?!-)[A-Za-z0-9._@+$-]{1,64}")
_PASSWORD = re.compile(r"(?i):|%3a")
"""Before the last ``@``, wherever the slashes are: a password may contain one that should have been
encoded."""
_PLACEHOLDER = re.compile(r"\{(?!name\}|host\})[^{}]*\}?|\}(?<!name\})(?<!host\})")
INSTEAD = (
    "an inventory holds no secrets; use an ssh key or agent (~/.ssh/config), libvirt's auth.conf "
    "for SASL, or client certificates for TLS, and remove it here"
)


def fault_of_name(name: str) -> str:
    """Why this is not a host name; empty: it is one."""
    if _NAME.fullmatch(name) and not name.startswith("-"):
        return ""
    return f"{shortened(name)!r} is not a host name"


def fault_of_address(address: str) -> str:
    """Why this is not a host address; empty: it is one."""
    return "" if _ADDRESS.fullmatch(address) else f"{shortened(address)!r} is not a host address"


def fault_of_user(user: str) -> str:
    """Why this is not a user name; empty: it is one."""
    return "" if _USER.fullmatch(user) else f"{shortened(user)!r} is not a user name"


def fault_of_uri(uri: str) -> str:
    """Why this URI is not allowed in an inventory; empty: it is allowed. It may contain ``{name}``
    and ``{host}``."""
    if len(uri) > 2000 or any(not letter.isprintable() or letter.isspace() for letter in uri):
        return "a URI with blanks or control characters"
    if _PLACEHOLDER.search(uri):
        return "a URI with a placeholder that is neither {name} nor {host}"
    login = uri.partition("?")[0].rpartition("@")[0].partition(":")[2]  # behind the scheme
    if _PASSWORD.search(login):
        return f"a URI with a password; {INSTEAD}"
    try:
        parts = urlsplit(uri)
        _port = parts.port
        hidden = [key for key, value in parse_qsl(parts.query) if value and is_secret_name(key)]
        host = parts.hostname or ""
    except ValueError:  # whose text may quote a password
        return "not a URI: write it as qemu+ssh://USER@HOST:PORT/system"
    if hidden:
        return f"a URI with a password; {INSTEAD}"
    if unquote(host).startswith("-") or unquote(parts.username or "").startswith("-"):
        return "a URI whose host or user begins with a dash"
    return ""


def refuse_secrets(tree: InventoryTree) -> None:
    """Raises UsageError for the first key, at any depth, whose value is a secret."""
    for path in _secrets(tree.value, ()):
        raise tree.error(path, f"{shortened(str(path[-1]))!r} is a secret; {INSTEAD}")


def _secrets(value: object, path: TreePath) -> Iterator[TreePath]:
    if isinstance(value, dict):
        for key, inner in value.items():
            below = (*path, str(key))
            if is_secret_name(str(key)) and not _is_harmless(inner):
                yield below
            yield from _secrets(inner, below)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _secrets(inner, (*path, number))


def _is_harmless(value: object) -> bool:
    """True for a switch, a group that happens to have such a name, and an empty value."""
    return not isinstance(value, str | int | float) or is_harmless(str(value))
