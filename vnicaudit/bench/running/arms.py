"""The arms of a comparison: paths, or states of one path that a command switches between."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

from vnicaudit.bench.contract import Endpoint, Ends, one_line
from vnicaudit.bench.facts.covariates import Watch
from vnicaudit.errors import EndpointError
from vnicaudit.model.measurement import Path, Ran

_SWITCH_SECONDS = 60.0


class ArmCommands(NamedTuple):
    """The commands that switch the ends of a path to an arm; empty: nothing is switched there."""

    target: tuple[str, ...] = ()
    peer: tuple[str, ...] = ()


class Arm(NamedTuple):
    """``enter``: without commands, the arm is its path."""

    name: str
    path: Path
    enter: ArmCommands = ArmCommands()


class OpenedArm(NamedTuple):
    """An arm with its opened ends."""

    arm: Arm
    ends: Ends
    watch: Watch
    boot: str = ""


class Switch:
    """Switches arms and states, each only if it is not active already."""

    def __init__(self, states: dict[str, tuple[str, ...]]) -> None:
        self._states = states
        self._now: dict[tuple[str, str], tuple[str, ...]] = {}
        self._used: set[tuple[str, str]] = set()

    def arm(self, opened: OpenedArm) -> None:
        """Switch both ends to this arm. Raises EndpointError if a command fails."""
        for end, words in _commands(opened):
            self._bring_about(end, "arm", opened.arm.name, words)

    def state(self, opened: OpenedArm, name: str) -> None:
        """Switch the server to a state of the profile; "" is the state in which it was found, the
        first one."""
        if not name and (opened.ends.target.url, "state") in self._used:
            name = next(iter(self._states))
        if name:
            self._bring_about(opened.ends.target, "state", name, self._states[name])

    def back(self, opened: Sequence[OpenedArm]) -> None:
        """Restore every end to how it was found: the first arm and the first state. An end that was
        never switched is left alone. Raises EndpointError if a command fails, but only after all
        were tried."""
        targets = {each.ends.target.url: each for each in reversed(opened)}  # the first arm of each
        with ExitStack() as stack:
            for url, each in targets.items():
                if (url, "state") in self._used:
                    stack.callback(self.state, each, next(iter(self._states)))
                for end, words in _commands(each):
                    if (end.url, "arm") in self._used:
                        stack.callback(self._bring_about, end, "arm", each.arm.name, words)

    def _bring_about(self, target: Endpoint, kind: str, name: str, argv: tuple[str, ...]) -> None:
        key = (target.url, kind)
        if not argv or self._now.get(key) == argv:
            return
        self._now.pop(key, None)  # unknown while the command runs, and if it fails
        self._used.add(key)
        ran = target.run(argv, seconds=_SWITCH_SECONDS)
        if ran.code != 0:
            raise EndpointError(f"{kind} {name} could not be set: {failure_words(ran)}")
        self._now[key] = argv


def _commands(opened: OpenedArm) -> tuple[tuple[Endpoint, tuple[str, ...]], ...]:
    """Each end, and the command that switches it to the arm."""
    ends, enter = opened.ends, opened.arm.enter
    return (ends.target, enter.target), (ends.peer, enter.peer)


def failure_words(ran: Ran) -> str:
    """The exit of a program, with the first line of its output."""
    said = one_line(ran.stderr.strip() or ran.stdout)
    how = "was killed" if ran.code is None else f"ended with exit code {ran.code}"
    where = f" at {ran.endpoint}" if ran.endpoint else ""
    return f"`{' '.join(ran.command)}`{where} {how}" + (f": {said}" if said else "")
