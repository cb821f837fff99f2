"""Shut a guest down and start it: orderly, and by force only where that was allowed."""

from __future__ import annotations

import time

from vnicaudit.errors import ActionError, GuestError, SilentError
from vnicaudit.remedy.applying.journal import seconds_since
from vnicaudit.remedy.applying.means import Means, wait_until
from vnicaudit.remedy.applying.task import unmet
from vnicaudit.remedy.definitions import reading


def runs_as_wanted(means: Means) -> bool:
    """Whether the domain runs, with its NICs as wanted."""
    if not means.machine.state().active:
        return False
    running = reading().definition_of(means.machine.live(), means.task.target)
    return not unmet(running, means.task.wanted)


def stop(means: Means) -> None:
    """Have the guest shut down: by its agent, then by its power button, then by force where that
    is allowed. Raises GuestError where it still runs."""
    patience = means.limits.guest_deadline
    end = time.monotonic() + patience
    ways = ("agent", "power button") if means.agent.answers() else ("power button",)
    refused = []
    for left, way in zip(range(len(ways), 0, -1), ways, strict=True):
        means.notes.write("stopping", by=way)
        means.tell(f"shutting down by its {way}")
        if refusal := _refusal(means, agent=way == "agent"):
            refused.append(f"by its {way}: {refusal}")
        elif _off(means, (end - time.monotonic()) / left):
            return
    asked = len(refused) < len(ways)
    if asked and refused and _off(means, end - time.monotonic()):
        return  # the time of the way that was refused is left
    if means.limits.force_off:
        means.notes.write("stopping", by="force")
        means.tell("powering off")
        means.machine.power_off()
        if _off(means, means.host.deadline):
            return
    means.notes.write("stayed on")
    hint = "" if means.limits.force_off else " (--force-off powers such a guest off)"
    if not asked:
        raise GuestError(f"the guest was not asked to shut down: {'; '.join(refused)}{hint}")
    raise GuestError(
        f"the guest did not shut down within {patience:g} s{hint}; if it does so later, it stays "
        "off until it is started"
    )


def settle(means: Means) -> None:
    """Wait for a guest that was asked to shut down, and was not waited for: by a program that was
    ended meanwhile. It may be on its way."""
    asked = means.notes.latest("stopping", "stayed on", "started")
    if asked is not None and asked.event == "stopping":
        _off(means, means.limits.guest_deadline - seconds_since(asked))


def start(means: Means) -> None:
    """Start the domain from its persistent definition."""
    means.notes.write("starting")
    means.tell("starting")
    try:
        means.machine.start()
    except SilentError:
        raise
    except ActionError:
        if not means.machine.state().active:  # somebody else may have been faster
            raise
    means.notes.write("started")


def restart(means: Means) -> None:
    """Have the guest run with the definition it has now. Nothing for a guest that was off when
    this began, or that runs so already."""
    if not means.task.active or runs_as_wanted(means):
        return
    if means.machine.state().active:
        stop(means)
    start(means)


def _refusal(means: Means, *, agent: bool) -> str:
    """Why the guest could not be asked; empty: it was, or is on its way down already: its agent
    may be gone before it has answered."""
    try:
        means.machine.shut_down(agent=agent)
    except SilentError:
        raise
    except ActionError as error:
        on_its_way = not means.machine.state().active or (agent and not means.agent.answers())
        return "" if on_its_way else str(error)
    return ""


def _off(means: Means, seconds: float) -> bool:
    return wait_until(lambda: not means.machine.state().active, seconds)
