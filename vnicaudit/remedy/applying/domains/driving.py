"""Steps of a change of a domain: forward, trial, power, undo."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from msgspec.structs import replace

from vnicaudit.errors import ActionError, GuestError, MeasureError, NoResponseError, VnicauditError
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.platforms.domain_xml import definitions
from vnicaudit.remedy.applying.domains import definition_transactions, hotswap
from vnicaudit.remedy.applying.domains.checks import verify_domain
from vnicaudit.remedy.applying.domains.definition_transactions import (
    DefinitionTransaction,
    DomainWork,
    runs_with,
    unmet,
)
from vnicaudit.remedy.applying.driver import ENDS_THE_WORK, failed, wait_until
from vnicaudit.remedy.applying.journal.events import (
    Attaching,
    Defined,
    Defining,
    Detaching,
    Result,
    Started,
    Starting,
    StayedOn,
    Stopping,
    Undoing,
)
from vnicaudit.remedy.applying.journal.journal_file import KeptKind, seconds_since
from vnicaudit.remedy.applying.journal.state import UnitJournal
from vnicaudit.remedy.hypervisor import Trial

# Undo the change of one domain that did not reach its goal.
#
# As when changing it, every step first checks the present state, so an interrupted undo is resumed
# by starting it again.


def begin_undo(work: DomainWork, reason: str, outcome: Outcome) -> Result:
    """Start undoing the change, because of ``reason``; ``outcome`` is the unit's outcome
    afterwards."""
    work.notes.write(Undoing(reason, outcome))
    work.tell("undoing the change")
    return undo(work, reason, outcome)


def undo(work: DomainWork, reason: str, outcome: Outcome) -> Result:
    """Undo the change. Reports what cannot be undone, with what to do about it; the guest's power
    and NICs are restored even then."""
    changed, left = False, []
    try:
        changed = definition_transactions.restore_definition(work)
    except ENDS_THE_WORK:
        raise
    except VnicauditError as error:
        left.append(str(error))
    left += _restored(work, exchange=not left)
    if left:
        why = f"{reason}; not everything could be undone: {'; '.join(left)} ({_again(work)})"
        return Result("failed", why, undone=False)
    changed = changed or work.notes.last(Defined) is not None
    back = "the change is back in it" if work.rollback_of else "it was put back"
    reason = f"{reason}; {back if changed else 'nothing was changed'}"
    if wrong := _still_wrong(work):
        why = f"{reason}, but the guest is not as it was before: {wrong} ({_again(work)})"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason} ({_again(work)})" if work.rollback_of else reason)


def give_back(work: DomainWork, reason: str) -> Result:
    """Somebody else changed the definition: only restore the guest's power, and the NICs that this
    run detached. Changes of this run that are still in the definition can be rolled back
    separately."""
    left = _restored(work, exchange=False)
    ours = []
    if work.notes.latest(Defining, Defined) is not None:
        text, transaction = work.place.machine.definition(secrets=False), work.transaction
        now = definitions.definition_of(text, work.unit.target)
        if not unmet(now, transaction.nic_changes):
            ours.append("the change of this run is still in it")
            if not work.rollback_of:
                ours[0] += f" (to undo only that: {work.rollback_command('--over-edits')})"
    return Result("failed", "; ".join([reason, *ours, *left]), undone=not (ours or left))


def _again(work: DomainWork) -> str:
    """How to try to roll the guest back again; a guest that does not shut down, by force."""
    mode = "next-boot" if work.transaction.mode == "next-boot" else "restart"
    force = " --force-off" if work.notes.pending(StayedOn, Stopping, Starting) else ""
    return f"to try again: {work.rollback_command(f'--mode {mode}{force}')}"


def restart_stopped_guest(work: DomainWork) -> None:
    """The journal cannot be written any more (the disk is full): restore the guest's power and its
    NICs without recording it. Everything else waits until it can be recorded."""
    if work.notes.latest(Stopping, Detaching) is None:
        return
    undoing = work.notes.last(Undoing) is not None
    back = _back(work) if undoing else work
    back = replace(back, notes=UnitJournal(None, work.unit.key, work.notes.entries()))
    with suppress(VnicauditError):
        if work.transaction.mode == "hotswap" and work.place.machine.state().active:
            hotswap.repair(back, kind=definition_kind(work.transaction, undoing=undoing))
            return
        await_pending_shutdown(back)
        if work.transaction.active and not work.place.machine.state().active:
            work.tell(
                "the journal cannot be written: starting the guest again, so that it is not "
                "left off"
            )
            start(back)


def definition_kind(transaction: DefinitionTransaction, *, undoing: bool) -> KeptKind:
    """The definition from which the guest's NICs are taken."""
    if transaction.before == transaction.goal:
        return "running" if undoing else "before"
    return "before" if undoing else "settled"


def _restored(work: DomainWork, *, exchange: bool) -> list[str]:
    """Get the guest running as before. Returns what went wrong. ``exchange``: also exchange NICs
    that differ from before."""
    transaction = work.transaction
    if not transaction.active or transaction.mode == "next-boot":
        return []
    back = _back(work)
    try:
        await_pending_shutdown(work)
        if not work.place.machine.state().active:
            start(back)
        elif transaction.mode == "hotswap":
            kind = definition_kind(transaction, undoing=True)
            (hotswap.swap if exchange else hotswap.repair)(back, kind=kind)
        elif exchange and transaction.before != transaction.goal and runs_as_wanted(work):
            restart(back)
    except ENDS_THE_WORK:
        raise
    except VnicauditError as error:
        return [str(error)]
    return []


def _still_wrong(work: DomainWork) -> str:
    """Details of the failed checks of a guest that the rollback started, or whose NIC it restored;
    empty if none failed."""
    transaction = work.transaction
    if work.notes.latest(Starting, Attaching) is None:
        return ""
    if transaction.mode == "restart" and transaction.before == transaction.goal:
        return ""  # no definition shows the state before
    return failed(verify_domain(_back(work)))


def _back(work: DomainWork) -> DomainWork:
    wanted = tuple(one.inverse() for one in work.transaction.nic_changes)
    return replace(work, transaction=replace(work.transaction, nic_changes=wanted))


# Change one domain.
#
# Every step first checks the present state and does only what is missing, so the same code resumes
# an interrupted run. If the goal is not reached, the change is undone.


def forward(work: DomainWork) -> Result:
    """Change one domain as planned, or undo the change if that fails. Raises NoResponseError if the
    host stopped answering, JournalError if an action could not be recorded: the unit is unfinished
    then, and can be resumed."""
    checks: tuple[Check, ...] = ()
    worse = ""
    if reason := _not_measured(work):
        return Result("refused", reason, codes=("measuring",))
    try:
        if work.transaction.active and work.transaction.mode == "hotswap":
            hotswap.capture(work)  # before any change, as it may be refused
        definition_transactions.define_goal(work)
        measured = work.notes.latest(Stopping, Detaching) is None
        interrupted = work.clock.monotonic()
        changed = _take_effect(work)
        if work.transaction.mode != "next-boot":
            checks = verify_domain(work)
        downtime = round(work.clock.monotonic() - interrupted, 2) if changed and measured else None
        if work.place.trial is not None and not failed(checks):
            with _measuring():
                worse = work.place.trial.after()
    except ENDS_THE_WORK:
        raise
    except definition_transactions.EditedError as error:
        return give_back(work, str(error))
    except hotswap.DriverNotBoundError as error:
        return begin_undo(work, str(error), "rolled-back")
    except VnicauditError as error:
        return begin_undo(work, str(error), "failed")
    if reason := failed(checks) or worse:
        return begin_undo(work, reason, "rolled-back")
    waits = _waits(work)
    return Result("applied", _words(work, waits=waits), checks, downtime, waits=waits)


def _waits(work: DomainWork) -> bool:
    """True if the running guest does not have the wanted NICs yet, or that cannot be determined.
    A change that is rolled back before it took effect leaves nothing to wait for."""
    if not work.transaction.active or work.transaction.mode != "next-boot":
        return False
    try:
        return not runs_as_wanted(work)
    except VnicauditError:  # the change itself is done
        return True


def _not_measured(work: DomainWork) -> str:
    """Measure the guest before anything is changed. Returns why that is not possible; empty: it was
    measured, or no measurement is due."""
    begun = work.notes.latest(Defining, Stopping, Detaching) is not None
    if work.place.trial is None or begun:
        return ""
    try:
        with _measuring():
            work.place.trial.before()
    except ENDS_THE_WORK:
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
        restart(work)
    else:
        hotswap.swap(work, kind=definition_kind(work.transaction, undoing=False))
    return True


def _words(work: DomainWork, *, waits: bool) -> str:
    words = [definition_transactions.made_otherwise(work)]
    if not work.transaction.active:
        words.insert(0, "in effect at its next start")
    elif work.transaction.mode == "next-boot":
        later = "in effect after a power cycle (power off, then on)"
        words.insert(0, later if waits else "the guest already runs like this")
    else:
        words += hotswap.not_put_back(work)
    return "; ".join(filter(None, words))


# A trial whose errors leave no guest half changed.
#
# A trial reads the output of a guest and its tools, which may be anything. Its known errors undo
# the change; so does any other exception, including one from a mistake in this program.


_LONGEST = 200


@contextmanager
def _measuring() -> Iterator[None]:
    """Lets only errors of this program pass."""
    try:
        yield
    except VnicauditError:
        raise
    except Exception as error:
        raise MeasureError(_message(error)) from error


def note_outcome(work: DomainWork, trial: Trial, result: Result) -> None:
    """Tell the trial the guest's outcome. The outcome stands, whatever the trial raises now."""
    try:
        trial.note_outcome(result.outcome, undone=result.undone)
    except Exception as error:
        work.tell(f"the result could not be recorded: {_message(error)}")


def _message(error: Exception) -> str:
    if isinstance(error, VnicauditError):
        return str(error)
    return f"internal error during the measurement: {type(error).__name__}: {error}"[:_LONGEST]


# Shut a guest down in an orderly way, by force only if that was allowed, and start it.


def runs_as_wanted(work: DomainWork) -> bool:
    """True if the domain is running with its NICs as wanted."""
    machine, transaction = work.place.machine, work.transaction
    return machine.state().active and runs_with(machine, work.unit.target, transaction.nic_changes)


def stop(work: DomainWork) -> None:
    """Shut the guest down: by its agent, then by its power button, then by force if that is
    allowed. Raises GuestError if it still runs."""
    patience = work.limits.guest_deadline
    end = work.clock.monotonic() + patience
    ways = ("agent", "power button") if work.place.agent.answers() else ("power button",)
    refused = []
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        work.notes.write(Stopping(way))
        work.tell(f"shutting down through its {way}")
        if refusal := _refusal(work, agent=way == "agent"):
            refused.append(f"through its {way}: {refusal}")
        elif _off(work, (end - work.clock.monotonic()) / left):
            return
    asked = len(refused) < len(ways)
    if asked and refused and _off(work, end - work.clock.monotonic()):
        return  # the time of the refused way remains
    if work.limits.force_off:
        work.notes.write(Stopping("force"))
        work.tell("powering off")
        work.place.machine.power_off()
        if _off(work, work.place.host.deadline):
            return
    work.notes.write(StayedOn())
    hint = " (--force-off powers such a guest off)"
    if work.limits.force_off or work.rollback_of:  # a rollback's result has the whole command
        hint = ""
    if not asked:
        raise GuestError(
            f"the guest did not accept a request to shut down: {'; '.join(refused)}{hint}"
        )
    raise GuestError(
        f"the guest did not shut down within {patience:g} s{hint}; if it does so later, it stays "
        "off until it is started"
    )


def await_pending_shutdown(work: DomainWork) -> None:
    """Wait for a guest that an interrupted run asked to shut down: it may still be shutting
    down."""
    if asked := work.notes.pending(Stopping, StayedOn, Started):
        _off(work, work.limits.guest_deadline - seconds_since(asked))


def start(work: DomainWork) -> None:
    """Start the domain from its persistent definition."""
    work.notes.write(Starting())
    work.tell("starting")
    try:
        work.place.machine.start()
    except NoResponseError:
        raise
    except ActionError:
        if not work.place.machine.state().active:  # somebody else may have been faster
            raise
    work.notes.write(Started())


def restart(work: DomainWork) -> None:
    """Restart the guest with its present definition; does nothing if the guest was off when the
    transaction started, or already runs as wanted."""
    if not work.transaction.active or runs_as_wanted(work):
        return
    if work.place.machine.state().active:
        stop(work)
    start(work)


def _refusal(work: DomainWork, *, agent: bool) -> str:
    """Ask the guest to shut down. Returns why it could not be asked; empty: it was asked, or is
    shutting down already, and its agent may have gone before it could answer."""
    try:
        work.place.machine.shut_down(agent=agent)
    except NoResponseError:
        raise
    except ActionError as error:
        on_its_way = not work.place.machine.state().active or (
            agent and not work.place.agent.answers()
        )
        return "" if on_its_way else str(error)
    return ""


def _off(work: DomainWork, seconds: float) -> bool:
    return wait_until(work.clock, lambda: not work.place.machine.state().active, seconds)
