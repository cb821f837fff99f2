"""Did it help? Checked again and again until all is well, or the guest's time is up.

What there is to check, a driver knows: judged by what runs, never by what is written. What cannot
be checked from here is *unknown*, with what would show it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vnicaudit.base.clock import Clock
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.work import BegunUnit

POLL = 0.2
"""Seconds between two rounds of checks."""


def wait_until(clock: Clock, fact: Callable[[], bool], seconds: float, poll: float = POLL) -> bool:
    """True as soon as ``fact`` holds; False where it does not within ``seconds``. It is checked
    every ``poll`` seconds."""
    end = clock.monotonic() + seconds
    while not fact():
        if clock.monotonic() > end:
            return False
        clock.sleep(poll)
    return True


class CheckResults(NamedTuple):
    """Every check of one round. ``over``: what is missing will not come by itself, and is not
    waited for."""

    checks: tuple[Check, ...]
    over: bool = False

    @property
    def settled(self) -> bool:
        """True where another round of checks would be pointless."""
        return self.over or not failed(self.checks)


def verify(
    work: BegunUnit, run_checks: Callable[[], CheckResults], poll: float = POLL
) -> tuple[Check, ...]:
    """Every check as it was seen last: when all was well, nothing more was to come, or the time
    was up that a guest may take. ``poll``: seconds between two rounds. What ``run_checks`` raises
    (the other side stopped answering, the unit is not there any more) ends it."""
    seen = CheckResults(())

    def settled() -> bool:
        nonlocal seen
        seen = run_checks()
        return seen.settled

    wait_until(work.clock, settled, work.limits.guest_deadline, poll)
    return seen.checks


def failed(checks: tuple[Check, ...]) -> str:
    """Details of the failed checks, as one text; empty where none failed."""
    return "; ".join(check.detail for check in checks if check.verdict == "failed")
