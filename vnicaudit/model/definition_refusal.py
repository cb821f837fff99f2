"""Parts of an ``<interface>`` that libvirt refuses when the domain is defined."""

from __future__ import annotations

import msgspec

from vnicaudit.model.guest_words import S390


class DefinitionRefusal(msgspec.Struct, frozen=True):
    """One thing for which libvirt refuses the whole definition.

    ``place`` is where it stands, relative to ``<interface>`` (``driver/@name``); ``reason``
    completes "libvirt refuses the definition: …". Never a MAC address or a name: it is part of what
    is set, not of who the NIC is."""

    place: str
    reason: str


MULTICAST = DefinitionRefusal("mac/@address", "its MAC address is a multicast one")
MODEL = "model/@type"


def place_of(path: str, name: str) -> str:
    """The place of an attribute of a child, or of ``<interface>`` itself (path ``""``)."""
    return f"{path}/@{name}" if path else f"@{name}"


def on_ccw(address_type: str | None, arch: str | None) -> DefinitionRefusal | None:
    """A channel address on a machine without channels: ``cannot use CCW address type``."""
    if address_type != "ccw" or arch is None or arch in S390:
        return None
    return DefinitionRefusal("address/@type", f"a ccw address is for s390x, and this is {arch}")


def is_misspelt(refused: tuple[DefinitionRefusal, ...]) -> bool:
    """True where the name of the model is among the refused parts."""
    return any(refusal.place == MODEL for refusal in refused)
