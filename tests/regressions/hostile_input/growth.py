"""How what something costs grows with its input: in CPU time, which other work does not add to, the
least of several rounds, and measured anew until it is clear."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

TIMES = 8
"""How much larger the large input is."""
MOST = 20.0
"""What it may cost then: 8 is linear, 64 a square. A busy machine has added a half to a cost."""

_ROUNDS = 3
_LEAST = 0.1
"""Seconds: ten ticks of the coarsest clock."""
_GLANCE = 0.02
"""Seconds at the first time: a square is five times what is allowed, and no such clock errs so."""
_LONG = 0.5
"""Seconds."""


def cost(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """CPU seconds of the fastest of some calls."""
    return min(_once(call) for _round in range(rounds))


def ratio(
    call: Callable[[T], object], small: T, large: T, most: float = MOST, tries: int = 5
) -> float:
    """What ``large`` costs over what ``small`` costs; measured up to ``tries`` times until it is
    not more than ``most``: what disturbs a measurement is gone in one of them, a square never, and
    where it takes long nothing disturbs that much. The first time is one short round: most grow so
    little that it is enough."""
    call(small)  # modules that load when they are needed, and expressions that are compiled then
    least = float("inf")
    for number in range(tries):
        rounds, seconds = (_ROUNDS, _LEAST) if number else (1, _GLANCE)
        under = exact(lambda: call(small), rounds, seconds)
        least = min(least, exact(lambda: call(large), rounds, seconds) / max(under, 1e-6))
        if least <= most or (least > 2 * most and under > _LONG):
            break
    return least


def _once(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def exact(call: Callable[[], object], rounds: int = _ROUNDS, seconds: float = _LEAST) -> float:
    """As :func:`cost`, each round so many calls that a coarse clock can tell."""
    return min(_many(call, seconds) for _round in range(rounds))


def _many(call: Callable[[], object], seconds: float) -> float:
    start, calls, took = time.process_time(), 0, 0.0
    while took < seconds:
        call()
        calls += 1
        took = time.process_time() - start
    return took / calls
