"""The way back of one domain that did not come to its goal.

As on the way forward, every step looks first at what is: so an undoing that was ended in the middle
goes on by being done again.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec.structs import replace

from vnicaudit.errors import GoneError, JournalError, SilentError, VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying import defining, hotswap, power
from vnicaudit.remedy.applying.means import Means, Result, Unwritten
from vnicaudit.remedy.applying.task import Task, unmet
from vnicaudit.remedy.applying.verify import failed, verify
from vnicaudit.remedy.definitions import reading

CANNOT_BE_UNDONE = (SilentError, JournalError, GoneError)
"""Nothing can be undone then: nobody answers, it could not be noted, or the domain is not there
any more."""
_STILL = (
    "what this run changed is in it (vnicaudit rollback of this run, with --over-edits, puts only "
    "that back)"
)
_AGAIN = "vnicaudit rollback of this run, with --mode restart, tries again"


def undo(means: Means, reason: str, outcome: Outcome) -> Result:
    """Begin to bring it back, because of ``reason``; ``outcome`` is what becomes of the unit."""
    means.notes.write("undoing", reason=reason, outcome=outcome)
    means.tell(f"undoing: {reason}")
    return undone(means, reason, outcome)


def undone(means: Means, reason: str, outcome: Outcome) -> Result:
    """Back to where it was. What cannot be undone is said, with what to do; what this run took
    away from the guest is given back all the same."""
    changed, left = False, []
    try:
        changed = defining.undefine(means)
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _given_back(means, exchange=not left)
    if left:
        why = f"{reason}; it could not all be undone: {'; '.join(left)} ({_AGAIN})"
        return Result("failed", why, undone=False)
    changed = changed or means.notes.latest("defined") is not None
    reason = f"{reason}; {'it was put back' if changed else 'nothing is changed'}"
    if wrong := _still_wrong(means):
        why = f"{reason}, but the guest is not as before: {wrong} ({_AGAIN})"
        return Result("failed", why, undone=False)
    return Result(outcome, reason)


def give_back(means: Means, reason: str) -> Result:
    """Somebody else has the definition now: only what this run took away from the guest is given
    back. What this run had changed by then is still in it, and can be taken back by itself."""
    left = _given_back(means, exchange=False)
    ours = [_STILL] if _is_in_it(means) else []
    return Result("failed", "; ".join([reason, *ours, *left]), undone=not (ours or left))


def leave_nobody_off(means: Means) -> None:
    """The journal cannot be written any more (a full disk): what this run took from the guest, its
    power or its NIC, is given back without a note. The rest waits until it can be noted."""
    if means.notes.latest("stopping", "detaching") is None:
        return
    undoing = means.notes.last("undoing") is not None
    back = _back(means) if undoing else means
    back = back._replace(notes=Unwritten(means.notes, means.task.key))
    with suppress(VnicauditError):
        if means.task.mode == "hotswap" and means.machine.state().active:
            hotswap.repair(back, kind=definition_kind(means.task, undoing=undoing))
            return
        power.settle(back)
        if means.task.active and not means.machine.state().active:
            means.tell("the journal cannot be written: the guest is not left off for it")
            power.start(back)


def definition_kind(task: Task, *, undoing: bool) -> str:
    """Which definition the guest's NICs are taken from."""
    if task.before == task.goal:
        return hotswap.RUNNING if undoing else "before"
    return "before" if undoing else "settled"


def _is_in_it(means: Means) -> bool:
    """Whether a definition that somebody else has changed has what this run changed, too."""
    if means.notes.latest("defining", "defined") is None:
        return False
    now = reading().definition_of(means.machine.definition(secrets=False), means.task.target)
    return not unmet(now, means.task.wanted)


def _given_back(means: Means, *, exchange: bool) -> list[str]:
    """Have the guest run as before; what went wrong with it. ``exchange``: a NIC that is another
    by now is exchanged as well."""
    try:
        _run_as_before(means, exchange=exchange)
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        return [str(error)]
    return []


def _run_as_before(means: Means, *, exchange: bool) -> None:
    task = means.task
    if not task.active or task.mode == "next-boot":
        return
    back = _back(means)
    power.settle(means)
    if not means.machine.state().active:
        power.start(back)
    elif task.mode == "hotswap":
        kind = definition_kind(task, undoing=True)
        (hotswap.swap if exchange else hotswap.repair)(back, kind=kind)
    elif exchange and task.before != task.goal and power.runs_as_wanted(means):
        power.restart(back)


def _still_wrong(means: Means) -> str:
    """What is not as before of a guest that was started, or was given its NIC again."""
    task = means.task
    if means.notes.latest("starting", "attaching") is None:
        return ""
    if task.mode == "restart" and task.before == task.goal:
        return ""  # there is no definition that says what was before
    return failed(verify(_back(means)))


def _back(means: Means) -> Means:
    wanted = tuple(one.inverse() for one in means.task.wanted)
    return means._replace(task=replace(means.task, wanted=wanted))
