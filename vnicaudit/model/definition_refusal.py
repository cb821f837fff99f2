"""Parts of an ``<interface>`` that libvirt refuses when the domain is defined."""

from __future__ import annotations

import msgspec

from vnicaudit.model.guest_words import S390


class DefinitionRefusal(msgspec.Struct, frozen=True):
    """One part of a definition for which libvirt refuses all of it.

    ``place`` is its path relative to ``<interface>`` (``driver/@name``); ``reason`` completes
    "libvirt refuses the definition: …". It never contains a MAC address or a name, because it
    describes the settings, not the identity, of the NIC."""

    place: str
    reason: str


MULTICAST = DefinitionRefusal("mac/@address", "its MAC address is a multicast one")
MODEL = "model/@type"


def place_of(path: str, name: str) -> str:
    """The place of an attribute of a child element, or of ``<interface>`` itself (path ``""``)."""
    return f"{path}/@{name}" if path else f"@{name}"


def on_ccw(address_type: str | None, arch: str | None) -> DefinitionRefusal | None:
    """The refusal of a channel address on a machine without channels (``cannot use CCW address
    type``); None if it is accepted."""
    if address_type != "ccw" or arch is None or arch in S390:
        return None
    return DefinitionRefusal("address/@type", f"a ccw address is for s390x, and this is {arch}")


def is_misspelt(refused: tuple[DefinitionRefusal, ...]) -> bool:
    """True if the name of the model is among the refused parts."""
    return any(refusal.place == MODEL for refusal in refused)
