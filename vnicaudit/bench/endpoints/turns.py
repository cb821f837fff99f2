"""Measurements that share an end find each other, and take turns.

Each takes a lock (flock) at each of its ends, which is let go when its session ends there, however
that happens. The file is the end's network namespace (``/proc/self/ns/net``): everybody who
measures there can open it, nothing has to be created, and what is measured in another namespace or
container of that machine is another path. Ends are locked in the order of their identities, so that
two measurements never wait for one another.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from vnicaudit.base.clock import timestamp
from vnicaudit.base.waiting import sleep
from vnicaudit.bench.contract import Endpoint
from vnicaudit.bench.readable import one_line
from vnicaudit.errors import BusyError

TURN_SECONDS = 3600.0
"""How long a measurement waits for those before it: longer than most of them take."""
_PAUSE = 5.0
_OURS = secrets.token_hex(8)
"""By which a process knows what it has locked itself."""
_SHOWN = 200

Say = Callable[[str], None]


class TurnState(NamedTuple):
    """``held``: it is ours now; None: locks cannot be taken there. ``by``: what those who have it
    say of themselves, as far as they can be seen."""

    held: bool | None
    by: tuple[str, ...] = ()


@runtime_checkable
class TakesTurns(Protocol):
    """An endpoint at which a measurement can take its turn."""

    def take_turn(self, text: str) -> TurnState:
        """Try to take the lock of that place until the session ends; ``text``: who we are. Raises
        EndpointError."""


def wait_for_turns(
    ends: Iterable[tuple[tuple[str, ...], Endpoint]], say: Say, seconds: float = TURN_SECONDS,
    pause: float = _PAUSE,
) -> None:  # fmt: skip
    """Have each of these ends for ourselves; ``ends``: identity of the place, endpoint. Says whom
    it waits for, once, and where no lock can be taken. Raises BusyError where the turn has not
    come after ``seconds``. Looks again after each ``pause``, in seconds."""
    until = time.monotonic() + seconds
    for _identity, endpoint in sorted(dict(ends).items(), key=lambda end: end[0]):
        if isinstance(endpoint, TakesTurns):
            _wait_for_turn(endpoint, endpoint.url, say, until, pause)


def _wait_for_turn(endpoint: TakesTurns, url: str, say: Say, until: float, pause: float) -> None:
    who = f"process {os.getpid()} at {socket.gethostname()}, since {timestamp()}"
    told = False
    while True:
        state = endpoint.take_turn(f"{_OURS}.{secrets.token_hex(4)} {who}")
        if state.held is None:
            say(f"{url} cannot be locked, so other measurements there would go unnoticed")
        if state.held is not False or any(one.startswith(_OURS) for one in state.by):
            return
        holder = _holder(state)
        if time.monotonic() >= until:
            raise BusyError(
                f"{url}: another measurement is still running there ({holder}): wait for it to "
                "end, or stop it"
            )
        if not told:
            say(f"waiting for {url}: another measurement is running there ({holder})")
            told = True
        sleep(min(pause, max(0.0, until - time.monotonic())))


def _holder(state: TurnState) -> str:
    """Who has it, without the word that is for its own process."""
    seen = [one_line(one).partition(" ")[2][:_SHOWN] for one in state.by]
    return "; ".join(filter(None, seen)) or "its owner is not visible"
