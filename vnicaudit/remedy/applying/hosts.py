"""Settings of hosts: set until the next boot, read again, and set back to what was read before.

What one setting changes along (TSO goes with checksums, a group of features with its members) is
recorded with it, and set back too. Files that keep settings beyond the next boot are written after
these are set, and removed again; no file is overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, suppress
from typing import cast

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GoneError, JournalError, NoResponseError, VnicauditError
from vnicaudit.knowledge.host_settings import (
    ORDER,
    HostSetting,
    made_of,
    may_become,
    setting_of,
    takes,
    value_of,
    values_of,
)
from vnicaudit.knowledge.persistent_forms import in_run, is_own
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.plan import SettingUnit, Step
from vnicaudit.model.runs import Check, Outcome, UnitState
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    Driver,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitWork,
)
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Result,
    Set,
    Setting,
    Transaction,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.hypervisor import HostSettings
from vnicaudit.remedy.planning.host_settings import (
    CONTAINER,
    OWNED,
    identifying_mac,
    members_of,
    owners_of,
    setting_diff,
    setting_digest,
)
from vnicaudit.remedy.replacing import UnitRefusedError, check_uri, short_digest

_NOT_UNDONE = (NoResponseError, JournalError, GoneError)
"""Errors after which nothing can be undone: no answer, no record, or no device."""
_DRIFT = "it changed since the plan was made: make a new plan"
_EDITED = "somebody has changed it since: check it, then use --over-edits to set it back anyway"
_OTHER_HOST = "another host answers as {} now, or its machine id was changed"
_OTHER_DEVICE = "another device has the name {} now, or its MAC address was changed"
_MEANWHILE = "somebody else changed it in the meantime: {}; their change was kept"
_PASSES = 3
"""How often settings are set until they are as wanted: what one changes along is then set by
itself."""

Values = dict[str, str]
"""Field of a setting -> its value."""


class SettingTransaction(Transaction, frozen=True, kw_only=True):
    """The change of the settings of one device (empty: of the host). ``mac`` and ``machine``: what
    tells it, and its host, from others of that name (:class:`SettingUnit`); ``before``: their
    values before it, without those that are not there because the queue is not; ``beside``: those
    of all other settings of the device, which may change along."""

    device: str
    mac: str
    before: Values
    goal: Values
    beside: Values
    machine: str = ""


SettingWork = UnitWork[HostSettings, SettingTransaction]


class SettingDriver(Driver):
    """Changes settings of hosts, of network namespaces and of this machine."""

    kind = "setting"
    unmeasured = "of a host"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._places: dict[str, HostSettings] = {}

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

    def open(self, unit: UnitRequest) -> None:
        """Connect to its host, and keep other runs of this machine away from it."""
        if unit.target in self._places:
            return
        place = self._adapters.host(unit.target, self._session.deadline)
        with ExitStack() as opened:
            opened.callback(place.close)
            key = f"settings-{short_digest(place.identity().encode(), 24)}"
            self._session.hold(key, unit.target, opened)
            self._session.at(unit.target).push(opened.pop_all())
        self._session.at(unit.target).callback(self._places.pop, unit.target)
        self._places[unit.target] = place

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The change that sets the values of the unit's step."""
        part = _part_of(steps)
        facts = self._read(unit, part)
        if _is_other_device(facts, part):
            text = f"{_OTHER_DEVICE.format(part.device)}: make a new plan"
            raise UnitRefusedError(text, "drift")
        now = _now(facts, part.values)
        open_fields = _unlike(facts, part.values)
        if not open_fields:
            return NOTHING_TO_DO
        before = {
            field: part.old[field] if field in open_fields else now[field] for field in part.old
        }
        if drift := _differing(now, before):
            raise UnitRefusedError(f"{_DRIFT} ({drift})", "drift")
        settings = list(map(_setting, part.values))
        if members := next(members_of(settings, facts), ""):
            raise UnitRefusedError(members, "state")
        for owner in owners_of(settings, facts):
            if owner.name not in part.over:
                raise UnitRefusedError(OWNED.format(owner.name, owner.evidence), "owner")
        beside = values_of(facts, part.device)
        transaction = SettingTransaction(
            request.mode, device=part.device, mac=part.mac,
            before=before, goal=dict(part.values), machine=part.machine,
            beside={field: value for field, value in beside.items() if field not in part.values},
        )  # fmt: skip
        return Prepared(transaction, keeps_texts=False)

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
        if _is_other_device(facts, made) and not request.over_edits:
            what = "check it, then use --over-edits to set it back anyway"
            raise UnitRefusedError(f"{_OTHER_DEVICE.format(made.device)}: {what}", "edited")
        present = values_of(facts, made.device) | _now(facts, made.goal)
        others = [
            field
            for field in _unlike(facts, made.goal)
            if present.get(field) != made.before.get(field)
        ]
        if others and not request.over_edits:
            differ = _told(others, present)
            raise UnitRefusedError(f"{_EDITED} ({differ})", "edited")
        along = _along(entry.event for entry in request.run.of(unit.key))
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
            goal=_ordered(goal), machine=made.machine,
            beside={field: value for field, value in present.items() if field not in goal},
        )  # fmt: skip
        return Prepared(transaction, keeps_texts=False)

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that undoes the run, as :meth:`prepare_undo` makes it: a run saves only the
        values of settings."""
        return self.prepare_undo(unit, request)

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run began to change the unit."""
        return run.has_begun(unit.key)

    def forward(self, work: BegunUnit) -> Result:
        """Set the values, and read them again."""
        begun = work.at(self._places[work.unit.target], SettingTransaction)
        try:
            return _set(begun)
        except _NOT_UNDONE:
            raise
        except VnicauditError as error:
            work.notes.write(Undoing(str(error), "failed"))
            return _put_back(begun, str(error), "failed")

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Set the values from before the run."""
        begun = work.at(self._places[work.unit.target], SettingTransaction)
        return _put_back(begun, undoing.reason, undoing.outcome)

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """``in-effect`` where every setting is as the run set it, else ``differs``."""
        transaction = begin.of(SettingTransaction)
        facts = _of_same_device(self._read(unit, transaction), transaction)
        if other := _unlike(facts, transaction.goal):
            now = _now(facts, other)
            words = _told(other, now)
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
        facts = place.facts("")
        if _is_other_host(facts, known):
            raise UnitRefusedError(_OTHER_HOST.format(unit.target), "drift")
        if known.device and facts.link(known.device) is None:
            links = facts.links or () if known.mac else ()
            others = [link.name for link in links if identifying_mac(link) == known.mac]
            named = f", but {others[0]} has its MAC address" if len(others) == 1 else ""
            raise GoneError(f"{known.device} is no longer there{named}")
        if place.is_of_container(facts):
            raise UnitRefusedError(CONTAINER.format(facts.container), "state")
        return facts


def _files_of(made: SettingTransaction) -> SettingTransaction:
    """The files alone, which are left to undo where the device is gone."""
    goal = {field: value for field, value in made.goal.items() if _is_file(_setting(field))}
    before = {field: made.before[field] for field in goal}
    return replace(made, device="", mac="", before=before, goal=goal, beside={})


def _part_of(steps: tuple[Step, ...]) -> SettingUnit:
    """Everything that the steps do together: one sets values, and one keeps them. Raises
    RefusedError for others."""
    parts = [cast(SettingUnit, step.unit) for step in steps]
    for step, part in zip(steps, parts, strict=True):
        _check_step(step, part)
    first, *rest = parts
    if len(parts) > 2 or [part.keeps for part in parts] not in ([False], [True], [False, True]):
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
    digest = setting_digest(step.target, part)
    reviewed = setting_diff(part.device, part.old, part.values)
    if not part.values or set(part.old) != set(part.values) or step.digest != digest:
        raise UnitRefusedError(
            f"step {step.id}: its values do not match its changes: make a new plan", "plan"
        )
    if reviewed != step.diff:
        raise UnitRefusedError(
            f"step {step.id}: the change does not match its diff: make a new plan", "plan"
        )


def _is_other_host(facts: HostFacts, known: SettingUnit | SettingTransaction) -> bool:
    return known.machine not in ("", facts.machine)


def _may_become(setting: HostSetting, value: str) -> bool:
    return is_own(setting.name, value) if _is_file(setting) else may_become(setting, value)


def _is_file(setting: HostSetting) -> bool:
    return setting.kind == "file"


def _is_other_device(facts: HostFacts, known: SettingUnit | SettingTransaction) -> bool:
    """True if the device that has the name now is another than the known one."""
    return identifying_mac(facts.link(known.device)) != known.mac


def _of_same_device(facts: HostFacts, made: SettingTransaction) -> HostFacts:
    """The facts. Raises GoneError if another device has the name now, NoResponseError if another
    host does: this one does not answer then."""
    if _is_other_host(facts, made):
        raise NoResponseError(_OTHER_HOST.format("it"))
    if _is_other_device(facts, made):
        raise GoneError(_OTHER_DEVICE.format(made.device))
    return facts


# Work on one device: set, read again, set back.


def _set(work: SettingWork) -> Result:
    place, made = work.place, work.transaction
    facts = _of_same_device(place.facts(made.device), made)
    now, open_fields = _now(facts, made.goal), _unlike(facts, made.goal)
    asked = work.notes.last(Setting) is not None
    if foreign := _foreign(made, facts, passing=asked):
        text = _MEANWHILE.format(_told(foreign, now))
        if asked:
            raise ActionError(text)
        return Result("failed", text)
    if open_fields:
        work.notes.write(Setting({field: made.goal[field] for field in made.goal}))
        if work.rollback_of:
            facts = _brought_back(place, made.device, facts, made.goal)
        else:
            goal = {field: in_run(value, work.folder.name) for field, value in made.goal.items()}
            # what cuts off the host must not be there after its next start
            at_once = {field: goal[field] for field in goal if not _is_file(_setting(field))}
            for wanted in (at_once, goal):
                facts = _brought(place, made.device, facts, wanted)
    if work.notes.pending(Setting, Set) or work.notes.last(Set) is None:
        work.notes.write(Set(_changed_along(facts, made)))
    until = "" if work.rollback_of else _lasting(made.goal)
    return Result("applied", until, tuple(_checks(facts, made)))


def _lasting(goal: Values) -> str:
    files = [field for field in goal if _is_file(_setting(field))]
    if not files:
        return "until the next boot"
    return "from the next boot on" if len(files) == len(goal) else "now, and from the next boot on"


def _checks(facts: HostFacts, made: SettingTransaction) -> Iterable[Check]:
    """Each setting as it is now, the form that the kernel gave it, and what changed along."""
    now = _now(facts, made.goal)
    for field, value in made.goal.items():
        if _is_file(_setting(field)):
            yield Check("setting", "ok", _told([field], now))
            continue
        made_it = "" if now[field] == value else f" (the kernel's form of {value})"
        yield Check("setting", "ok", f"{field} is {now[field]}{made_it}")
    for field, other in _changed_along(facts, made).items():
        told = "it is gone" if other is None else other
        yield Check("setting", "ok", f"{field} changed along: {told}")


def _changed_along(facts: HostFacts, made: SettingTransaction) -> dict[str, str | None]:
    """The other settings that are not as they were; None: a queue and its settings go with its
    channel."""
    present = values_of(facts, made.device)
    return {
        field: present.get(field)
        for field, value in made.beside.items()
        if present.get(field) != value
    }


def _put_back(work: SettingWork, reason: str, outcome: Outcome) -> Result:
    """Set back what was read before the change, and what changed along with it."""
    place, made = work.place, work.transaction
    try:
        if work.notes.last(Setting) is not None:
            facts = _of_same_device(place.facts(made.device), made)
            finished = work.notes.pending(Setting, Set) is None
            now, foreign = _now(facts, made.goal), _foreign(made, facts, passing=not finished)
            kept = _told(foreign, now)
            if foreign and finished:
                raise ActionError(_MEANWHILE.format(kept))
            along = _along(entry.event for entry in work.notes.entries()) if finished else None
            changed = _changed_along(facts, made) if along is None else along
            wanted = made.before | {
                field: made.beside[field] for field in changed if field in made.beside
            }
            wanted = {field: value for field, value in wanted.items() if field not in foreign}
            _brought_back(place, made.device, facts, wanted)
            if foreign:
                raise ActionError(_MEANWHILE.format(kept))
    except _NOT_UNDONE:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; its settings are as before")


def _foreign(made: SettingTransaction, facts: HostFacts, *, passing: bool) -> list[str]:
    """The settings that somebody else changed: they are neither as before nor as this run sets
    them. ``passing``: it was ended while it set them, when features pass through other states, and
    new queues have settings of their own."""
    now = _now(facts, made.goal)
    return [
        field
        for field in _unlike(facts, made.goal)
        if now.get(field) != made.before.get(field)
        and not (passing and (_setting(field).kind == "feature" or field not in made.before))
    ]


def _brought(place: HostSettings, device: str, facts: HostFacts, wanted: Values) -> HostFacts:
    """The facts once all settings are as wanted. Raises ActionError if they are not."""
    refused = ""
    for _ in range(_PASSES):
        left = _unlike(facts, wanted)
        if not left:
            return facts
        for field in _ordered(left):
            try:
                place.set(_setting(field), wanted[field])
            except NoResponseError:
                raise
            except ActionError as error:  # another pass may do it, once others are set
                refused = refused or f"{field}: {error}"
        facts = place.facts(device)
    left = _unlike(facts, wanted)
    if not left:
        return facts
    now = _now(facts, left)
    words = ", ".join(
        _told([field], now)
        if _is_file(_setting(field))
        else f"{field} is {now.get(field)}, not {wanted[field]}"
        for field in left
    )
    raise ActionError(refused or f"accepted but not applied: {words}")


def _brought_back(place: HostSettings, device: str, facts: HostFacts, wanted: Values) -> HostFacts:
    """Bring these settings back; all others stay as they are. A group of features that is switched
    on takes members along that were off before, while others of it were on; where the kernel does
    not let one stay, that is no failure."""
    present = values_of(facts, device)
    facts = _brought(place, device, facts, wanted)
    left = values_of(facts, device)
    others = {field: value for field, value in present.items() if field in left.keys() - wanted}
    if _unlike(facts, others):
        with suppress(ActionError):
            return _brought(place, device, facts, others | wanted)
        facts = _brought(place, device, place.facts(device), wanted)
    return facts


def _along(events: Iterable[object]) -> dict[str, str | None] | None:
    """The settings that changed along, as they were read after the change; None: that was not
    recorded."""
    found = [event.along for event in events if isinstance(event, Set)]
    return found[-1] if found else None


def _unlike(facts: HostFacts, wanted: Values) -> Values:
    """Those of the settings that are neither as wanted nor what the kernel makes of that."""
    now = _now(facts, wanted)
    return {
        field: value
        for field, value in wanted.items()
        if now.get(field) not in (value, made_of(_setting(field), value, facts))
    }


def _now(facts: HostFacts, fields: Iterable[str]) -> Values:
    """The present values of settings; one that does not exist is left out."""
    found = {field: value_of(facts, _setting(field)) for field in fields}
    return {field: value for field, value in found.items() if value is not None}


def _setting(field: str) -> HostSetting:
    """The setting of a field. Raises RefusedError for one that is not changed here, as from an
    edited journal."""
    setting = setting_of(field)
    if setting is None:
        raise UnitRefusedError(f"{field[:80]} is no setting that is changed here", "plan")
    return setting


def _ordered(values: Values) -> Values:
    """The values in the order in which they are set: the same for every host."""

    def place(field: str) -> tuple[int, str]:
        return ORDER.index(_setting(field).kind), field

    return {field: values[field] for field in sorted(values, key=place)}


def _differing(now: Values, old: Values) -> str:
    """The settings that are not as they were when the step was made."""
    return _told([field for field in old if now.get(field) != old[field]], now)


def _told(fields: Iterable[str], now: Values) -> str:
    """Settings with their present values; of a file, whether it is there."""
    return ", ".join(
        f"{_setting(field).name} is {'there' if now.get(field) else 'not there'}"
        if _is_file(_setting(field))
        else f"{field}={now.get(field, 'not there')}"
        for field in fields
    )
