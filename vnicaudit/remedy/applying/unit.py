"""One domain on its way, forward or back.

Every step looks first at what is, and does what is missing: so the same code goes on where an
earlier life of the program was ended. What is done is undone where it does not lead to the goal.
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from vnicaudit.errors import ActionError, SilentError
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying import defining, hotswap, power
from vnicaudit.remedy.applying.means import Means, Result
from vnicaudit.remedy.applying.task import Task
from vnicaudit.remedy.applying.verify import failed, verify


def carry_out(means: Means) -> Result:
    """Bring one domain to its goal, or back to where it was. Raises SilentError where the host
    stopped answering: the unit is unfinished then, and can be carried on."""
    undoing = means.notes.last("undoing")
    result = (
        _undone(means, undoing["reason"], undoing["outcome"]) if undoing is not None
        else _forward(means)
    )  # fmt: skip
    means.notes.write(
        "done",
        outcome=result.outcome,
        message=result.message,
        checks=[[check.name, check.verdict, check.detail] for check in result.checks],
        downtime=result.downtime,
    )
    return result


def give_up(means: Means, reason: str) -> Result:
    """Undo a unit that was left in the middle."""
    if means.notes.last("undoing") is None:
        means.notes.write("undoing", reason=reason, outcome="rolled-back")
    return carry_out(means)


def _forward(means: Means) -> Result:
    checks: tuple[Check, ...] = ()
    try:
        if means.task.active and means.task.mode == "hotswap":
            hotswap.capture(means)  # before anything is changed: it may be refused
        defining.define(means)
        measured = means.notes.latest("stopping", "detaching") is None
        interrupted = time.monotonic()
        changed = _take_effect(means)
        if means.task.mode != "next-boot":
            checks = verify(means)
        downtime = round(time.monotonic() - interrupted, 2) if changed and measured else None
    except SilentError:
        raise
    except defining.EditedError as error:
        return _edited(means, str(error))
    except ActionError as error:
        return _undo(means, str(error), "failed")
    if reason := failed(checks):
        return _undo(means, reason, "rolled-back")
    return Result("applied", _words(means.task), checks, downtime)


def _take_effect(means: Means) -> bool:
    """Whether the guest was interrupted for it."""
    if not means.task.active or means.task.mode == "next-boot":
        return False
    if means.task.mode == "restart":
        power.restart(means)
    else:
        hotswap.swap(means, kind=_kind(means))
    return True


def _kind(means: Means) -> str:
    return "before" if means.task.before == means.task.goal else "settled"


def _words(task: Task) -> str:
    if not task.active:
        return "in effect at its next start" if task.uuid else ""
    if task.mode == "next-boot":
        return "in effect when the guest is powered off and on"
    return ""


def _undo(means: Means, reason: str, outcome: Outcome) -> Result:
    means.notes.write("undoing", reason=reason, outcome=outcome)
    means.tell(f"undoing: {reason}")
    return _undone(means, reason, outcome)


def _undone(means: Means, reason: str, outcome: Outcome) -> Result:
    """Back to where it was. What cannot be undone is said, with what to do; what this run took
    away from the guest is given back all the same."""
    changed, left = False, []
    try:
        changed = defining.undefine(means)
    except SilentError:
        raise
    except ActionError as error:
        left.append(str(error))
    left += _given_back(means, exchange=not left)
    if left:
        return Result("failed", f"{reason}; it could not all be undone: {'; '.join(left)}")
    changed = changed or means.notes.latest("defined") is not None
    return Result(outcome, f"{reason}; {'it was put back' if changed else 'nothing is changed'}")


def _edited(means: Means, reason: str) -> Result:
    """Somebody else has the definition now: only what this run took away from the guest is given
    back."""
    return Result("failed", "; ".join([reason, *_given_back(means, exchange=False)]))


def _given_back(means: Means, *, exchange: bool) -> list[str]:
    """Have the guest run as before; what went wrong with it. ``exchange``: a NIC that is another
    by now is exchanged as well."""
    try:
        _run_as_before(means, exchange=exchange)
    except SilentError:
        raise
    except ActionError as error:
        return [str(error)]
    return []


def _run_as_before(means: Means, *, exchange: bool) -> None:
    task = means.task
    if not task.active or task.mode == "next-boot":
        return
    back = means._replace(task=_reversed(task))
    power.settle(means)
    if not means.machine.state().active:
        power.start(back)
    elif task.mode == "hotswap":
        kind = hotswap.RUNNING if task.before == task.goal else "before"
        (hotswap.swap if exchange else hotswap.repair)(back, kind=kind)
    elif exchange and task.before != task.goal and power.runs_as_wanted(means):
        power.restart(back)


def _reversed(task: Task) -> Task:
    return replace(task, wanted=tuple(one.inverse() for one in task.wanted))
