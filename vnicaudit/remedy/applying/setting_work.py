"""Work on the settings of one device of a host: set, read again, set back; by the host itself, if
the way to it was cut.

What one setting changes along (TSO goes with checksums, a group of features with its members) is
recorded with it, and set back too.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from vnicaudit.errors import ActionError, GoneError, NoResponseError, VnicauditError
from vnicaudit.knowledge.host_links import may_manage
from vnicaudit.knowledge.host_setting_values import is_there, made_of, value_of, values_of
from vnicaudit.knowledge.host_settings import (
    ORDER,
    SHORT,
    HostSetting,
    SettingValues,
    field_of,
    is_apart,
    is_file,
    may_cut,
    setting_of,
    stays,
    takes_offline,
)
from vnicaudit.knowledge.persistent_forms import in_run, path_of_file
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.model.plan import SettingUnit
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.driver import ENDS_THE_WORK, UnitWork
from vnicaudit.remedy.applying.host_timer import Ended, HostTimer
from vnicaudit.remedy.applying.journal.events import (
    Result,
    Set,
    Setting,
    Transaction,
    Undoing,
    UnitRequest,
)
from vnicaudit.remedy.hypervisor import HostSettings
from vnicaudit.remedy.planning.host_settings import identifying_mac
from vnicaudit.remedy.replacing import UnitRefusedError

OTHER_HOST = "another host answers as {} now, or its machine id was changed"
OTHER_DEVICE = "another device has the name {} now, or its MAC address was changed"
_GUARDED = (
    "{} may carry the way to this host: a timer there sets it back unless a new connection "
    "confirms it within {:g} s"
)
_MEANWHILE = "somebody else changed it in the meantime: {}; their change was kept"
EDITED = "edited"
"""What a file is that is there, with another text than a run wrote."""
_NAMED = 4
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


def is_other_host(facts: HostFacts, known: SettingUnit | SettingTransaction) -> bool:
    return known.machine not in ("", facts.machine)


def is_other_device(facts: HostFacts, known: SettingUnit | SettingTransaction) -> bool:
    """True if the device that has the name now is another than the known one."""
    return identifying_mac(facts.link(known.device)) != known.mac


def of_same_device(facts: HostFacts, made: SettingTransaction) -> HostFacts:
    """The facts. Raises GoneError if the device is gone, or another one has the name now,
    NoResponseError if another host does: this one does not answer then."""
    if is_other_host(facts, made):
        raise NoResponseError(OTHER_HOST.format("it"))
    if made.device and not is_there(facts, made.device):
        raise GoneError(f"{made.device} is no longer there")
    if is_other_device(facts, made):
        raise GoneError(OTHER_DEVICE.format(made.device))
    return facts


def _needs_timer(fields: Iterable[str], facts: HostFacts) -> bool:
    """True if setting these may cut the way to the host."""
    devices = {one.device for one in map(setting_in, fields) if may_cut(one)}
    return any(may_manage(facts, device) for device in devices)


def guarded_with(unit: UnitRequest, fields: Iterable[str], facts: HostFacts) -> tuple[str, ...]:
    """The resource of a host that one of its units uses at a time: the way to it."""
    return (f"way to {unit.target}",) if _needs_timer(fields, facts) else ()


# Work on one device: set, read again, set back; by itself, if the way to the host was cut.


def to_its_end(work: SettingWork) -> Result:
    """Set what is to be set, or set it back, from any point where that was interrupted. Raises
    NoResponseError while it is unknown what the host does."""
    timer = HostTimer(work, work.place)
    try:
        if ended := timer.end_of_earlier():
            return _left_by_host(work, ended, "the run was interrupted")
        return _changed(work, timer)
    except NoResponseError as error:
        ended = timer.end_after(error)
        made = work.transaction
        facts = of_same_device(work.place.facts(), made)
        is_set = work.notes.last(Undoing) is None and not unlike(facts, _at_once(made.goal))
        if ended == "disarmed" and is_set:  # only the answer was lost
            return _set(work, timer)
        return _left_by_host(work, ended, str(error))


def _changed(work: SettingWork, timer: HostTimer) -> Result:
    undoing = work.notes.last(Undoing)
    if undoing is None:
        try:
            return _set(work, timer)
        except ENDS_THE_WORK:
            raise
        except VnicauditError as error:
            timer.check_time()
            undoing = Undoing(str(error), "failed")
            work.notes.write(undoing)
    result = _put_back(work, undoing.reason, undoing.outcome)
    timer.end()
    return result


def _left_by_host(work: SettingWork, ended: Ended, why: str) -> Result:
    """The result where the host's timer was faster, or could not be asked in time."""
    undoing = work.notes.last(Undoing)
    if undoing is None:
        by_host = "" if ended == "disarmed" else "undone by the host: "
        undoing = Undoing(f"{by_host}{why}", "failed")
        work.notes.write(undoing)
    goal = work.transaction.goal
    is_kept = _at_once(goal) != goal or any(stays(setting_in(field)) for field in goal)
    if ended == "restarted" and not is_kept:
        of_same_device(work.place.facts(), work.transaction)
        text = "the host was started again, and what was set is gone with that"
        return Result(undoing.outcome, f"{undoing.reason}; {text}")
    return _put_back(work, undoing.reason, undoing.outcome)


def _set(work: SettingWork, timer: HostTimer) -> Result:
    place, made = work.place, work.transaction
    facts = of_same_device(place.facts(), made)
    now, open_fields = values_now(facts, made.goal), unlike(facts, made.goal)
    asked = work.notes.last(Setting) is not None
    if foreign := _foreign(made, facts, passing=asked):
        text = _MEANWHILE.format(listed(foreign, now, EDITED))
        if asked:
            raise ActionError(text)
        return Result("failed", text)
    if open_fields:
        if is_guarded := _needs_timer(open_fields, facts):
            work.tell(_GUARDED.format(made.device or "it", work.limits.confirm_seconds))
            timer.arm(_settings(made.before), _settings(made.beside | made.before))
        work.notes.write(Setting({field: made.goal[field] for field in made.goal}))
        goal = {field: in_run(value, work.folder.name) for field, value in made.goal.items()}
        # what cuts off the host must not be there after its next start
        bring, first = _brought, _at_once(goal)
        if work.rollback_of:
            bring, first = _brought_back, made.goal
        offline = {field: first[field] for field in first if takes_offline(setting_in(field))}
        if offline:
            as_before = made.beside | made.before
            facts = bring(work, facts, as_before | offline, timer.name)
        facts = bring(work, facts, first, timer.name)
        if is_guarded:
            facts = timer.keep(lambda seen: _check_set(seen, made, first))
        if not work.rollback_of:
            facts = _brought(work, facts, goal)
    if work.notes.pending(Setting, Set) or work.notes.last(Set) is None:
        work.notes.write(Set(_changed_along(facts, made)))
    told = _after_rollback(made.goal, facts) if work.rollback_of else _lasting(made.goal, facts)
    return Result("applied", told, tuple(_checks(facts, made)))


def _settings(values: Values) -> SettingValues:
    return [(setting_in(field), value) for field, value in in_order(values).items()]


def _at_once(values: Values) -> Values:
    """Those that are not kept in files."""
    return {field: values[field] for field in values if not is_file(setting_in(field))}


def _lasting(goal: Values, facts: HostFacts) -> str:
    """How long everything stays that was set, or which of it goes with the next boot."""
    set_now = _at_once(goal)
    files = {setting_in(field).name for field in goal.keys() - set_now.keys()}
    lost = [
        field
        for field, one in ((field, setting_in(field)) for field in set_now)
        if not stays(one) and path_of_file(one, facts) not in files
    ]
    if lost:
        names = ", ".join(lost[:_NAMED])
        names += f" and {len(lost) - _NAMED:,} more" if len(lost) > _NAMED else ""
        which = f" for {names}; the others stay" if len(lost) < len(goal) else ""
        return f"until the next boot{which}"
    if len(set_now) == len(goal):  # Open vSwitch keeps all of it
        return ""
    return "now, and from the next boot on" if set_now else "from the next boot on"


def _after_rollback(goal: Values, facts: HostFacts) -> str:
    """The rest of a change where a rollback undoes only the settings, or only their file."""
    settings = [setting_in(field) for field in goal]
    if all(map(is_file, settings)):
        is_left = any(not one.device or is_there(facts, one.device) for one in settings)
        return "what its files kept stays set until the next boot" if is_left else ""
    paths = dict.fromkeys(path_of_file(one, facts) for one in settings if not is_file(one))
    files = [HostSetting("file", name=path) for path in paths if path]
    there = [file.name for file in files if value_of(facts, file)]
    return f"a file still sets it at each boot: {', '.join(there)}" if there else ""


def _checks(facts: HostFacts, made: SettingTransaction) -> Iterable[Check]:
    """Each setting as it is now, the form that the kernel gave it, and what changed along."""
    now = values_now(facts, made.goal)
    for field, value in made.goal.items():
        if is_file(setting_in(field)):
            yield Check("setting", "ok", listed([field], now))
            continue
        present = now.get(field, "gone")
        made_it = "" if present in (value, "gone") else f" (the kernel's form of {value})"
        yield Check("setting", "ok", f"{field} is {present}{made_it}")
    for field, other in _changed_along(facts, made).items():
        told = "it is gone" if other is None else other
        yield Check("setting", "ok", f"{field} changed along: {told}")


def _changed_along(facts: HostFacts, made: SettingTransaction) -> dict[str, str | None]:
    """The other settings that are not as they were; None: a queue and its settings go with its
    channel."""
    present = values_now(facts, made.beside)
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
            facts = of_same_device(place.facts(), made)
            finished = work.notes.pending(Setting, Set) is None
            now, foreign = values_now(facts, made.goal), _foreign(made, facts, passing=not finished)
            kept = listed(foreign, now, EDITED)
            if foreign and finished:
                raise ActionError(_MEANWHILE.format(kept))
            events = (entry.event for entry in work.notes.entries())
            along = changed_along(events) if finished else None
            changed = _changed_along(facts, made) if along is None else along
            wanted = made.before | {
                field: made.beside[field] for field in changed if field in made.beside
            }
            wanted = {field: value for field, value in wanted.items() if field not in foreign}
            _brought_back(work, facts, wanted)
            if foreign:
                raise ActionError(_MEANWHILE.format(kept))
    except ENDS_THE_WORK:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; its settings are as before")


def _foreign(made: SettingTransaction, facts: HostFacts, *, passing: bool) -> list[str]:
    """The settings that somebody else changed: they are neither as before nor as this run sets
    them. ``passing``: it was ended while it set them, when features pass through other states, and
    new queues have settings of their own."""
    now = values_now(facts, made.goal)
    return [
        field
        for field in unlike(facts, made.goal)
        if now.get(field) != made.before.get(field)
        and not (passing and (setting_in(field).kind == "feature" or field not in made.before))
    ]


def _check_set(facts: HostFacts, made: SettingTransaction, wanted: Values) -> None:
    """Raises ActionError if settings are not as wanted."""
    if left := unlike(of_same_device(facts, made), wanted):
        now = values_now(facts, left)
        words = ", ".join(
            listed([field], now)
            if is_file(setting_in(field))
            else f"{field} is {now.get(field)}, not {wanted[field]}"
            for field in left
        )
        raise ActionError(f"accepted but not applied: {words}")


def _brought(work: SettingWork, facts: HostFacts, wanted: Values, timer: str = "") -> HostFacts:
    """The facts once all settings are as wanted, each set only while the timer (empty: none) is
    armed. Raises ActionError if they are not."""
    made, refused = work.transaction, ""
    for _ in range(_PASSES):
        left = unlike(facts, wanted)
        if not left:
            return facts
        facts, answers = work.place.set(_settings(left), timer)
        for setting, why in answers.items():  # another pass may do it, once others are set
            refused = refused or f"{field_of(setting)}: {why}"
            if takes_offline(setting):
                raise ActionError(refused)
        facts = of_same_device(facts, made)
    if refused and unlike(facts, wanted):
        raise ActionError(refused)
    _check_set(facts, made, wanted)
    return facts


def _brought_back(
    work: SettingWork, facts: HostFacts, wanted: Values, timer: str = ""
) -> HostFacts:  # fmt: skip
    """Bring these settings back; all others stay as they are. A group of features that is switched
    on takes members along that were off before, while others of it were on; where the kernel does
    not let one stay, that is no failure."""
    place, made = work.place, work.transaction
    present = values_of(facts, made.device)
    facts = _brought(work, facts, wanted, timer)
    kept = values_of(facts, made.device).keys() - wanted
    others = {field: value for field, value in present.items() if field in kept}
    if unlike(facts, others):
        with suppress(ActionError):
            return _brought(work, facts, others | wanted, timer)
        facts = _brought(work, of_same_device(place.facts(), made), wanted, timer)
    return facts


def changed_along(events: Iterable[object]) -> dict[str, str | None] | None:
    """The settings that changed along, as they were read after the change; None: that was not
    recorded."""
    found = [event.along for event in events if isinstance(event, Set)]
    return found[-1] if found else None


def unlike(facts: HostFacts, wanted: Values) -> Values:
    """Those of the settings that are neither as wanted nor what the kernel makes of that."""
    now = values_now(facts, wanted)
    has_channels = any(setting_in(field).kind == "channels" for field in wanted)

    def is_gone(field: str) -> bool:  # new queues may have interrupts of other numbers
        return has_channels and setting_in(field).kind == "irq" and field not in now

    return {
        field: value
        for field, value in wanted.items()
        if now.get(field) not in (value, made_of(setting_in(field), value, facts))
        and not is_gone(field)
    }


def values_now(facts: HostFacts, fields: Iterable[str]) -> Values:
    """The present values of settings; one that does not exist is left out."""
    settings = {field: setting_in(field) for field in fields}
    known = {name: values_of(facts, name) for name in {one.device for one in settings.values()}}
    found = {
        field: value_of(facts, one) if is_apart(one) else known[one.device].get(field)
        for field, one in settings.items()
    }
    return {field: value for field, value in found.items() if value is not None}


def setting_in(field: str) -> HostSetting:
    """The setting of a field. Raises RefusedError for one that is not changed here, as from an
    edited journal."""
    setting = setting_of(field)
    if setting is None:
        raise UnitRefusedError(f"{field[:80]} is no setting that is changed here", "plan")
    return setting


def in_order(values: Values) -> Values:
    """The values in the order in which they are set: the same for every host. Groups of features
    come before their members, which they take along."""

    def place(field: str) -> tuple[int, bool, str]:
        setting = setting_in(field)
        return ORDER.index(setting.kind), setting.name not in SHORT, field

    return {field: values[field] for field in sorted(values, key=place)}


def differing(now: Values, old: Values) -> str:
    """The settings that are not as they were when the step was made."""
    return listed([field for field in old if now.get(field) != old[field]], now)


def listed(fields: Iterable[str], now: Values, there: str = "there") -> str:
    """Settings with their present values; of a file, whether it is ``there``."""
    return ", ".join(
        f"{setting_in(field).name} is {there if now.get(field) else 'not there'}"
        if is_file(setting_in(field))
        else f"{field}={now.get(field, 'not there')}"
        for field in fields
    )
