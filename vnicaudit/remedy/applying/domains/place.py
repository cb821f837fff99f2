"""The connection to a domain, and the services used on it."""

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
    """A domain, its host, and the platform services for it. ``trial`` measures whether the change
    helps; None: no measurement was requested, or the guest is not interrupted."""

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
        """The agent of the guest."""
        return GuestAgent(self.machine, self.adapters.clock)

    @property
    def settings(self) -> GuestSettings:
        """Access to the guest's settings on its interfaces."""
        return self.adapters.settings(self.machine, self.adapters.clock)


DomainWork = UnitWork[DomainPlace, DomainTransaction]


def kept_definition(work: DomainWork, kind: KeptKind) -> bytes:
    """The saved definition of that kind. Raises KeptError if it is missing or damaged."""
    return work.texts.get(kind, _digest(work, kind), work.transaction.by_hand())


def _digest(work: DomainWork, kind: KeptKind) -> str | None:
    """The digest that the journal records of the saved definition of that kind; None if it records
    none."""
    if kind in ("before", "goal"):
        return work.transaction.before if kind == "before" else work.transaction.goal
    if kind == "settled":
        defined = work.notes.last(Defined)
        return None if defined is None else defined.settled
    kept = work.notes.last(KeptRunning)
    return None if kept is None else kept.running
