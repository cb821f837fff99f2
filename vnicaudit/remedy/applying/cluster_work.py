"""Work on one object of a cluster: patch it, restart the virtual machine, see what its new instance
has, patch it back.

Every step first reads the present state and does only what is missing, so that an interrupted run
can be resumed. A virtual machine is never stopped, and no instance is deleted: a restart is asked
for, and KubeVirt replaces the instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.errors import GoneError, RefusedError, VnicauditError
from vnicaudit.knowledge.kube_changes import TEMPLATE
from vnicaudit.model.decoding import objects_at, text_at, value_at
from vnicaudit.model.plan import ClusterKind, PatchLine
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.driver import (
    ENDS_THE_WORK,
    CheckResults,
    UnitWork,
    failed,
    verify,
    wait_until,
)
from vnicaudit.remedy.applying.history import may_be_off
from vnicaudit.remedy.applying.journal.events import (
    Patched,
    Patching,
    Result,
    Started,
    Stopping,
    Transaction,
    Undoing,
)
from vnicaudit.remedy.applying.runner import ROLLED_BACK
from vnicaudit.remedy.cluster_patch import foreign_in, guarded_patch, inverse, located, open_in
from vnicaudit.remedy.hypervisor import ClusterObject, ClusterObjects
from vnicaudit.remedy.replacing import UnitRefusedError

_PASSES = 3
"""How often a patch is made of what was just read: another field may change in between."""
_POLL = 1.0
_CONDITION_SECONDS = 10.0
"""How long virt-controller may take to remove RestartRequired after a restart."""
_MEANWHILE = "somebody else changed it in the meantime: {}; their change was kept"
ASKED = "a stop or a start of it is under way"
_ONLY_RESTARTED = "it was changed before this run, which only restarts it: that is kept"
_TAKEN_BACK = "what it was restarted for, a change made before this run, was taken back"
_RESTART = "it takes effect when it is restarted: {}"
_SILENT = ", but its guest agent still does not answer: see its console ({})"
_CONDITION = (
    "; KubeVirt 1.8 and newer takes back the condition RestartRequired by itself, an older one "
    "with the next restart"
)


class ClusterTransaction(Transaction, frozen=True, kw_only=True):
    """The change of one object. ``lines``: its patch, from which its inverse follows; ``version``:
    its resourceVersion before; ``server``: the URL of its API server; ``instance``: UID of the
    instance that ran before, empty: none; ``agent``: that was connected to the guest's agent;
    ``restart``: the command that restarts it by hand; ``only_restarts``: the fields were as
    ``lines`` say before."""

    kind: ClusterKind
    uid: str
    namespace: str
    name: str
    lines: tuple[PatchLine, ...]
    version: str
    server: str
    instance: str = ""
    agent: bool = False
    restart: str = ""
    only_restarts: bool = False


ClusterWork = UnitWork[ClusterObjects, ClusterTransaction]


def to_its_end(work: ClusterWork) -> Result:
    """Make the change, or undo it, from any point where that was interrupted."""
    undoing = work.notes.last(Undoing)
    if undoing is None:
        try:
            result, checks = _changed(work)
        except ENDS_THE_WORK:
            raise
        except VnicauditError as error:
            if isinstance(error, RefusedError) and work.notes.last(Patched) is None:
                raise  # nothing was changed
            undoing = Undoing(str(error), "failed")
        else:
            if not (wrong := failed(checks)):
                return result
            undoing = Undoing(wrong, "rolled-back")
        work.notes.write(undoing)
        work.tell("undoing the change")
    return _put_back(work, undoing.reason, undoing.outcome)


def _changed(work: ClusterWork) -> tuple[Result, tuple[Check, ...]]:
    made = work.transaction
    _bring(work, made.lines)
    if made.mode != "restart" or not made.active:
        words, waits = _until_restart(work) if made.active else ("", False)
        return Result("applied", words, waits=waits), ()
    began, measured = work.clock.monotonic(), work.notes.last(Stopping) is None
    checks = _restarted(work, made.lines)
    measured = measured and work.notes.last(Stopping) is not None
    downtime = round(work.clock.monotonic() - began, 2) if measured else None

    def is_clear() -> bool:
        found = work.place.get(made.kind, made.namespace, made.name)
        return not condition(found, "RestartRequired")

    if not failed(checks) and not wait_until(work.clock, is_clear, _CONDITION_SECONDS, _POLL):
        checks = (*checks, Check("condition", "unknown", "it still has RestartRequired"))
    return Result("applied", "", checks, downtime), checks


def _until_restart(work: ClusterWork) -> tuple[str, bool]:
    """When a running guest gets what was patched, and whether it waits for that."""
    made = work.transaction
    instance = work.place.instance(made.namespace, made.name)
    if instance is None or not instance_has(instance, made.lines):
        return _RESTART.format(made.restart), True
    found = work.place.get(made.kind, made.namespace, made.name)
    waits = condition(found, "RestartRequired")
    return f"the guest runs with it already{_CONDITION if waits else ''}", False


def _put_back(work: ClusterWork, reason: str, outcome: Outcome) -> Result:
    """Undo the patch, and have the virtual machine run without it if it was restarted with it."""
    made, left, kept, silent = work.transaction, "", "", ""
    was_asked = work.notes.last(Stopping) is not None
    if made.only_restarts and (not was_asked or reason == ROLLED_BACK):
        return Result(outcome, f"{reason}; {_ONLY_RESTARTED if was_asked else 'it is as before'}")
    try:
        found = checked_uid(work.place.get(made.kind, made.namespace, made.name), made.uid)
        here = here_of(made.lines, found)
        foreign = foreign_in(here, found)
        kept = f"; {_MEANWHILE.format(listed(foreign, found))}" if foreign else ""
        _bring(work, inverse(one for one in here if one not in foreign))
        if was_asked:
            checks = _restarted(work, inverse(made.lines))
            left = failed(tuple(one for one in checks if one.name != "agent"))
            if failed(checks) and not left:
                console = work.place.virtctl(f"console {made.name} -n {made.namespace}")
                silent = _SILENT.format(console)
    except ENDS_THE_WORK:
        raise
    except VnicauditError as error:
        left = str(error)
    if left:
        left = "for the same reason" if left == reason else left
        off = may_be_off(work.notes.entries())
        why = f"{reason}; not everything could be undone: {left}{kept}{off and f'; {off}'}"
        return Result("failed", why, undone=False)
    whole = f"; {_TAKEN_BACK if made.only_restarts else 'it is as before'}"
    return Result(outcome, f"{reason}{kept or whole}{silent}")


# Patch it.


def checked_uid(found: ClusterObject, uid: str) -> ClusterObject:
    """The object. Raises GoneError if another one has its name now."""
    if value_at(found, "/metadata/uid") != uid:
        raise GoneError("it was deleted, and another one has its name now")
    return found


def version_of(found: ClusterObject) -> str:
    """The resourceVersion of an object."""
    return str(value_at(found, "/metadata/resourceVersion"))


def _bring(work: ClusterWork, lines: tuple[PatchLine, ...]) -> None:
    """Have the fields as ``after``. Raises RefusedError if a field is as somebody else made it, or
    the server refuses it."""
    made, tried, refusal = work.transaction, "", RefusedError("")
    for _ in range(_PASSES):
        found = checked_uid(work.place.get(made.kind, made.namespace, made.name), made.uid)
        here, version = here_of(lines, found), version_of(found)
        left = open_in(here, found)
        if len(left) < len(here) and work.notes.pending(Patching, Patched):
            work.notes.write(Patched(version))  # all of it was done, and some of it was changed
        if foreign := foreign_in(here, found):
            raise UnitRefusedError(_MEANWHILE.format(listed(foreign, found)), "drift")
        if not left:
            return
        if version == tried:
            raise refusal
        tried = version
        work.notes.write(Patching(version))
        try:
            patch = guarded_patch(left, made.uid, version)
            found, _told = work.place.patch(made.kind, made.namespace, made.name, patch)
        except RefusedError as error:  # it may have changed since it was read
            refusal = UnitRefusedError(str(error), "cluster")
            continue
        work.notes.write(Patched(version_of(found)))
        return
    raise refusal


def here_of(lines: Iterable[PatchLine], found: ClusterObject) -> tuple[PatchLine, ...]:
    """The lines where they are in the object now. Raises RefusedError if an interface is gone."""
    lines = tuple(lines)
    here = located(lines, found)
    if here is None:
        gone = dict.fromkeys(one.name for one in lines if located((one,), found) is None)
        raise UnitRefusedError(f"it no longer has the interface {', '.join(gone)}", "drift")
    return here


def listed(lines: Iterable[PatchLine], found: ClusterObject) -> str:
    """Fields with their present values, if these are of a kind that is changed."""
    return ", ".join(f"{one.path} is {_as_json(value_at(found, one.path))}" for one in lines)


def _as_json(value: object) -> str:
    if value is None:
        return "not there"
    if isinstance(value, str | bool | int):
        return msgspec.json.encode(value).decode()[:80]
    return "something else"


# Restart the virtual machine, and wait for what it runs with.


def field_in_instance(line: PatchLine) -> PatchLine | None:
    """The line in the instance; None: the instance has no such field."""
    if not line.path.startswith(f"{TEMPLATE}/"):
        return None
    return msgspec.structs.replace(line, path=line.path.removeprefix(TEMPLATE))


def instance_has(instance: ClusterObject, lines: Iterable[PatchLine]) -> bool | None:
    """True if the instance has all values of the lines, as far as it tells; None: it tells
    none."""
    wanted = [one for one in map(field_in_instance, lines) if one is not None]
    wanted = [one for one in wanted if one.after is not None]  # else there is a default
    if not wanted:
        return None
    here = located(wanted, instance)
    return here is not None and all(value_at(instance, one.path) == one.after for one in here)


def condition(found: ClusterObject, kind: str) -> bool:
    """True if the object has the condition, and it is true."""
    return any(
        (each.get("type"), each.get("status")) == (kind, "True")
        for each in objects_at(found, "/status/conditions")
    )


def is_asked(found: ClusterObject) -> bool:
    """True if a stop or a start of a virtual machine is under way: no restart can be asked for."""
    return bool(value_at(found, "/status/stateChangeRequests"))


def uid_of(instance: ClusterObject | None) -> str:
    """The UID of an instance; empty: there is none."""
    return "" if instance is None else str(value_at(instance, "/metadata/uid"))


def _to_replace(work: ClusterWork, lines: tuple[PatchLine, ...]) -> str:
    """UID of the instance to be replaced; empty: none, or it has what the lines say."""
    asked = work.notes.latest(Undoing, Stopping)
    if asked is not None and isinstance(asked.event, Stopping):
        return asked.event.instance
    instance = work.place.instance(work.transaction.namespace, work.transaction.name)
    is_old = asked is not None and uid_of(instance) == work.transaction.instance
    if instance is None or is_old or instance_has(instance, lines):
        return ""
    return uid_of(instance)


def _restarted(work: ClusterWork, lines: tuple[PatchLine, ...]) -> tuple[Check, ...]:
    """Have the instance replaced if it does not have what the lines say, and wait for the guest.
    Returns the checks of it."""
    made, old = work.transaction, _to_replace(work, lines)

    def is_going() -> bool:
        now = work.place.instance(made.namespace, made.name)
        return uid_of(now) != old or bool(now and value_at(now, "/metadata/deletionTimestamp"))

    def is_free() -> bool:
        return not is_asked(work.place.get(made.kind, made.namespace, made.name)) or is_going()

    if old and not wait_until(work.clock, is_free, work.limits.guest_deadline, _POLL):
        raise UnitRefusedError(f"it was not restarted: {ASKED}", "busy")
    if old and not is_going():
        work.notes.write(Stopping("restart", old))
        work.tell("restarting it")
        try:
            work.place.restart(made.namespace, made.name)
        except RefusedError as error:
            if is_free() and not is_going():  # else an earlier request was taken
                raise UnitRefusedError(f"it was not restarted: {error}", "cluster") from None
    checks = verify(work, lambda: _checks_now(work, lines, old), _POLL)
    if any((one.name, one.verdict) == ("running", "ok") for one in checks):
        work.notes.write(Started(uid_of(work.place.instance(made.namespace, made.name))))
    return checks


def _checks_now(work: ClusterWork, lines: tuple[PatchLine, ...], old: str) -> CheckResults:
    made = work.transaction
    instance = work.place.instance(made.namespace, made.name)
    if instance is None:
        return CheckResults((Check("instance", "failed", "it has no instance yet"),))
    if uid_of(instance) == old:
        return CheckResults((Check("instance", "failed", "it was not restarted"),))
    checks = instance_checks(made, instance, lines)
    if any(one.name == "spec" and one.verdict == "failed" for one in checks):
        return CheckResults(checks, over=True)  # no instance changes its own
    has_asked = not failed(checks) and work.notes.last(Stopping) is not None
    if has_asked and is_asked(work.place.get(made.kind, made.namespace, made.name)):
        checks = (*checks, Check("restart", "failed", ASKED))
    return CheckResults(checks)


def instance_checks(
    made: ClusterTransaction, instance: ClusterObject, lines: Iterable[PatchLine]
) -> tuple[Check, ...]:
    """The checks of an instance, up to the first kind that fails."""
    lines = tuple(lines)
    spec, phase = tuple(_spec(instance, lines)), value_at(instance, "/status/phase")
    if failed(spec):
        return spec
    if phase != "Running":
        return (*spec, Check("running", "failed", f"its instance is {phase}"))
    checks = [*spec, Check("running", "ok", "its instance is Running"), *_status(instance, lines)]
    if made.agent:
        is_there = condition(instance, "AgentConnected")
        words = "the guest agent is connected" if is_there else "its guest agent does not answer"
        checks.append(Check("agent", "ok" if is_there else "failed", words))
    return tuple(checks)


def _spec(instance: ClusterObject, lines: Iterable[PatchLine]) -> Iterator[Check]:
    """Each field as the instance has it."""
    for line in lines:
        there = field_in_instance(line)
        if there is None or there.after is None:
            yield Check("spec", "unknown", f"{line.path} is not a field of its instance")
            continue
        here = located((there,), instance)
        now = None if here is None else value_at(instance, here[0].path)
        words = f"{line.name} {there.path.rpartition('/')[2]} is {_as_json(now)}".lstrip()
        yield Check("spec", "ok" if now == line.after else "failed", words)


def _status(instance: ClusterObject, lines: Iterable[PatchLine]) -> Iterator[Check]:
    """The interfaces that are not in the domain of the instance."""
    in_domain = {
        text_at(each, "/name")
        for each in objects_at(instance, "/status/interfaces")
        if "domain" in text_at(each, "/infoSource").split(", ")
    }
    for name in sorted({line.name for line in lines} - {"", *in_domain}):
        yield Check("status", "failed", f"the interface {name} is not in its domain")
