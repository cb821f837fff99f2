"""Parts of an ``<interface>`` with which a domain cannot be defined, or does not start."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.guest_words import S390
from vnicaudit.model.version import Version

# Outcome for a NIC whose arguments QEMU refuses.

NIC_REWORK = Version(9, 0)
"""Before this version, QEMU did not start with a ``model=`` of ``-nic`` and ``-net nic`` that the
machine cannot create; since then, it warns that the NIC "was not created" and starts. Measured with
7.2 and 10.0; the change is "Rework matching of network devices to -nic options", QEMU 9.0."""
NEVER = Version(0)

Outcome = Literal["fails", "missing", "either"]
WORDS: dict[Outcome, str] = {
    "fails": "QEMU does not start",
    "missing": "QEMU starts without this NIC",
    "either": "QEMU does not start, from 9.0 on it starts without this NIC",
}
"""The words for each outcome, before the reason."""


class StartRefusal(msgspec.Struct, frozen=True):
    """``reason`` completes "QEMU does not start: …". From version ``starts_from`` on, QEMU starts
    (None: no version does); ``has_nic`` says whether it then has the NIC."""

    reason: str
    starts_from: Version | None = None
    has_nic: bool = False
    certain: bool = True
    """False: a later or patched QEMU may accept it."""
    refused_from: Version | None = None
    """The first version that refuses it, if earlier ones did not."""

    def outcome(self, qemu: Version | None) -> Outcome | None:
        """Outcome with this QEMU (None: its version is unknown): it fails to start, the NIC is
        missing, or either of them; None if no problem is known."""
        if self.refused_from is not None:
            return "fails" if qemu is not None and qemu >= self.refused_from else None
        if self.starts_from is None:
            return "fails"
        if self.starts_from == NEVER:
            return "missing"
        if qemu is None:
            return None if self.has_nic else "either"
        if qemu < self.starts_from:
            return "fails"
        return None if self.has_nic else "missing"


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
