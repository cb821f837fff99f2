"""One domain on its way.

Every step looks first at what is, and does what is missing: so the same code goes on where an
earlier life of the program was ended. What is done is undone where it does not lead to the goal.
"""

from __future__ import annotations

import time

from vnicaudit.errors import JournalError, VnicauditError
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying import defining, hotswap, power
from vnicaudit.remedy.applying.means import Means, Result
from vnicaudit.remedy.applying.undoing import (
    CANNOT_BE_UNDONE,
    definition_kind,
    give_back,
    leave_nobody_off,
    undo,
    undone,
)
from vnicaudit.remedy.applying.verify import failed, verify


def carry_out(means: Means) -> Result:
    """Bring one domain to its goal, or back to where it was. Raises SilentError where the host
    stopped answering, JournalError where it cannot be noted: the unit is unfinished then, and can
    be carried on."""
    try:
        result = _to_its_end(means)
    except JournalError:
        leave_nobody_off(means)
        raise
    means.notes.write(
        "done",
        outcome=result.outcome,
        message=result.message,
        checks=[[check.name, check.verdict, check.detail] for check in result.checks],
        downtime=result.downtime,
        undone=result.undone,
        waits=result.waits,
    )
    if means.trial is not None:
        means.trial.ended(result.outcome, undone=result.undone)
    return result


def _to_its_end(means: Means) -> Result:
    undoing = means.notes.last("undoing")
    if undoing is None:
        return _forward(means)
    return undone(means, undoing["reason"], undoing["outcome"])


def give_up(means: Means, reason: str) -> Result:
    """Undo a unit that was left in the middle."""
    if means.notes.last("undoing") is None:
        means.notes.write("undoing", reason=reason, outcome="rolled-back")
    return carry_out(means)


def _forward(means: Means) -> Result:
    checks: tuple[Check, ...] = ()
    worse = ""
    if reason := _not_measured(means):
        return Result("refused", reason)
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
        if means.trial is not None and not failed(checks):
            worse = means.trial.after()
    except CANNOT_BE_UNDONE:
        raise
    except defining.EditedError as error:
        return give_back(means, str(error))
    except hotswap.NotTakenError as error:
        return undo(means, str(error), "rolled-back")
    except VnicauditError as error:
        return undo(means, str(error), "failed")
    if reason := failed(checks) or worse:
        return undo(means, reason, "rolled-back")
    waits = _waits(means)
    return Result("applied", _words(means, waits=waits), checks, downtime, waits=waits)


def _waits(means: Means) -> bool:
    """Whether what runs is not yet what is wanted. Of a change that is taken back before it was in
    effect, it is."""
    if not means.task.active or means.task.mode != "next-boot":
        return False
    try:
        return not power.runs_as_wanted(means)
    except VnicauditError:  # what was done is done
        return True


def _not_measured(means: Means) -> str:
    """Measure the guest before anything is changed; why that cannot be done."""
    begun = means.notes.latest("defining", "stopping", "detaching") is not None
    if means.trial is None or begun:
        return ""
    try:
        means.trial.before()
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        return f"it cannot be measured: {error}"
    return ""


def _take_effect(means: Means) -> bool:
    """Whether the guest was interrupted for it."""
    if not means.task.active or means.task.mode == "next-boot":
        return False
    if means.task.mode == "restart":
        power.restart(means)
    else:
        hotswap.swap(means, kind=definition_kind(means.task, undoing=False))
    return True


def _words(means: Means, *, waits: bool) -> str:
    words = [defining.made_otherwise(means)]
    if not means.task.active:
        words.insert(0, "in effect at its next start")
    elif means.task.mode == "next-boot":
        later = "in effect when the guest is powered off and on"
        words.insert(0, later if waits else "the guest runs so already")
    else:
        words += hotswap.not_put_back(means)
    return "; ".join(filter(None, words))
