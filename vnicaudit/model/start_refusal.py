"""Outcome for a NIC whose arguments QEMU does not take."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.version import Version

NIC_REWORK = Version(9, 0)
"""Before, QEMU did not start with a ``model=`` of ``-nic`` and ``-net nic`` that the machine cannot
create; since, it warns that the NIC "was not created" and starts. Measured with 7.2 and 10.0; the
change is "Rework matching of network devices to -nic options", QEMU 9.0."""
NEVER = Version(0)

Outcome = Literal["fails", "missing", "either"]
WORDS: dict[Outcome, str] = {
    "fails": "QEMU does not start",
    "missing": "QEMU starts without this NIC",
    "either": "QEMU does not start, from 9.0 on it starts without this NIC",
}
"""The words for each outcome, before the reason."""


class StartRefusal(msgspec.Struct, frozen=True):
    """``reason`` completes "QEMU does not start: …". From ``starts_from`` on QEMU starts (None: no
    QEMU does), and then it has the NIC where ``has_nic`` says so."""

    reason: str
    starts_from: Version | None = None
    has_nic: bool = False
    certain: bool = True
    """False: a later or patched QEMU may take it."""

    def outcome(self, qemu: Version | None) -> Outcome | None:
        """Outcome with this QEMU (None: its version is not known): it fails to start, the NIC is
        missing, or either of them; None where nothing can be said against it."""
        if self.starts_from is None:
            return "fails"
        if self.starts_from == NEVER:
            return "missing"
        if qemu is None:
            return None if self.has_nic else "either"
        if qemu < self.starts_from:
            return "fails"
        return None if self.has_nic else "missing"
