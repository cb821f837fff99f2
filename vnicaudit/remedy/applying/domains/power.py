"""Shut a guest down in an orderly way, by force only if that was allowed, and start it."""

from __future__ import annotations

from vnicaudit.errors import ActionError, GuestError, SilentError
from vnicaudit.remedy.applying.domains.definition_transactions import unmet
from vnicaudit.remedy.applying.domains.place import DomainWork
from vnicaudit.remedy.applying.journal.events import Started, Starting, StayedOn, Stopping
from vnicaudit.remedy.applying.journal.journal_file import seconds_since
from vnicaudit.remedy.applying.verifying import wait_until


def runs_as_wanted(work: DomainWork) -> bool:
    """True if the domain is running with its NICs as wanted."""
    if not work.place.machine.state().active:
        return False
    running = work.place.texts.reading.definition_of(
        work.place.machine.live(), work.transaction.target
    )
    return not unmet(running, work.transaction.nic_changes)


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
        raise GuestError(f"the guest could not be asked to shut down: {'; '.join(refused)}{hint}")
    raise GuestError(
        f"the guest did not shut down within {patience:g} s{hint}; if it does so later, it stays "
        "off until it is started"
    )


def is_deaf(work: DomainWork) -> bool:
    """True if the guest was asked to shut down last, and did not."""
    asked = work.notes.latest(Stopping, StayedOn, Starting)
    return asked is not None and isinstance(asked.event, StayedOn)


def settle(work: DomainWork) -> None:
    """Wait for a guest that an interrupted run asked to shut down: it may still be shutting
    down."""
    asked = work.notes.latest(Stopping, StayedOn, Started)
    if asked is not None and isinstance(asked.event, Stopping):
        _off(work, work.limits.guest_deadline - seconds_since(asked))


def start(work: DomainWork) -> None:
    """Start the domain from its persistent definition."""
    work.notes.write(Starting())
    work.tell("starting")
    try:
        work.place.machine.start()
    except SilentError:
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
    except SilentError:
        raise
    except ActionError as error:
        on_its_way = not work.place.machine.state().active or (
            agent and not work.place.agent.answers()
        )
        return "" if on_its_way else str(error)
    return ""


def _off(work: DomainWork, seconds: float) -> bool:
    return wait_until(work.clock, lambda: not work.place.machine.state().active, seconds)
