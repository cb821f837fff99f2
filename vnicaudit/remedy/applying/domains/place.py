"""Where a domain is, and what works on it there."""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.remedy.adapters import Adapters, GuestSettings
from vnicaudit.remedy.applying.domains.definition_transactions import DomainTransaction
from vnicaudit.remedy.applying.journal.events import Defined, KeptRunning
from vnicaudit.remedy.applying.journal.kept_texts import KeptKind
from vnicaudit.remedy.applying.work import UnitWork
from vnicaudit.remedy.definitions import Texts
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import Hypervisor, Machine
from vnicaudit.remedy.trial import Trial


class DomainPlace(NamedTuple):
    """A domain, its host, and what platforms do for it. ``trial``: measures whether the change
    helps; None: nobody asked for that, or the guest is left alone."""

    host: Hypervisor
    machine: Machine
    adapters: Adapters
    trial: Trial | None = None

    @property
    def texts(self) -> Texts:
        """The platform's functions on the text of definitions."""
        return self.adapters.texts

    @property
    def agent(self) -> GuestAgent:
        """The guest, as its agent shows it."""
        return GuestAgent(self.machine, self.adapters.clock)

    @property
    def settings(self) -> GuestSettings:
        """The settings of the guest on its interfaces."""
        return self.adapters.settings(self.machine, self.adapters.clock)


DomainWork = UnitWork[DomainPlace, DomainTransaction]


def kept_definition(work: DomainWork, kind: KeptKind) -> bytes:
    """A definition that was kept. Raises KeptError where it is not what it was."""
    return work.texts.get(kind, _digest(work, kind), work.transaction.by_hand())


def _digest(work: DomainWork, kind: KeptKind) -> str | None:
    """The digest that the journal records of a kept definition of that kind; None where it records
    none, as in journals of older versions."""
    if kind in ("before", "goal"):
        return work.transaction.before if kind == "before" else work.transaction.goal
    if kind == "settled":
        defined = work.notes.last(Defined)
        return None if defined is None else defined.settled
    kept = work.notes.last(KeptRunning)
    return None if kept is None else kept.running
