"""Parts of an ``<interface>`` with which a domain cannot be defined, or does not start."""

from __future__ import annotations

import msgspec

from vnicaudit.model.guest_words import S390
from vnicaudit.model.version import Version


class DefinitionRefusal(msgspec.Struct, frozen=True):
    """One part of a definition for which libvirt refuses all of it, or does not start it.

    ``place`` is its path relative to ``<interface>`` (``driver/@name``); ``reason`` completes
    "libvirt refuses the definition: …". It never contains a MAC address or a name, because it
    describes the settings, not the identity, of the NIC."""

    place: str
    reason: str
    at_start: bool = False
    """The domain can be defined, but does not start."""
    shared: bool = False
    """Another device of the domain has the same value."""
    since: Version | None = None
    """The first libvirt that is known to refuse it; None: each does."""
    until: Version | None = None
    """The first libvirt that accepts it; None: none is known to."""
    since_qemu: Version | None = None
    """The first QEMU that is known to refuse it; None: each does."""

    def applies(self, libvirt: Version | None, qemu: Version | None) -> bool:
        """True if these versions (None: unknown) are known to refuse it."""
        if self.since is not None and (libvirt is None or libvirt < self.since):
            return False
        if self.until is not None and (libvirt is None or libvirt >= self.until):
            return False
        return self.since_qemu is None or (qemu is not None and qemu >= self.since_qemu)


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
