"""Outcome for a NIC whose arguments QEMU refuses."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.version import Version

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
