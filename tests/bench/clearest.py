"""Measurements of real tools, which other work on this machine may disturb."""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_TRIES = 8


def clearest(measure: Callable[[], T], deviation: Callable[[T], float], most: float) -> float:
    """The least deviation, measured up to eight times until it is not more than ``most``: what
    disturbs a measurement is gone in one of them, what is counted wrongly never is."""
    least = float("inf")
    for _try in range(_TRIES):
        least = min(least, deviation(measure()))
        if least <= most:
            break
    return least
