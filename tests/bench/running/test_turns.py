"""A place is locked once by a measurement, however many endpoints of it are there."""

from contextlib import ExitStack
from typing import Any

import pytest

from vnicaudit.bench.running import opening
from vnicaudit.bench.running.opening import OpenedEndpoints


def test_a_place_that_is_locked_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node, and a pod in its network, which does not see whose lock it is."""
    locked: list[str] = []
    places: dict[Any, tuple[str, ...]] = {"node": ("b", "n1"), "pod": ("b", "n1"), "x": ("b", "n2")}
    monkeypatch.setattr(opening, "place_of", places.__getitem__)
    monkeypatch.setattr(
        opening, "wait_for_turns", lambda ends, *_words: locked.extend(each for _, each in ends)
    )
    with ExitStack() as stack:
        opened: Any = OpenedEndpoints(stack, lambda: pytest.fail("not needed"))
        opened._take_turns(["node", "x"])
        opened._take_turns(["pod", "x"])
    assert locked == ["node", "x"]
