"""Owners of definitions: a change is made through the owner, never behind its back."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

KnownOwner = Literal[
    "libvirt", "qemu", "nova", "kubevirt", "ovirt", "opennebula", "proxmox", "terraform"
]
"""``libvirt``: a user or a script that uses libvirt; ``qemu``: somebody who starts QEMU without
libvirt."""


class OutsideOwner(msgspec.Struct, frozen=True):
    """An owner added by a third-party platform, or named by a plan: how it treats its definitions
    cannot be derived from its name."""

    name: str
    rewrites: str = ""
    """The name of the owner, if it rewrites the definition for each start; empty: it does not."""


Owner = KnownOwner | OutsideOwner
"""The owner that regenerates a definition."""

Keeper = Owner | Literal["host", "vnicaudit"]
"""``host``: a host's own settings; ``vnicaudit``: this program's settings, including those in the
metadata of a domain."""

SETTINGS: Literal["vnicaudit"] = "vnicaudit"
"""The owner of findings about suppressions."""

_REWRITTEN_BY: dict[str, str] = {
    "nova": "Nova",
    "kubevirt": "KubeVirt",
    "ovirt": "oVirt",
    "opennebula": "OpenNebula",
    "proxmox": "Proxmox VE",
}

_KNOWN: dict[str, KnownOwner] = {name: name for name in get_args(KnownOwner)}


def owner_named(name: str) -> Owner:
    """The owner with that name, known here or not."""
    return _KNOWN.get(name) or OutsideOwner(name)


def rewritten_by(owner: Keeper) -> str:
    """The name of an owner that rewrites the definition at each start, so that libvirt's persistent
    definition does not show the next one. Empty: it does not."""
    return owner.rewrites if isinstance(owner, OutsideOwner) else _REWRITTEN_BY.get(owner, "")


def name_of(keeper: Keeper) -> str:
    """Name of an owner in reports and plans."""
    return keeper if isinstance(keeper, str) else keeper.name
