"""The mark of a NIC: emulated, below what its definition or host allows, or neither."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from vnicaudit.base.wording import count
from vnicaudit.model.effective import NONE, UNKNOWN
from vnicaudit.model.guest_words import VIRTIO
from vnicaudit.model.report import NicRow

Verdict = Literal["slow", "less", "ok"]
VERDICTS: tuple[Verdict, ...] = ("slow", "less", "ok")
"""Worst first."""

MARKS: dict[Verdict, str] = {"slow": "x", "less": "!", "ok": " "}
STYLES: dict[Verdict, str] = {"slow": "bad", "less": "medium", "ok": ""}
_ABSENT = "not created"
_MEANINGS: dict[Verdict, str] = {
    "slow": "x emulated, or does not start",
    "less": "! without vhost, or less than declared",
}


def verdict_of(nic: NicRow) -> Verdict:
    """``slow``: emulated, or it does not start. ``less``: virtio without vhost, or with fewer
    queues or smaller rings than declared. Unknown values are ignored."""
    if not nic.starts or kind_of(nic) in ("emulated", _ABSENT):
        return "slow"
    cut = any(
        resolved.state not in (NONE, UNKNOWN)
        and None not in (resolved.declared, resolved.effective)
        and resolved.declared != resolved.effective
        for resolved in (nic.queues, nic.rx_queue_size, nic.tx_queue_size)
    )
    without_vhost = nic.vhost.state not in (NONE, UNKNOWN) and nic.vhost.effective is False
    return "less" if cut or without_vhost else "ok"


def kind_of(nic: NicRow) -> str:
    """``virtio``, ``emulated``, ``passed through``, ``not created`` or ``of unknown model``."""
    if nic.model.state == NONE:
        unknown = nic.type == "network" and nic.actual_type is None  # the half of a teaming pair
        assigned = unknown or "hostdev" in (nic.type, nic.actual_type)
        return "passed through" if assigned else _ABSENT
    if nic.model.state == UNKNOWN or nic.model.effective is None:
        return "of unknown model"
    return "virtio" if nic.model.effective in VIRTIO else "emulated"


class NicCounts:
    """Totals of a list of NICs."""

    def __init__(self) -> None:
        self.domains = 0
        self.kinds: Counter[str] = Counter()
        self.verdicts: Counter[Verdict] = Counter()

    def add(self, nic: NicRow) -> None:
        """Count one NIC."""
        self.kinds[kind_of(nic)] += 1
        self.verdicts[verdict_of(nic)] += 1

    def legend(self) -> str:
        """The meanings of the marks in use."""
        return "; ".join(text for mark, text in _MEANINGS.items() if self.verdicts[mark])

    def sentence(self) -> str:
        """``17 NICs in 14 domains: 10 virtio, 6 emulated, 1 passed through``."""
        kinds = ", ".join(f"{number:,} {kind}" for kind, number in self.kinds.most_common())
        nics = count(self.kinds.total(), "NIC")
        return f"{nics} in {count(self.domains, 'domain')}: {kinds}"
