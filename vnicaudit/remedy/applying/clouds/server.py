"""One server on its way: stop, set, start, look. Or back.

Every step looks first at what is, and does what is missing, so that an earlier life of the program
is carried on. Above all else a server that ran when this began runs when it ends: it is started
even where its properties cannot be put back. What somebody else stopped before this did is theirs.
"""

from __future__ import annotations

import time

import msgspec

from vnicaudit.errors import GoneError, GuestError, JournalError, SilentError, VnicauditError
from vnicaudit.model.runs import Outcome
from vnicaudit.remedy.applying.clouds import kept, power
from vnicaudit.remedy.applying.clouds.left import may_be_off, seconds_away
from vnicaudit.remedy.applying.clouds.means import CloudMeans, look, phase
from vnicaudit.remedy.applying.clouds.sets import SETTLED, doubtful
from vnicaudit.remedy.applying.clouds.verify import verify
from vnicaudit.remedy.applying.means import Result
from vnicaudit.remedy.applying.verify import failed

ENDS_THE_RUN = (SilentError, JournalError)
_ENDS_IT = (*ENDS_THE_RUN, GoneError)
"""What ends the work on one server at once: nothing can be undone then."""
_AGAIN = "the same command, or vnicaudit rollback of this run, tries again"


def forward(means: CloudMeans) -> Result:
    """Bring it to its goal, or back to where it was."""
    try:
        began = time.monotonic()
        measured = means.notes.latest("stopping") is None
        _change(means)
        checks = verify(means)
        away = measured and means.notes.latest("stopping", "starting") is not None
        downtime = round(time.monotonic() - began, 2) if away and means.task.active else None
    except _ENDS_IT:
        raise
    except power.StoppedError as error:
        return Result("refused", str(error))
    except kept.ForeignError as error:
        return _given_back(means, str(error))
    except VnicauditError as error:
        return undo(means, str(error), "failed")
    if reason := failed(checks):
        return undo(means, reason, "rolled-back")
    return Result("applied", _words(means), checks, downtime)


def undo(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Begin to bring it back, because of ``reason``; ``outcome`` is what becomes of the unit."""
    means.notes.write("undoing", reason=reason, outcome=outcome)
    means.tell(f"undoing: {reason}")
    return undone(means, reason, outcome)


def undone(means: CloudMeans, reason: str, outcome: Outcome) -> Result:
    """Back to where it was. What cannot be undone is said, with what to do."""
    left, changed = [], False
    try:
        changed = _put_back(means)
    except _ENDS_IT:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _running_again(means)
    left = left or _late(means)
    if left:
        told = [one for one in dict.fromkeys(left) if one != reason] or ["for the same reason"]
        why = f"{reason}; it could not all be undone: {'; '.join(told)} ({_AGAIN})"
        return Result("failed", why, undone=False)
    if doubtful(means.notes.entries()):
        means.notes.write(SETTLED)
    changed = changed or means.notes.latest("set") is not None
    done = "it was put back" if changed else "nothing is changed"
    reason = "; ".join([reason, done, *_was_away(means)])
    if wrong := _still_wrong(means):
        why = f"{reason}, but the server is not as before: {wrong} ({_AGAIN})"
        return Result("failed", why, undone=False)
    return Result(outcome, reason)


def _change(means: CloudMeans) -> None:
    power.check_ours(means, power.settle(means))
    if kept.is_missing(means, kept.read(means), means.task.goal):
        if not means.manage.proven:  # an earlier life looked; nobody is stopped for nothing
            means.manage.show(means.task.id, next(iter(means.task.goal)))
        power.stop(means)
        kept.put(means, means.task.goal)
    if means.task.active:
        power.run(means)


def _put_back(means: CloudMeans) -> bool:
    """Whether there was anything to do. A server that runs is stopped for it only where
    nova-manage is seen to work."""
    power.settle(means)
    kept.settle(means)
    now, back = kept.read(means), means.task.back
    if not kept.is_missing(means, now, back):
        return False
    if not kept.is_ours(means, now):
        raise kept.ForeignError(kept.differing(now, back))
    means.manage.show(means.task.id, next(iter(back)))
    power.stop(means)
    kept.put(means, back)
    return True


def _running_again(means: CloudMeans) -> list[str]:
    """Have it run, if it did and this stopped it; what went wrong with that."""
    if not power.is_touched(means):
        return []
    try:
        power.run(means)
    except _ENDS_IT:
        raise
    except GuestError as error:  # which says what to do
        return [str(error)]
    except VnicauditError as error:
        return [str(error), *filter(None, [may_be_off(means.notes.entries())])]
    return []


def _late(means: CloudMeans) -> list[str]:
    """What came to be set when it was put back. The guest runs meanwhile."""
    try:
        late = kept.came_late(means)
    except _ENDS_IT:
        raise
    except VnicauditError as error:
        return [str(error)]
    return [late] if late else []


def _given_back(means: CloudMeans, reason: str) -> Result:
    """Somebody else has set what is kept: only the server's running is given back."""
    left = _running_again(means)
    return Result("failed", "; ".join([reason, *(left or _was_away(means))]), undone=not left)


def _was_away(means: CloudMeans) -> list[str]:
    """What to know of a server that is as before, and was off meanwhile."""
    seconds = seconds_away(means.notes.entries())
    return [f"the server was off for it, {seconds:.0f} s from stop to start"] if seconds else []


def _still_wrong(means: CloudMeans) -> str:
    """What is not as before, of a server that was away."""
    if not means.task.active or means.notes.latest("starting") is None:
        return ""
    wanted = tuple(one.inverse() for one in reversed(means.task.wanted))
    goal = means.task.back
    task = msgspec.structs.replace(means.task, goal=goal, wanted=wanted)
    return failed(verify(means._replace(task=task)))


def _words(means: CloudMeans) -> str:
    words = [] if means.task.active else [_when(means)]
    return "; ".join([*words, *filter(None, [means.task.caution])])


def _when(means: CloudMeans) -> str:
    shelved = phase(look(means)) == "shelved"
    return f"in effect when it is {'unshelved' if shelved else 'started'}"
