"""Check again and again whether a change helped, until all checks pass or the guest's time is up.

The checks come from the driver: they judge the running guest, not its definition. A check that
cannot be made from here is *unknown*, and says what would show its result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from vnicaudit.base.deadlines import Clock
from vnicaudit.model.runs import Check
from vnicaudit.remedy.applying.driver import BegunUnit

POLL = 0.2
"""Seconds between two rounds of checks."""
_LATE_SECONDS = 2.0
"""Seconds to wait for what may be done late: storing a definition or a property takes some
milliseconds."""


def wait_until(clock: Clock, fact: Callable[[], bool], seconds: float, poll: float = POLL) -> bool:
    """True as soon as ``fact`` holds; False if it does not within ``seconds``. It is checked every
    ``poll`` seconds."""
    end = clock.monotonic() + seconds
    while not fact():
        if clock.monotonic() > end:
            return False
        clock.sleep(poll)
    return True


def wait_for_late(clock: Clock, has_come: Callable[[], bool]) -> None:
    """Wait for what was asked for without an answer being seen: it may be done only now, although
    the host or the cloud has answered another question since."""
    wait_until(clock, has_come, _LATE_SECONDS)


class CheckResults(NamedTuple):
    """The results of one round of checks. ``over``: missing facts will not appear by themselves, so
    waiting is pointless."""

    checks: tuple[Check, ...]
    over: bool = False

    @property
    def is_final(self) -> bool:
        """True if another round of checks would be pointless."""
        return self.over or not failed(self.checks)


def verify(
    work: BegunUnit, run_checks: Callable[[], CheckResults], poll: float = POLL
) -> tuple[Check, ...]:
    """The last results of every check: when all passed, when waiting was pointless, or when the
    guest's time was up. ``poll``: seconds between two rounds. An exception of ``run_checks`` (the
    other side stopped answering, the unit no longer exists) ends it."""
    seen = CheckResults(())

    def is_final() -> bool:
        nonlocal seen
        seen = run_checks()
        return seen.is_final

    wait_until(work.clock, is_final, work.limits.guest_deadline, poll)
    return seen.checks


def failed(checks: tuple[Check, ...]) -> str:
    """Details of the failed checks, as one text; empty if none failed."""
    return "; ".join(check.detail for check in checks if check.verdict == "failed")
