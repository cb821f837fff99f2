"""Whether a server can be bound to the address that it is reached by."""

from __future__ import annotations

from ipaddress import ip_address


def is_literal(address: str) -> bool:
    """Whether it is an address that means the same at both ends: neither a name nor one with a
    zone."""
    try:
        ip_address(address)
    except ValueError:
        return False
    return "%" not in address
