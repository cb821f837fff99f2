"""A NIC of a definition as a subject of a plan: changed in the definition, or by the definition's
owner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.fixes.wording import OwnedNic
from vnicaudit.knowledge.systems import is_q35
from vnicaudit.knowledge.to_virtio import address_removal, has_qemus_rom, rom_removal
from vnicaudit.model.domain import Domain, DomainState
from vnicaudit.model.finding import S390, VIRTIO, Change, Finding
from vnicaudit.model.host import VdpaDevice
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import (
    Blocked,
    DomainUnit,
    FileUnit,
    FindingKey,
    GuestView,
    Reason,
    UnitStep,
)
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.planning import backends
from vnicaudit.remedy.planning.backends import to_backend
from vnicaudit.remedy.planning.guest_view import guest_view, name_lost
from vnicaudit.remedy.planning.policy import Tuning
from vnicaudit.remedy.planning.run import PlanRequest
from vnicaudit.remedy.planning.source import AskNames, JudgedDomain
from vnicaudit.remedy.planning.subject import (
    POLICY,
    NotPlannedError,
    PlanSubject,
    ProposedChanges,
    is_decided,
    safety,
    unsafe,
    with_follow_up_changes,
)
from vnicaudit.remedy.replacing import digest, step_digest, unified_diff

# The step on a NIC of a definition: its changes, and everything else to know about them.


NicStep = UnitStep[DomainUnit | FileUnit]


class NicFacts(NamedTuple):
    """Facts for planning any NIC. ``devices``: the vDPA devices of this machine; None if they were
    not read. ``users``: (target, device or socket) -> a domain that uses it already."""

    devices: tuple[VdpaDevice, ...] | None
    users: Mapping[tuple[str, str], str]
    names: AskNames


@lru_cache(maxsize=1)
def _digest(text: bytes) -> str:
    """The digest, cached: all steps of one definition or file have the same."""
    return digest(text)


_NEVER_RAN = "the guest has never started with this NIC: there is no name or address in it to keep"
_IOMMU = (
    "virtio devices of this guest go through an IOMMU: without iommu='on' the guest has no network"
)
_ON_CCW = ("model", "address_type", "rom", "acpi")
_IN_FILE = Blocked("in-a-file", "a definition in a file cannot be converted: plan on the host")
_NO_INTERFACE = Reason(
    "no-interface", "it is not an <interface> of a definition: change it where it is added"
)
_TRANSIENT = Reason("no-definition", "it is transient: it has no persistent definition to change")


class PlannedNic(PlanSubject[DomainUnit | FileUnit]):
    """A NIC of a definition."""

    def __init__(
        self, request: PlanRequest, judged: JudgedDomain, nic: Nic, facts: NicFacts,
        tuning: Tuning | None = None,
    ) -> None:  # fmt: skip
        """``tuning``: the policy's queues and rings for it."""
        source = self.source = judged.source
        super().__init__(request, source.target, source.domain.ref_of(nic))
        self.judged = judged
        self.nic = nic
        self.facts = facts
        self.tuning = tuning
        self.file = source.file
        self.line = source.line

    @property
    def converts(self) -> bool:
        """True if it is to be moved to another backend."""
        return self.request.options.converts(self.nic.mac)

    @property
    def proposing_rules(self) -> tuple[str, ...]:
        """The rules that propose a change of this NIC, without changes that the policy decides."""
        found = filter(is_decided, self.judged.findings_of(self.nic))
        return tuple(dict.fromkeys(one.rule for one in found))

    def step_for(self, after: Nic, proposed: ProposedChanges, diff: str = "") -> NicStep:
        """The step to ``after``, with those of the NIC's findings that it is planned for; ``diff``:
        of its definition, empty if that is not changed here."""
        source, nic, options = self.source, self.nic, self.request.options
        domain, live = source.domain, source.file is None
        state = source.running.state if live else None
        view, risk = GuestView(), ""
        if diff:
            seen, names = self._with_ports(), self.facts.names(source)
            view = guest_view(seen, nic, after, names)
            risk = name_lost(seen, nic, after, names)
        safe, reason = safety(proposed.changes, risk)
        blocked = proposed.blocked
        if not proposed.procedure:
            blocked += tuple(backends.state_blocks(state))
            blocked += tuple(backends.identity_blocks(domain, nic)) if live else ()
        return UnitStep(
            id="",
            target=source.target,
            about=self.about,
            owner=domain.declared.owner,
            to=options.to,
            rules=proposed.rules,
            changes=proposed.changes,
            readiness=domain.declared.readiness,
            safe=safe,
            reason=reason,
            running=(state or DomainState()).active or False,
            modes=backends.modes(
                source.running,
                options.to,
                server_socket=options.to == "vhostuser" and options.socket_mode == "server",
                live=live,
                shares_slot=self._shares_slot(),
                root_bus=is_q35(domain.declared) and nic.declared.address_bus == 0,
            ),
            digest=step_digest(
                _digest(source.text), self.about, nic.location.xpath if source.file else None
            ),
            diff=diff,
            guest=view,
            losses=proposed.losses,
            blocked=blocked,
            procedure=proposed.procedure,
            notes=(
                *proposed.notes,
                *backends.state_notes(state),
                *filter(None, [source.way_back]),
            ),
            unit=DomainUnit()
            if source.file is None
            else FileUnit(source.file, nic.location.xpath, source.line),
            risk=risk,
            findings=tuple(
                FindingKey(one.rule, one.fingerprint)
                for one in self.judged.findings_of(nic)
                if one.rule in proposed.rules
            ),
        )

    @property
    def _number(self) -> int:
        """The NIC's number among the interfaces of its definition, from 1."""
        return int((self.nic.location.xpath or "[1]").rpartition("[")[2].rstrip("]"))

    def _shares_slot(self) -> bool:
        """True if another device is known to be on the NIC's PCI slot."""
        source, nic = self.source, self.nic
        if not source.alone or nic.declared.address_type != "pci" or nic.location.xpath is None:
            return False
        return definitions.shares_slot(source.text, self._number)

    def _with_ports(self) -> Domain:
        """The domain with its PCI Express ports, on which the id of a virtio device depends."""
        source = self.source
        if not source.alone:
            return source.domain
        ports = definitions.ports_of(source.text)
        declared = replace(source.domain.declared, pcie_ports=ports)
        return replace(source.domain, declared=declared).with_state(source.running.state)

    def change_among_others(self, change: Change) -> Change:
        """The change, marked safe if it is unsafe only on its own and goes with another here: a
        boot ROM is removed with the model. On s390x, a guest with a NIC model that does not exist
        there never started, so no interface in it can be renamed."""
        if change.field == "model" and not change.safe and self._is_safe_without_rom(change):
            removal = rom_removal(self.nic.declared, change)
            return replace(change, safe=True, reason=removal.reason if removal else "")
        if change.field not in _ON_CCW or self.source.domain.declared.arch not in S390:
            return change
        impossible = any(
            one.severity == "error" and one.change is not None and one.change.field == "model"
            for one in self.judged.findings_of(self.nic)
        )
        return replace(change, safe=True, reason=_NEVER_RAN) if impossible else change

    def _is_safe_without_rom(self, change: Change) -> bool:
        """True if a boot ROM for the old device is the only objection to another model, and QEMU
        brings one for the new device instead."""
        path = self.nic.declared.rom_file
        if path is None or not has_qemus_rom(path):
            return False
        without = self.judged.findings_to_plan(
            self.nic, (Change("rom_file", path, None, safe=True),)
        )
        models = (one.change for one in without if one.change and one.change.field == change.field)
        return any(one.new == change.new and one.safe for one in models)

    def unsafe_changes(self) -> Iterator[tuple[Reason, str]]:
        """``(reason, rule)``: changes that may hurt the guest, and were not requested."""
        for finding in self.judged.findings_to_plan(self.nic, ()):
            change = finding.change
            if change is None or self.request.may(self.change_among_others(change)):
                continue
            if change.field != "model" or not self.converts:  # the conversion sets the model
                yield unsafe(change), finding.rule

    def without_proposal(self) -> Iterator[tuple[Reason, str]]:
        """``(reason, rule)`` for a NIC that is not virtio, and for which nothing is proposed."""
        if self.nic.declared.model in (None, *VIRTIO):
            return
        for one in self.judged.findings_of(self.nic):
            if one.change is None and one.fix:
                why = backends.no_change(self.source.domain, self.nic)
                yield Reason("no-proposal", why), one.rule


class EditedNic(PlannedNic):
    """A NIC whose definition is changed."""

    @property
    def _has_changes(self) -> bool:
        """True if anything is to be changed."""
        tuned = self.tuning is not None and bool(self.tuning.changes)
        return tuned or self.converts or bool(self.proposing_rules)

    def proposed(self) -> ProposedChanges:
        """The changes for another backend, and those that findings propose. Raises RefusedError for
        a backend that may do harm."""
        if not self._has_changes or self._in_the_way:
            return ProposedChanges()
        start = self._converted() if self.converts else ProposedChanges()
        if start.blocked:
            return start
        for change in start.changes:
            if not self.request.may(change):
                raise NotPlannedError(unsafe(change))
        findings_with = partial(self.judged.findings_to_plan, self.nic)
        return self._completed(with_follow_up_changes(start, findings_with, self._planned_change))

    def _planned_change(self, finding: Finding) -> Change | None:
        """The finding's change, judged as safe as it is together with the others; None if it is
        left out."""
        change = None if finding.change is None else self.change_among_others(finding.change)
        return change if self.request.may(change) else None

    def _completed(self, proposed: ProposedChanges) -> ProposedChanges:
        """The proposed changes with the boot ROM and the IOMMU that go with the model, and with
        queues and rings."""
        tuning = self.tuning
        if any(one.field == "model" and one.new in VIRTIO for one in proposed.changes):
            more = (*self._rom(proposed), *self._iommu())
            proposed = proposed._replace(changes=proposed.changes + more)
        elif self.nic.declared.model not in VIRTIO:
            tuning = None
        if tuning is None:
            return proposed
        fields = {change.field for change in proposed.changes}
        free = (one for one in tuning.changes if one.field not in fields and self.request.may(one))
        return proposed.and_(free, POLICY, notes=tuning.notes)

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Changes that may do harm; all changes if the NIC cannot be changed here."""
        del proposed
        if not self._has_changes:
            yield from self.without_proposal()
        elif in_the_way := self._in_the_way:
            yield from ((in_the_way, rule) for rule in self.proposing_rules or ("",))
        else:
            yield from self.unsafe_changes()

    def step(self, proposed: ProposedChanges) -> NicStep:
        """The step, with the diff of the NIC's definition and the effects of the changes."""
        if not proposed.changes:
            return self.step_for(self.nic, proposed)
        text, after = self.judged.with_changes(self.nic, proposed.changes)
        worse = self.judged.new_errors(after, self.nic.index)
        if worse and (changes := self._without_address(proposed.changes)):
            return self.step(proposed._replace(changes=changes))
        proposed = proposed._replace(blocked=proposed.blocked + worse)
        diff = unified_diff(self.source.text, text, self.source.name)
        return self.step_for(after.nics[self.nic.index], proposed, diff)

    @property
    def _in_the_way(self) -> Reason | None:
        """Why the NIC cannot be changed here; None: it can."""
        has_text, nic = bool(self.source.text), self.nic
        if nic.declared.origin != "interface" or (has_text and nic.location.xpath is None):
            return _NO_INTERFACE
        return None if has_text else _TRANSIENT

    def _without_address(self, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """The changes without the NIC's PCI address, in a file; empty if that is not requested, or
        brings up errors all the same. libvirt's own definitions have the controllers."""
        removal = address_removal(self.nic, changes)
        if removal is None or self.file is None or not self.request.may(removal):
            return ()
        # a reason to be safe is that the address stays
        kept = (replace(one, reason="") if one.safe else one for one in changes)
        without = (*kept, removal)
        after = self.judged.with_changes(self.nic, without)[1]
        return () if self.judged.new_errors(after, self.nic.index) else without

    def _rom(self, proposed: ProposedChanges) -> tuple[Change, ...]:
        """Remove a boot ROM for the old device together with it. Raises RefusedError for a ROM of
        unknown purpose, unless unsafe changes were requested."""
        if {change.field for change in proposed.changes} & {"rom", "address_type"}:
            return ()  # these remove all of <rom>
        removals = (rom_removal(self.nic.declared, change) for change in proposed.changes)
        removal = next((one for one in removals if one is not None), None)
        if removal is None:
            return ()
        if not self.request.may(removal):
            raise NotPlannedError(unsafe(removal))
        return (removal,)

    def _iommu(self) -> tuple[Change, ...]:
        """Guests with encrypted memory on s390x need the IOMMU setting on every virtio device."""
        now, arch = self.nic.declared.iommu, self.source.domain.declared.arch
        if now == "on" or arch not in S390 or not self._uses_iommu():
            return ()
        return (Change("iommu", now, "on", safe=True, reason=_IOMMU),)

    def _uses_iommu(self) -> bool:
        """True if the domain's virtio devices go through an IOMMU, as far as that can be told: with
        several definitions in one file, only the NICs are considered."""
        source = self.source
        if source.domain.declared.encrypted:
            return True
        if source.alone:
            return definitions.uses_iommu(source.text)
        return any(nic.declared.iommu == "on" for nic in source.domain.nics)

    def _converted(self) -> ProposedChanges:
        """The proposed changes that give the NIC the requested backend, with their obstacles and
        losses."""
        options, source, nic = self.request.options, self.source, self.nic
        if source.file is not None:
            return ProposedChanges(blocked=(_IN_FILE,))
        device = options.device(nic.mac)
        made = to_backend(
            options, nic, source.domain, source.host,
            definitions.children_of(source.text, self._number),
            self.facts.devices if source.local else None, definitions.memory_kib(source.text),
        )  # fmt: skip
        user = self.facts.users.get((source.target, device), source.domain.name)
        if user == source.domain.name:
            return made
        used = Blocked("device-in-use", f"{device} is used by domain {user}")
        return made._replace(blocked=(*made.blocked, used))


class OwnerEditedNic(PlannedNic):
    """A NIC whose definition is written by its owner: the step tells what to do there. The result
    of that is unknown, so nothing is judged again."""

    def proposed(self) -> ProposedChanges:
        """The changes that findings propose, with the owner's procedure for them; the step is
        blocked here."""
        findings = [] if self.request.options.to != "virtio" else [
            one for one in self.judged.findings_of(self.nic)
            if self._policy_makes(one) or (is_decided(one) and self.request.may(one.change))
        ]  # fmt: skip
        changes = tuple(
            one.change if not one.change.safe else replace(one.change, reason="")  # it is for XML
            for one in findings if one.change is not None
        )  # fmt: skip
        if not changes and not self.converts:
            return ProposedChanges()
        rules = tuple(dict.fromkeys(one.rule for one in findings))
        domain, nic = self.source.domain, self.nic
        return ProposedChanges(
            changes,
            rules,
            backends.owner_blocks(domain),
            procedure=self._procedure(domain, nic, findings),
        )

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """Changes that may do harm."""
        yield from self.unsafe_changes()
        if not (proposed.changes or proposed.blocked):
            yield from self.without_proposal()

    def step(self, proposed: ProposedChanges) -> NicStep:
        """The step, with the procedure for the definition's owner."""
        return self.step_for(self.nic, proposed)

    def _procedure(self, domain: Domain, nic: Nic, findings: Sequence[Finding]) -> tuple[str, ...]:
        """How to have the owner make the changes; for a backend other than virtio, how to move the
        NIC to it. Commands and sentences, in order."""
        owner, goal = domain.declared.owner, self.request.options.to
        if goal != "virtio":
            return (self.request.work.platforms.wordings.backend_procedure(owner, goal),)
        owned = OwnedNic(domain, nic, findings, self.source.file)
        return tuple(self.request.work.platforms.wordings.of(owner).procedure(owned))

    def _policy_makes(self, finding: Finding) -> bool:
        """True if the settings' policy makes the change that the finding proposes."""
        field = "" if finding.change is None else finding.change.field
        return getattr(self.request.options.policy, field, "keep") != "keep"
