"""The step on a NIC of a definition: its changes, and everything else to know about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import Change
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import DomainUnit, FileUnit, GuestView, StepWords, UnitStep
from vnicaudit.remedy.definitions import Texts
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning import gates
from vnicaudit.remedy.planning.guest_view import guest_view, name_lost
from vnicaudit.remedy.planning.guests import InterfaceNames
from vnicaudit.remedy.planning.options import PlanOptions
from vnicaudit.remedy.planning.source import Source
from vnicaudit.remedy.planning.subject import ProposedChanges, safety

NicStep = UnitStep[DomainUnit | FileUnit]


class NicContext(NamedTuple):
    """Settings and facts for planning any NIC. ``devices``: the vDPA devices of this machine; None
    if they were not read. ``users``: (target, device or socket) -> a domain that uses it
    already."""

    options: PlanOptions
    texts: Texts
    devices: tuple[VdpaDevice, ...] | None
    users: Mapping[tuple[str, str], str]
    names: InterfaceNames
    wordings: Wordings

    def may(self, change: Change | None) -> bool:
        """True if a change is safe, or unsafe changes were requested."""
        return self.options.unsafe or change is None or change.safe


def nic_step(
    source: Source, nic: Nic, after: Nic, proposed: ProposedChanges, context: NicContext,
    diff: str = "",
) -> NicStep:  # fmt: skip
    """The step. ``nic``: before the change; ``after``: after it; ``diff``: of its definition, empty
    if that is not changed here."""
    domain, options = source.domain, context.options
    live = source.file is None
    state = source.running.state if live else None
    view, risk = _guest_effects(source, nic, after, context) if diff else (GuestView(), "")
    safe, reason = safety(proposed.changes, risk)
    server = options.to == "vhostuser" and options.socket_mode == "server"
    blocked = proposed.blocked
    if not proposed.procedure:
        blocked += tuple(gates.state_blocks(state))
        blocked += tuple(gates.identity_blocks(domain, nic)) if live else ()
    notes = (*proposed.notes, *gates.state_notes(state), *filter(None, [source.way_back]))
    any_procedure = proposed.any_procedure
    return UnitStep(
        id="",
        target=source.target,
        about=domain.ref_of(nic),
        owner=domain.declared.owner,
        to=options.to,
        rules=proposed.rules,
        changes=proposed.changes,
        readiness=domain.declared.readiness,
        safe=safe,
        reason=reason,
        running=(state or DomainState()).active or False,
        modes=gates.modes(
            source.running, options.to, server_socket=server, live=live,
            shares_slot=_shares_slot(source, nic, context.texts),
        ),
        digest=_digest(source.text),
        diff=diff,
        guest=view,
        losses=proposed.losses,
        blocked=blocked,
        procedure=proposed.procedure,
        notes=notes,
        unit=_unit(source, nic),
        general=StepWords(blocked, any_procedure, notes) if any_procedure else None,
        risk=risk,
    )  # fmt: skip


def _guest_effects(
    source: Source, before: Nic, after: Nic, context: NicContext
) -> tuple[GuestView, str]:
    """``(view, risk)`` of a change: what the guest notices of it, and what it may lose by it
    (empty: nothing)."""
    domain, names = _with_ports(source, context.texts), context.names.of(source)
    return guest_view(domain, before, after, names), name_lost(domain, before, after, names)


def _unit(source: Source, nic: Nic) -> DomainUnit | FileUnit:
    if source.file is None:
        return DomainUnit()
    return FileUnit(source.file, nic.location.xpath, source.line)


@lru_cache(maxsize=1)
def _digest(text: bytes) -> str:
    """The digest, cached: all steps of one definition or file have the same."""
    return digest(text)


def _shares_slot(source: Source, nic: Nic, texts: Texts) -> bool:
    """True if another device is known to be on the NIC's PCI slot."""
    if not source.alone or nic.declared.address_type != "pci" or nic.location.xpath is None:
        return False
    number = int(nic.location.xpath.rpartition("[")[2].rstrip("]"))
    return texts.reading.shares_slot(source.text, number)


def _with_ports(source: Source, texts: Texts) -> Domain:
    """The domain with its PCI Express ports, on which the id of a virtio device depends."""
    if not source.alone:
        return source.domain
    ports = _pcie_ports(source.text, texts)
    declared = replace(source.domain.declared, pcie_ports=ports)
    return replace(source.domain, declared=declared).with_state(source.running.state)


@lru_cache(maxsize=1)
def _pcie_ports(text: bytes, texts: Texts) -> tuple[int, ...] | None:
    """The PCI Express ports, cached: all steps of one definition have the same."""
    return texts.reading.ports_of(text)
