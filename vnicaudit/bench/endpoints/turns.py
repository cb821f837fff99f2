"""Measurements that share an end wait for each other and take turns.

Each takes a lock (flock) at each of its ends, which is released when its session ends there,
however that happens. The locked file is the end's network namespace (``/proc/self/ns/net``):
everybody who measures there can open it, no file has to be created, and a measurement in another
namespace or container of that machine is on another path. Ends are locked in the order of their
identities, so that two measurements never wait for each other.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from vnicaudit.base.deadlines import sleep, timestamp
from vnicaudit.base.wording import one_line
from vnicaudit.bench.contract import Endpoint
from vnicaudit.errors import BusyError

TURN_SECONDS = 3600.0
"""How long a measurement waits for earlier ones: longer than most of them take."""
_PAUSE = 5.0
_OURS = secrets.token_hex(8)
"""Mark by which a process recognises its own locks."""
_SHOWN = 200

Say = Callable[[str], None]


class TurnState(NamedTuple):
    """``held``: this session has the lock; None: locks cannot be taken there. ``by``: the texts of
    the current holders, as far as they are visible."""

    held: bool | None
    by: tuple[str, ...] = ()


@runtime_checkable
class TakesTurns(Protocol):
    """An endpoint at which a measurement can take a turn."""

    def take_turn(self, text: str) -> TurnState:
        """Try to take the lock of that place until the session ends; ``text`` identifies this
        measurement to others. Raises EndpointError."""


def wait_for_turns(
    ends: Iterable[tuple[tuple[str, ...], Endpoint]], say: Say, seconds: float = TURN_SECONDS,
    pause: float = _PAUSE,
) -> None:  # fmt: skip
    """Lock each of these ends for this measurement; ``ends``: identity of the place, endpoint.
    Reports once whom it waits for, and where no lock can be taken. Raises BusyError if the lock is
    not free after ``seconds``. It is tried again every ``pause`` seconds."""
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
    """The holder's text, without the mark that is for its own process."""
    seen = [one_line(one).partition(" ")[2][:_SHOWN] for one in state.by]
    return "; ".join(filter(None, seen)) or "its owner is not visible"
