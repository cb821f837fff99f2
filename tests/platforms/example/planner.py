"""An inventory -> the steps of a plan, one for each NIC."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from tests.platforms.example.inventory import BEGINS, INVENTORY, KIND, NAME, PREFIX
from tests.platforms.example.write import edits_for, text_of
from vnicaudit.audit.reading.targets import Target
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.knowledge.fixes.wording import OwnedNic
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Content
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic
from vnicaudit.model.owner import rewritten_by
from vnicaudit.model.plan import MODES, ModeOption, ObjectUnit, Planned, UnitStep
from vnicaudit.model.reasons import Reason
from vnicaudit.model.refs import NicRef, nic_index
from vnicaudit.model.report import ReadError
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.planning.diffs import unified_diff
from vnicaudit.remedy.planning.gates import owner_blocks
from vnicaudit.remedy.planning.judged_item import JudgedItem
from vnicaudit.remedy.planning.subject import (
    PlanSubject,
    ProposedChanges,
    plan_subject,
    safety,
    unsafe,
    worst_first,
)
from vnicaudit.remedy.planning.target_planner import PlanContext, PlanParts
from vnicaudit.text.edits import applied

_LATER = "the command writes what the guest gets at its next start"
_MODES = tuple(
    ModeOption(mode, mode == "next-boot", "" if mode == "next-boot" else _LATER) for mode in MODES
)


class InventoryTargets:
    """Plans inventories."""

    def __init__(self, context: PlanContext) -> None:
        self._context = context

    def takes(self, target: Target) -> bool:
        """Whether it is one, by its name or its content."""
        if target.kind == "path" and Path(target.name).is_file():
            with open(target.name, "rb") as stream:
                return INVENTORY.looks_like(stream.read(len(BEGINS)))
        return target.kind == "inventory"

    def plan(self, targets: tuple[Target, ...], parts: PlanParts) -> None:
        """Each guest of each."""
        if self._context.options.to != "virtio":
            raise UsageError("NICs of an inventory are changed to virtio alone")
        for target in targets:
            path = target.name.removeprefix(PREFIX)
            try:
                data = Path(path).read_bytes()
                for number, item in enumerate(INVENTORY.read(Content(data, path, target.name)), 1):
                    self._context.on_progress(target.name, number)
                    if isinstance(item, Domain):
                        parts.planned[target.name] += self._guest(item, target.name, data)
            except OSError as error:
                parts.add_unread(target, ReadError(error.strerror or str(error), path))
            except TargetError as error:
                parts.add_unread(target, ReadError(error.message, error.file, error.line))

    def missing(self) -> list[str]:
        """Nothing but guests and NICs can be named."""
        return []

    def covers(self, found: Planned) -> bool:
        """Nothing of what others plan."""
        del found
        return False

    def _guest(self, guest: Domain, target: str, data: bytes) -> Iterator[Planned]:
        context, options = self._context, self._context.options
        context.requested.add_domain(guest)
        if not options.takes(guest.name, guest.uuid):
            return
        judged = JudgedItem(
            guest, context.judges, lambda work, one: work.domain(one, HostConfig(), target)
        )
        wordings = context.judges.work.platforms.wordings
        for nic in guest.nics:
            if not options.macs or nic.mac in options.macs:
                yield from plan_subject(
                    InventoryNic(judged, nic, target, data, wordings, unsafe=options.unsafe)
                )


class InventoryNic(PlanSubject[ObjectUnit]):
    """One NIC, as a subject of a plan."""

    def __init__(
        self, judged: JudgedItem[Domain], nic: Nic, target: str, data: bytes, wordings: Wordings,
        *, unsafe: bool,
    ) -> None:  # fmt: skip
        guest = judged.item
        self.judged = judged
        self.nic = nic
        self.target = target
        self.about = NicRef(guest.name, guest.uuid, nic.mac, nic.index)
        self.data = data
        self.include_unsafe = unsafe
        self.wordings = wordings

    def findings_with(self, changes: Sequence[Change]) -> Iterable[Finding]:
        """Of this NIC, the most severe first."""
        found = self.judged.findings_after(self._with(changes))
        return worst_first(one for one in found if nic_index(one.about) == self.nic.index)

    def planned_change(self, finding: Finding) -> Change | None:
        """Its change of the model: an inventory says no more."""
        change = finding.change
        if change is None or change.field != "model":
            return None
        return change if change.safe or self.include_unsafe else None

    def held_back(self, proposed: ProposedChanges) -> Iterator[tuple[Reason, str]]:
        """What may do harm."""
        del proposed
        for finding in self.findings_with(()):
            change, planned = finding.change, self.planned_change(finding)
            if change is not None and change.field == "model" and planned is None:
                yield unsafe(change), finding.rule

    def step(self, proposed: ProposedChanges) -> UnitStep[ObjectUnit]:
        """With the diff of the inventory."""
        guest = self.judged.item
        after, path = self._with(proposed.changes), guest.location.file or ""
        place, changes = self.nic.location, proposed.changes
        edits = (each for one in changes for each in edits_for(self.data, place, one))
        safe, reason = safety(changes)
        return UnitStep(
            id="",
            target=self.target,
            about=self.about,
            owner=guest.declared.owner,
            to="virtio",
            rules=proposed.rules,
            changes=changes,
            readiness=guest.declared.readiness,
            safe=safe,
            reason=reason,
            running=False,
            modes=_MODES,
            digest=digest(f"{self.nic.mac} {self.nic.declared.model}".encode()),
            diff=unified_diff(self.data, applied(self.data, edits), path, text_of),
            blocked=(*owner_blocks(guest), *self.judged.new_errors(after, self.nic.index)),
            procedure=self._procedure(guest),
            unit=ObjectUnit(KIND, guest.uuid or guest.name, NAME),
        )

    def _procedure(self, guest: Domain) -> tuple[str, ...]:
        """What to do where somebody else writes the guest anew."""
        owner = guest.declared.owner
        if not rewritten_by(owner):
            return ()
        planned = [one for one in self.findings_with(()) if self.planned_change(one)]
        owned = OwnedNic(guest, self.nic, planned, guest.location.file)
        return tuple(self.wordings.of(owner).procedure(owned))

    @property
    def refused_rules(self) -> tuple[str, ...]:
        """Those that propose another model."""
        return tuple(one.rule for one in self.findings_with(()) if self.planned_change(one))

    def _with(self, changes: Sequence[Change]) -> Domain:
        """The guest with another model of this NIC."""
        if not changes:
            return self.judged.item
        nic = replace(self.nic, declared=replace(self.nic.declared, model=changes[0].new))
        nics = (nic if one is self.nic else one for one in self.judged.item.nics)
        return replace(self.judged.item, nics=tuple(nics))
