"""A timer on a host that sets its settings back by itself, unless a new connection confirms in time
that the change has not cut the way to the host.

It counts on the host, and does not need this program or its machine any more. The journal has its
line before it is armed, so that a resumed run looks for it. Of the timer and who disarms it exactly
one is the first, and a setting is set only while the timer is armed: one that arrives late sets
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import sha256
from typing import Literal, TypeVar

from vnicaudit.errors import ActionError, NoResponseError, TargetError
from vnicaudit.knowledge.host_settings import SettingValues
from vnicaudit.model.host_facts import HostFacts
from vnicaudit.remedy.applying.driver import BegunUnit
from vnicaudit.remedy.applying.journal.events import Arming, Setting
from vnicaudit.remedy.hypervisor import HostSettings

T = TypeVar("T")
Ended = Literal["disarmed", "undone", "restarted"]
"""How a timer ended: it did nothing and never will, the host set everything back, or the host was
started again."""
_RETURN_SECONDS = 60.0
"""How long a host may take to answer after it was set back: a switch may learn its port anew."""
_UNDOING_SECONDS = 3.0
"""How long the host takes to set back, with both passes and the accuracy of its timer."""
_POLL = 0.5
_TOO_LATE = "it was confirmed too late (confirm-deadline in vnicaudit.toml gives more time)"


class HostTimer:
    """The timer of one unit. ``name``: that of the armed one; empty: there is none."""

    def __init__(self, work: BegunUnit, place: HostSettings) -> None:
        self._work = work
        self._place = place
        self._clock = work.clock
        self._until = self._back = 0.0
        self.name = ""

    def arm(self, changed: SettingValues, everything: SettingValues) -> None:
        """Have the host set these values by itself after a while: first what is changed, then
        everything. Raises ActionError if it does not, NoResponseError if there is no answer."""
        notes, seconds = self._work.notes, math.ceil(self._work.limits.confirm_seconds)
        number = sum(1 for _ in notes.events_of(Arming))
        name = f"{self._work.folder.name}-{self._work.unit.key[-8:]}-{number}"
        script = self._place.undo_script(name, changed, everything)
        digest = sha256(script.encode()).hexdigest()
        notes.write(Arming(name, digest, seconds, self._host()))
        began = self._clock.monotonic()
        self._place.arm(name, script, digest, seconds)
        armed = self._clock.monotonic()
        self.name, self._until, self._back = name, began + seconds, armed + seconds
        if armed > began + seconds / 2:
            self.end()
            raise ActionError("the host took too long to start its timer")

    def keep(self, check: Callable[[HostFacts], None]) -> HostFacts:
        """The facts that a new connection reads, once they were checked and the timer is disarmed.
        Raises NoResponseError if no connection came in time."""

        def read() -> HostFacts:
            if not self._place.is_confirmed(self.name):
                raise NoResponseError("nobody confirmed it in time on a new connection")
            return self._place.facts()

        if command := self._place.how_to_confirm(self.name):
            left = self._until - self._clock.monotonic()
            text = f"to keep it, log in to this host anew within {left:.0f} s, and run: {command}"
            self._work.tell(text)
        self._place.reconnect()
        facts = self._answer(read, self._until)
        check(facts)
        self.end()
        return facts

    def check_time(self) -> None:
        """Raises NoResponseError if the host may have begun to set back: what was seen then tells
        nothing of the change."""
        if self.name and self._clock.monotonic() >= self._until:
            raise NoResponseError(_TOO_LATE)

    def end(self) -> None:
        """Disarm the timer, if there is one. Raises NoResponseError if that is not certain."""
        if self.name:
            state = self._answer(lambda: self._place.disarm(self.name), self._until)
            if state != "disarmed":
                raise NoResponseError(_TOO_LATE)
            self.name = ""

    def end_of_earlier(self) -> Ended | None:
        """How the timer ended that an interrupted run has left; it is disarmed now unless it was
        faster. None: then nothing was changed under it, or it did nothing."""
        armed = self._work.notes.last(Arming)
        ended = None if armed is None else self._end_of(armed)
        is_set = not self._work.notes.pending(Arming, Setting)
        return ended if is_set and ended != "disarmed" else None

    def end_after(self, error: NoResponseError) -> Ended:
        """How the timer ended after that error, once the host must have set everything back. Raises
        the error if nothing was changed under a timer, NoResponseError if the host does not
        answer."""
        armed = self._work.notes.last(Arming)
        if not self.name or armed is None or self._work.notes.pending(Arming, Setting):
            raise error
        self._work.tell(f"{error}: waiting until the host has set it back by itself")
        while self._clock.monotonic() < self._back + _UNDOING_SECONDS:
            self._clock.sleep(_POLL)
        self._place.reconnect()
        ended = self._end_of(armed)
        if ended is None:
            raise error
        self.name = ""
        return ended

    def _end_of(self, armed: Arming) -> Ended | None:
        """How it ended; None: the host knows nothing of it, and was not started again."""
        end = self._clock.monotonic() + _RETURN_SECONDS

        def ask() -> Ended | None:
            state = self._place.disarm(armed.timer)
            if state == "undoing" and self._clock.monotonic() < end - 2 * _POLL:
                raise NoResponseError("the host is still setting it back")
            if state == "":
                return None if self._host() == armed.host else "restarted"
            return "disarmed" if state == "disarmed" else "undone"

        return self._answer(ask, end)

    def _answer(self, ask: Callable[[], T], end: float) -> T:
        """The answer, on new connections if there is none. Raises NoResponseError if there was none
        until then."""
        while True:
            try:
                return ask()
            except NoResponseError:
                if self._clock.monotonic() >= end:
                    raise
            self._clock.sleep(_POLL)
            self._place.reconnect()

    def _host(self) -> str:
        try:
            return self._place.identity()
        except TargetError as error:
            raise NoResponseError(error.message) from None
