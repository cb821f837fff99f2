"""Two dozen expressions took four times as long for twice the text: 64 KiB of braces, blanks or
zeros cost half a minute. Every expression of the package is given what it finds hardest."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.regressions.hostile_input.expressions import Expression, expressions
from tests.regressions.hostile_input.growth import cost, ratio
from tests.regressions.hostile_input.pumping import inputs

SIZE = 6_000
SUSPICIOUS = 0.002
"""Seconds: ten times what a linear expression takes for that many characters."""
HOPELESS = 1.0
"""Seconds for that many characters: one that takes as long is not measured any further, for four
times as many would take minutes."""
TIMES = 4
MOST = 8.0
"""For four times the text: 4 is linear, 16 a square."""

BOUNDED = {
    "vnicaudit.knowledge.models._STAND_IN": 60,
    "vnicaudit.platforms.domain_xml.bare._NAMES": 60,
    "vnicaudit.platforms.domain_xml.recognise._IN_YAML": 256,
    "vnicaudit.text.secrets._DANGLING": 200,
    "vnicaudit.text.tags._ENDS_IN_DO": 256,
}
"""Expressions that are given a short text only: whoever calls them looks at, or cuts to, so many
characters."""

_LETTER = re.compile("[ab]")
_OTHERS = "c" * 1_000_000

ALL = expressions()


def test_expressions_are_found() -> None:
    places = {place for one in ALL for place in one.places}
    assert "vnicaudit.text.placeholders._whole_pattern" in places
    assert "vnicaudit.platforms.qemu.machine._MACHINE_ARCH" in places  # in a table
    assert len(ALL) > 200


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.places[0].removeprefix("vnicaudit."))
def test_no_text_takes_four_times_as_long_for_twice_its_size(one: Expression) -> None:
    if one.places[0] in BOUNDED:
        for text in inputs(one.pattern, BOUNDED[one.places[0]]):
            assert _costs_little(lambda: one.pattern.search(text))  # noqa: B023
        return
    for method in sorted(one.methods):
        call = _call(one, method)
        for small, large in zip(
            inputs(one.pattern, SIZE), inputs(one.pattern, SIZE * TIMES), strict=True
        ):
            once = cost(lambda: call(small), 1)  # noqa: B023 - called here
            assert once < HOPELESS, f"{method}: {small[:60]!r}… {small[-10:]!r} takes {once:.0f} s"
            if once < SUSPICIOUS:
                continue
            if cost(lambda: call(small), 3) < SUSPICIOUS:  # noqa: B023 - called here
                continue
            grown = ratio(call, small, large, MOST, tries=6)
            assert grown <= MOST, f"{method}: {small[:60]!r}… {small[-10:]!r} grows by {grown:.0f}"


def _costs_little(call: Callable[[], object]) -> bool:
    """Whether it takes this machine less than to look for one letter among a million others: as
    that was measured once, or, where something disturbs, beside it."""
    if cost(call) < _look_for_a_letter():
        return True
    _look_for_a_letter.cache_clear()
    return any(cost(call) < _look_for_a_letter.__wrapped__() for _try in range(5))


@cache
def _look_for_a_letter() -> float:
    return cost(lambda: _LETTER.search(_OTHERS))


def _call(one: Expression, method: str) -> Callable[[Any], object]:
    if method == "finditer":
        return lambda text: sum(1 for _match in one.pattern.finditer(text))
    if method == "sub":
        return lambda text: one.pattern.sub(text[:0], text)
    return getattr(one.pattern, method)  # type: ignore[no-any-return]
