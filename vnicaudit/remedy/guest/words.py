"""Words that may stand in a line of ``ip -batch``.

The words come from the guest, which may send anything. ``ip`` splits a line at blanks and knows
quotes, comments and a backslash at its end (iproute2 lib/utils.c, getcmdline and makeargs): none of
those is accepted here. Each function returns the word, or raises RefusedError.
"""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network

from vnicaudit.base.identifiers import MAC
from vnicaudit.errors import RefusedError

_NAME = re.compile(r"[A-Za-z0-9_.:@][A-Za-z0-9_.:@-]{0,63}")
_SHOWN_MAX = 200


def name(text: str) -> str:
    """The name of an interface, a table, a protocol, a scope; or a number."""
    if _NAME.fullmatch(text) is None:
        raise RefusedError(f"the guest has a name that cannot be passed on safely: {excerpt(text)}")
    return text


def mac(text: str) -> str:
    """A MAC address in small letters."""
    if MAC.fullmatch(text.lower()) is None:
        raise RefusedError(f"the guest reports an invalid hardware address: {excerpt(text)}")
    return text.lower()


def address(text: str) -> str:
    """An address. One with a zone (``fe80::1%eth0``) is refused: a zone may be any text."""
    try:
        if "%" in text:
            raise ValueError(text)
        return str(ip_address(text))
    except ValueError:
        raise RefusedError(f"the guest reports an invalid address: {excerpt(text)}") from None


def prefix(text: str, *, inet6: bool) -> str:
    """A destination with its length; ``default`` is the one of that family."""
    if text == "default":
        return "::/0" if inet6 else "0.0.0.0/0"
    try:
        if "%" in text:
            raise ValueError(text)
        return str(ip_network(text))
    except ValueError:
        raise RefusedError(
            f"the guest reports a route to an invalid network: {excerpt(text)}"
        ) from None


def excerpt(text: str | bytes) -> str:
    """The beginning of a guest's output, for a message: printable ASCII on one line, ``(nothing)``
    if it is empty."""
    if isinstance(text, bytes):
        text = text[: 4 * _SHOWN_MAX].decode("ascii", "replace")
    plain = "".join(letter if " " < letter <= "~" else " " for letter in text)
    return " ".join(plain.split())[:_SHOWN_MAX] or "(nothing)"
