"""Settings of hosts: set until the next boot, read again, and set back to what was read before.

What one setting changes along (TSO goes with checksums, a group of features with its members) is
recorded with it, and set back too. Files that keep settings beyond the next boot are written after
these are set, and removed again; no file is overwritten.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import cast

from msgspec.structs import replace

from vnicaudit.errors import GoneError
from vnicaudit.knowledge.host_setting_values import beside_of, cuts_queues, is_there, values_of
from vnicaudit.knowledge.host_settings import (
    HostSetting,
    are_files,
    is_file,
    is_of_host,
    may_become,
    setting_of,
    takes,
)
from vnicaudit.knowledge.persistent_forms import is_own
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.plan import SettingUnit, Step
from vnicaudit.model.runs import UnitState
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    PlaceDriver,
    Prepared,
    PrepareRequest,
    UndoRequest,
)
from vnicaudit.remedy.applying.journal.events import Begin, Result, UnitRequest, unit_of
from vnicaudit.remedy.applying.setting_work import (
    EDITED,
    OTHER_DEVICE,
    OTHER_HOST,
    SettingTransaction,
    changed_along,
    differing,
    guarded_with,
    in_order,
    is_other_device,
    is_other_host,
    listed,
    of_same_device,
    setting_in,
    to_its_end,
    unlike,
    values_now,
)
from vnicaudit.remedy.hypervisor import HostSettings
from vnicaudit.remedy.planning.host_settings import (
    CONTAINER,
    NOT_OF_NETNS,
    OWNED,
    identifying_mac,
    members_of,
    owners_of,
    setting_diff,
    setting_digest,
)
from vnicaudit.remedy.replacing import UnitRefusedError, check_diff, check_uri, short_digest

_DRIFT = "it changed since the plan was made: make a new plan"
_ALTERED = "somebody has changed it since: check it, then use --over-edits to set it back anyway"
_FEWER = "{}={} takes queues away, which running guests may use"


class SettingDriver(PlaceDriver[HostSettings]):
    """Changes settings of hosts, of network namespaces and of this machine."""

    kind = "setting"
    unmeasured = "of a host"

    @classmethod
    def key(cls, step: Step) -> str:
        """All settings of a device are one unit."""
        which = f"{step.target}\n{cast(SettingUnit, step.unit).device}".encode()
        return f"{cls.kind}-{short_digest(which, 24)}"

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The device, or the host."""
        first = steps[0]
        name = cast(SettingUnit, first.unit).device or first.about.name or "host"
        return unit_of(key, steps, cls.kind, name, macs=())

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a place that may start a program, unless the user named it."""
        if unit.target not in ("local", "local://"):
            check_uri(unit.target, self._session.reach.trusted)

    def connected(self, target: str, until: ExitStack) -> HostSettings:
        """The settings of the host, locked against other runs of this machine."""
        place = self._adapters.host(target, self._session.deadline)
        until.callback(place.close)
        key = f"settings-{short_digest(place.identity().encode(), 24)}"
        self._session.hold(key, target, until)
        return place

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that sets the values of the unit's step."""
        part = _part_of(steps)
        facts = self._read(unit, part)
        if is_other_device(facts, part):
            text = f"{OTHER_DEVICE.format(part.device)}: make a new plan"
            raise UnitRefusedError(text, "drift")
        now = values_now(facts, part.values)
        open_fields = unlike(facts, part.values)
        if not open_fields:
            return NOTHING_TO_DO
        before = {
            field: part.old[field] if field in open_fields else now.get(field, "")
            for field in part.old
        }
        if drift := differing(now, before):
            raise UnitRefusedError(f"{_DRIFT} ({drift})", "drift")
        settings = list(map(setting_in, part.values))
        if members := next(members_of(settings, facts), ""):
            raise UnitRefusedError(members, "state")
        for owner in owners_of(settings, facts):
            if owner.name not in part.over:
                raise UnitRefusedError(OWNED.format(owner.name, owner.evidence), "owner")
        for field, value in part.values.items():
            if cuts_queues(facts, setting_in(field), value):
                raise UnitRefusedError(_FEWER.format(field, value), "state")
        transaction = SettingTransaction(
            request.mode, device=part.device, mac=part.mac,
            before=before, goal=dict(part.values), machine=part.machine,
            beside=beside_of(facts, part.device, part.values),
            shared=guarded_with(unit, part.values, facts),
        )  # fmt: skip
        return Prepared(transaction)

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that sets back what the run set, and what changed along with it and was not
        changed since."""
        made = request.transaction(unit, SettingTransaction)
        try:
            facts = self._read(unit, made)
        except GoneError:
            made = _files_of(made)
            if not made.goal:
                raise
            facts = self._read(unit, made)
        if is_other_device(facts, made) and not request.over_edits:
            what = "check it, then use --over-edits to set it back anyway"
            raise UnitRefusedError(f"{OTHER_DEVICE.format(made.device)}: {what}", "edited")
        present = values_of(facts, made.device) | values_now(facts, made.beside | made.goal)
        others = [
            field
            for field in unlike(facts, made.goal)
            if present.get(field) != made.before.get(field)
        ]
        if others and not request.over_edits:
            differ = listed(others, present, EDITED)
            raise UnitRefusedError(f"{_ALTERED} ({differ})", "edited")
        along = changed_along(entry.event for entry in request.run.of(unit.key))
        wanted = made.before | {
            field: made.beside[field]
            for field, value in (along or {}).items()
            if present.get(field) == value and field in made.beside
        }
        goal = {field: value for field, value in wanted.items() if present.get(field) != value}
        if not goal:
            return NOTHING_TO_DO
        if gone := [field for field in goal if field not in present and field in made.before]:
            raise UnitRefusedError(f"{gone[0]} is no longer there", "edited")
        transaction = SettingTransaction(
            request.mode, device=made.device, mac=identifying_mac(facts.link(made.device)),
            before={field: present[field] for field in goal if field in present},
            goal=in_order(goal), machine=made.machine,
            beside={field: value for field, value in present.items() if field not in goal},
            shared=guarded_with(unit, goal, facts),
        )  # fmt: skip
        return Prepared(transaction)

    def forward(self, work: BegunUnit) -> Result:
        """Set the values, or those from before the run, and read them again."""
        return to_its_end(work.at(self._places[work.unit.target], SettingTransaction))

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """``in-effect`` where every setting is as the run set it, else ``differs``."""
        transaction = begin.of(SettingTransaction)
        facts = of_same_device(self._read(unit, transaction), transaction)
        if other := unlike(facts, transaction.goal):
            now = values_now(facts, other)
            words = listed(other, now, EDITED)
            return UnitState(unit.name, "differs", f"changed since, or started again: {words}")
        return UnitState(unit.name, "in-effect")

    def result_if_gone(
        self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool
    ) -> Result:
        """``gone``: a device that is not there may have been removed, or have another name now."""
        del unit, begun, dry_run
        other = "if it has another name now, it keeps the settings that it has"
        return Result("gone", f"{error}: if the device was removed, nothing is left to do; {other}")

    def _read(self, unit: UnitRequest, known: SettingUnit | SettingTransaction) -> HostFacts:
        place = self._places[unit.target]
        facts = place.facts()
        if is_other_host(facts, known):
            raise UnitRefusedError(OTHER_HOST.format(unit.target), "drift")
        if known.device and not is_there(facts, known.device):
            links = facts.links or () if known.mac else ()
            others = [link.name for link in links if identifying_mac(link) == known.mac]
            named = f", but {others[0]} has its MAC address" if len(others) == 1 else ""
            raise GoneError(f"{known.device} is no longer there{named}")
        if place.is_of_container(facts):
            raise UnitRefusedError(CONTAINER.format(facts.container), "state")
        return facts


def _files_of(made: SettingTransaction) -> SettingTransaction:
    """The files alone, which are left to undo where the device is gone."""
    goal = {field: value for field, value in made.goal.items() if is_file(setting_in(field))}
    before = {field: made.before[field] for field in goal}
    return replace(made, device="", mac="", before=before, goal=goal, beside={})


def _part_of(steps: tuple[Step, ...]) -> SettingUnit:
    """Everything that the steps do together: one sets values, and one keeps them. Raises
    RefusedError for others."""
    parts = [cast(SettingUnit, step.unit) for step in steps]
    for step, part in zip(steps, parts, strict=True):
        _check_step(step, part)
    first, *rest = parts
    if [are_files(part.values) for part in parts] not in ([False], [True], [False, True]):
        raise UnitRefusedError(
            "the plan must have one step that sets it and one that keeps it", "plan"
        )
    if any(
        (part.device, part.mac, part.machine) != (first.device, first.mac, first.machine)
        for part in rest
    ):
        raise UnitRefusedError("its steps are on different devices", "plan")
    return replace(
        first,
        values={field: value for part in parts for field, value in part.values.items()},
        old={field: value for part in parts for field, value in part.old.items()},
    )


def _check_step(step: Step, part: SettingUnit) -> None:
    """Raises RefusedError if a step would do something other than what was reviewed."""
    checked = [(field, value, True) for field, value in part.values.items()]
    checked += [(field, value, False) for field, value in part.old.items()]
    for field, value, is_new in checked:
        setting = setting_of(field)
        is_one = setting is not None and setting.device == part.device and takes(setting, value)
        if setting is None or not is_one or (is_new and not _may_become(setting, value)):
            text = f"step {step.id}: {field[:80]}={value[:40]} is no setting that is changed here"
            raise UnitRefusedError(text, "plan")
        if is_of_host(setting) and step.target.startswith("netns://"):
            raise UnitRefusedError(f"step {step.id}: {field}: {NOT_OF_NETNS}", "plan")
    digest = setting_digest(step.target, part)
    if not part.values or set(part.old) != set(part.values) or step.digest != digest:
        raise UnitRefusedError(
            f"step {step.id}: its values do not match its changes: make a new plan", "plan"
        )
    check_diff(step, setting_diff(part.device, part.old, part.values))


def _may_become(setting: HostSetting, value: str) -> bool:
    return is_own(setting.name, value) if is_file(setting) else may_become(setting, value)
