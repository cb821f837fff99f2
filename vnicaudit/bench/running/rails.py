"""Guard rails: checked before the first run, and in each arm: after a change that is made only
once, and after the last run.

A broken guard rail ends a measurement, so one check is not enough: it counts as broken if two
checks fail, and as intact if one check passes. A check that does not get through (a slow agent, a
lost peer) says nothing about the network, and does not count: if only one check got through, and
failed, the guard rail is unknown, and its result is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from vnicaudit.bench.contract import Guard, one_line, readable
from vnicaudit.bench.running.opening import OpenedArm
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import GuardRail

Guards = Mapping[str, Guard]
"""Guard rails by name."""
RailStates = Mapping[str, str]
"""Guard rail -> the state to compare it with."""

_LOOKS = 3
_ONCE = "it failed once ({seen}), and could not be checked again: {why}"


def before(guards: Guards, opened: OpenedArm) -> RailStates:
    """The present states of the guard rails. A guard rail that cannot be checked is left out:
    :func:`after` reports it."""
    found: dict[str, str] = {}
    for name, guard in guards.items():
        try:
            with readable("what was printed"):
                found[name] = guard.before(opened.ends, opened.arm.path)
        except (EndpointError, MeasureError):
            continue
    return found


def troubles(guards: Guards, states: RailStates) -> Iterator[str]:
    """Problems that guard rails saw when these states were read, one sentence for each guard rail
    with any."""
    for name, guard in guards.items():
        if states.get(name):
            with suppress(MeasureError), readable("what was printed"):
                if said := guard.trouble(states[name]):
                    yield f"guard rail {name}, before the first run: {one_line(said)}"


def after(guards: Guards, opened: OpenedArm, kept: RailStates) -> list[GuardRail]:
    """The results of the guard rails now, compared with ``kept``."""
    return [
        _confirmed(partial(_look, name, guard, opened, kept[name]))
        if name in kept
        else GuardRail(name, opened.arm.name, "unknown", "it could not be checked before")
        for name, guard in guards.items()
    ]


def _confirmed(look: Callable[[], tuple[GuardRail, bool]]) -> GuardRail:
    """The result of two checks; of three, if one of them failed and another did not get through."""
    failed = ""
    for number in range(_LOOKS):
        rail, got_through = look()
        if rail.verdict == "ok" or (rail.verdict == "failed" and failed):
            return rail
        if rail.verdict == "failed":
            failed = rail.detail or "no details"
        elif not failed and (got_through or number):
            return rail
    return replace(rail, detail=_ONCE.format(seen=failed, why=rail.detail))


def _look(name: str, guard: Guard, opened: OpenedArm, before: str) -> tuple[GuardRail, bool]:
    """The result now, and True if the check got through to the ends."""
    try:
        return _checked(name, guard, opened, before), True
    except EndpointError as error:
        return GuardRail(name, opened.arm.name, "unknown", one_line(str(error))), False


def _checked(name: str, guard: Guard, opened: OpenedArm, before: str) -> GuardRail:
    """The result now. Raises EndpointError if an end does not answer."""
    arm = opened.arm.name
    try:
        with readable("what was printed"):
            rail = guard.after(opened.ends, opened.arm.path, before)
    except MeasureError as error:
        return GuardRail(name, arm, "unknown", one_line(str(error)))
    return GuardRail(rail.name, arm, rail.verdict, rail.detail)
