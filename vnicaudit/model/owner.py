"""Who keeps what is judged: a change goes there, never behind its keeper's back."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

KnownOwner = Literal["libvirt", "qemu", "nova", "kubevirt", "ovirt", "terraform"]
"""``libvirt``: a user or a script, by libvirt; ``qemu``: one who starts QEMU without it."""


class OutsideOwner(msgspec.Struct, frozen=True):
    """One that a platform brings along which is not this program's own, or that a plan names: such
    a name says nothing of how it goes about its definitions."""

    name: str
    rewrites: str = ""
    """What it is called, where it writes the definition anew for each start; empty: it does not."""


Owner = KnownOwner | OutsideOwner
"""Who regenerates a definition."""

Keeper = Owner | Literal["host", "vnicaudit"]
"""``host``: a host keeps its own settings; ``vnicaudit``: this program's settings, and what it is
told in the metadata of a domain."""

_REWRITTEN_BY: dict[str, str] = {"nova": "Nova", "kubevirt": "KubeVirt", "ovirt": "oVirt"}

_KNOWN: dict[str, KnownOwner] = {name: name for name in get_args(KnownOwner)}


def owner_named(name: str) -> Owner:
    """The owner of a name, be it known here or not."""
    return _KNOWN.get(name) or OutsideOwner(name)


def rewritten_by(owner: Keeper) -> str:
    """The name of an owner that writes the definition anew for each start: libvirt's persistent
    one does not say what that will be. Empty: it does not."""
    return owner.rewrites if isinstance(owner, OutsideOwner) else _REWRITTEN_BY.get(owner, "")


def name_of(keeper: Keeper) -> str:
    """Name of an owner in reports and plans."""
    return keeper if isinstance(keeper, str) else keeper.name
