"""Who keeps what is judged: a change goes there, never behind its keeper's back."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

KnownOwner = Literal["libvirt", "qemu", "nova", "kubevirt", "ovirt", "terraform"]
"""``libvirt``: a user or a script, by libvirt; ``qemu``: one who starts QEMU without it."""


class OutsideOwner(msgspec.Struct, frozen=True):
    """One that a platform brings along which is not this program's own, or that a plan names which
    was edited."""

    name: str


Owner = KnownOwner | OutsideOwner
"""Who regenerates a definition."""

Keeper = Owner | Literal["host", "vnicaudit"]
"""``host``: a host keeps its own settings; ``vnicaudit``: this program's settings, and what it is
told in the metadata of a domain."""

REWRITTEN_BY: dict[Owner, str] = {"nova": "Nova", "kubevirt": "KubeVirt", "ovirt": "oVirt"}
"""Owners that write the definition anew for each start, and what they are called: libvirt's
persistent one does not say what that will be."""

_KNOWN: dict[str, KnownOwner] = {name: name for name in get_args(KnownOwner)}


def owner_named(name: str) -> Owner:
    """The owner of a name, be it known here or not."""
    return _KNOWN.get(name) or OutsideOwner(name)


def name_of(keeper: Keeper) -> str:
    """Name of an owner in reports and plans."""
    return keeper if isinstance(keeper, str) else keeper.name
