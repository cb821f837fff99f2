"""Shows the progress of a run that changes domains, on standard error."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import get_args

from vnicaudit.cli.output.progress import STALLED, ProgressLine, tell, time_left
from vnicaudit.model.runs import Outcome
from vnicaudit.reports.safe import safe

_OUTCOMES = frozenset(get_args(Outcome))


def is_outcome(text: str) -> bool:
    """True for a message that says how work on a unit ended."""
    return text.partition(":")[0] in _OUTCOMES


class RunTelling:
    """Prints what happens to each domain, one line each; with several (``total``), also how many
    are done and the remaining time. ``undoing``: the run undoes another one. ``waits``: also show
    how long the current state has lasted (not during a measurement)."""

    def __init__(
        self, *, quiet: bool, total: int = 1, undoing: bool = False, waits: bool = False
    ) -> None:
        self._quiet = quiet
        self._undoing = undoing
        self._total, self._done, self._started = total, 0, time.monotonic()
        self._states = RunningStates(enabled=waits and not quiet)

    def __call__(self, name: str, text: str) -> None:
        """Print one message about a domain."""
        if self._quiet:
            return

        word = text
        if is_outcome(text) and not text.startswith("unfinished"):
            # the result that is printed at the end says why
            outcome = text.partition(":")[0]
            word = "undone" if self._undoing and outcome == "applied" else outcome
        self._states.changes(name, "" if is_outcome(text) else word)
        tell(safe(f"{self._progress(text)}{name}: {word}"))

    def _progress(self, text: str) -> str:
        """``[12/300, 4 min left] ``, to put before an outcome; empty for other messages, and if
        there is only one unit."""
        if self._total < 2 or not is_outcome(text):
            return ""
        self._done += 1
        left = time_left(self._done, self._total, time.monotonic() - self._started)
        return f"[{self._done:,}/{self._total:,}{left and f', {left}'}] "

    def close(self) -> None:
        """Stop showing states: the run is over."""
        self._states.clear()


class RunningStates:
    """The domains being worked on, each with its state and since when. A state that lasts long is
    shown with its duration."""

    def __init__(self, *, enabled: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._line = ProgressLine(enabled=enabled, clock=clock)
        self._lock = threading.Lock()
        self._states: dict[str, tuple[str, float]] = {}

    def changes(self, name: str, state: str) -> None:
        """Note the state of a domain from now on; empty: it is done."""
        with self._lock:
            self._states.pop(name, None)
            if state:
                self._states[name] = state, self._clock()
        self._line.tick(self.show)

    def show(self) -> None:
        """Show the oldest state, and how long it has lasted."""
        with self._lock:
            if not self._states or not self._line.is_due:
                return
            name, (state, since) = next(iter(self._states.items()))
            seconds = self._clock() - since
            if seconds > STALLED:
                more = f" ({len(self._states)} in progress)" if len(self._states) > 1 else ""
                self._line.show(f"{name}: {state}: {seconds:.0f} s{more}")

    def clear(self) -> None:
        """Forget all states, and erase the line."""
        with self._lock:
            self._states.clear()
            self._line.clear()
