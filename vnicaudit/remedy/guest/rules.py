"""Routing rules of a guest that name an interface.

They stay when the interface goes, and hold again when there is one of that name (measured with
Linux 6.18; net/core/fib_rules.c, attach_rules). So nothing of them is put back but the name.
"""

from __future__ import annotations

import msgspec

from vnicaudit.errors import RefusedError
from vnicaudit.remedy.guest.answers import Guest, decoded
from vnicaudit.remedy.guest.words import excerpt


class _Rule(msgspec.Struct, frozen=True):
    iif: str | None = None
    oif: str | None = None


def ruled(guest: Guest, device: str) -> bool:
    """True where a routing rule of either family names the interface. Raises RefusedError where the
    guest cannot say."""
    return any(
        device in (rule.iif, rule.oif) for family in ("-4", "-6") for rule in _rules(guest, family)
    )


def _rules(guest: Guest, family: str) -> list[_Rule]:
    command = ("ip", "-j", family, "rule", "show")
    ran = guest.execute(command)
    if ran.code and b"not supported" in ran.stderr:
        return []  # a kernel without that family, or without rules
    if ran.code:
        raise RefusedError(f"{' '.join(command)} failed in the guest ({excerpt(ran.stderr)})")
    return decoded(ran.stdout, " ".join(command), _Rule)
