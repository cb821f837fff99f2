"""Change one domain.

Every step first checks the present state and does only what is missing, so the same code resumes an
interrupted run. If the goal is not reached, the change is undone.
"""

from __future__ import annotations

from vnicaudit.errors import VnicauditError
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.domains import defining, hotswap, power
from vnicaudit.remedy.applying.domains.checks import verify_domain
from vnicaudit.remedy.applying.domains.place import DomainWork
from vnicaudit.remedy.applying.domains.undo import (
    CANNOT_BE_UNDONE,
    begin_undo,
    definition_kind,
    give_back,
)
from vnicaudit.remedy.applying.journal.events import Defining, Detaching, Stopping
from vnicaudit.remedy.applying.journal.result import Result
from vnicaudit.remedy.applying.verifying import failed


def forward(work: DomainWork) -> Result:
    """Change one domain as planned, or undo the change if that fails. Raises SilentError if the
    host stopped answering, JournalError if an action could not be recorded: the unit is unfinished
    then, and can be resumed."""
    checks: tuple[Check, ...] = ()
    worse = ""
    if reason := _not_measured(work):
        return Result("refused", reason, codes=("measuring",))
    late = defining.is_unanswered(work)  # by the run that this one resumes
    try:
        if work.transaction.active and work.transaction.mode == "hotswap":
            hotswap.capture(work)  # before any change, as it may be refused
        defining.define(work)
        measured = work.notes.latest(Stopping, Detaching) is None
        interrupted = work.clock.monotonic()
        changed = _take_effect(work)
        if work.transaction.mode != "next-boot":
            checks = verify_domain(work)
        downtime = round(work.clock.monotonic() - interrupted, 2) if changed and measured else None
        if work.place.trial is not None and not failed(checks):
            worse = work.place.trial.after()
    except CANNOT_BE_UNDONE:
        raise
    except defining.EditedError as error:
        return give_back(work, str(error))
    except hotswap.NotTakenError as error:
        return begin_undo(work, str(error), "rolled-back", late=late)
    except VnicauditError as error:
        return begin_undo(work, str(error), "failed", late=late)
    if reason := failed(checks) or worse:
        return begin_undo(work, reason, "rolled-back", late=late)
    waits = _waits(work)
    return Result("applied", _words(work, waits=waits), checks, downtime, waits=waits)


def _waits(work: DomainWork) -> bool:
    """True if the running guest does not have the wanted NICs yet, or that cannot be determined.
    A change that is rolled back before it took effect leaves nothing to wait for."""
    if not work.transaction.active or work.transaction.mode != "next-boot":
        return False
    try:
        return not power.runs_as_wanted(work)
    except VnicauditError:  # the change itself is done
        return True


def _not_measured(work: DomainWork) -> str:
    """Measure the guest before anything is changed. Returns why that is not possible; empty: it was
    measured, or no measurement is due."""
    begun = work.notes.latest(Defining, Stopping, Detaching) is not None
    if work.place.trial is None or begun:
        return ""
    try:
        work.place.trial.before()
    except CANNOT_BE_UNDONE:
        raise
    except VnicauditError as error:
        return f"it cannot be measured: {error}"
    return ""


def _take_effect(work: DomainWork) -> bool:
    """Restart the guest or hot-swap its NICs, as the mode says; True if the guest was
    interrupted."""
    if not work.transaction.active or work.transaction.mode == "next-boot":
        return False
    if work.transaction.mode == "restart":
        power.restart(work)
    else:
        hotswap.swap(work, kind=definition_kind(work.transaction, undoing=False))
    return True


def _words(work: DomainWork, *, waits: bool) -> str:
    words = [defining.made_otherwise(work)]
    if not work.transaction.active:
        words.insert(0, "in effect at its next start")
    elif work.transaction.mode == "next-boot":
        later = "in effect after a power cycle (power off, then on)"
        words.insert(0, later if waits else "the guest already runs like this")
    else:
        words += hotswap.not_put_back(work)
    return "; ".join(filter(None, words))
