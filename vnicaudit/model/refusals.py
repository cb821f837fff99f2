"""What libvirt refuses of an ``<interface>`` when the domain is defined."""

from __future__ import annotations

import msgspec


class Refusal(msgspec.Struct, frozen=True):
    """One thing for which libvirt refuses the whole definition.

    ``place`` is where it stands, relative to ``<interface>`` (``driver/@name``); ``why`` completes
    "libvirt refuses the definition: …". Never a MAC address or a name: it is part of what is set,
    not of who the NIC is.
    """

    place: str
    why: str


MODEL = "model/@type"


def is_misspelt(refused: tuple[Refusal, ...]) -> bool:
    """Whether the name of the model is among what is refused."""
    return any(refusal.place == MODEL for refusal in refused)
