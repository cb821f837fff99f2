"""What a journal tells of sets whose end was not 0, or was not seen."""

from __future__ import annotations

import pytest

from vnicaudit.remedy.applying.clouds.sets import (
    HALF_SET,
    NOT_SET,
    SET,
    SETTING,
    SETTLED,
    doubtful,
    unseen,
)
from vnicaudit.remedy.applying.clouds.task import Properties
from vnicaudit.remedy.applying.journal import Entry

ONE: Properties = {"hw_vif_model": "virtio"}
OTHER: Properties = {"hw_vif_model": "rtl8139"}


def entries(*events: str | Properties) -> tuple[Entry, ...]:
    """Properties are those of a set that begins."""
    return tuple(
        Entry("", event)
        if isinstance(event, str)
        else Entry("", SETTING, "", {"properties": event})
        for event in events
    )


@pytest.mark.parametrize(
    ("events", "half", "open_"),
    [
        ((), None, ()),
        (("stopping", "stopped"), None, ()),
        ((ONE,), (ONE,), (ONE,)),
        ((ONE, "starting"), (ONE,), (ONE,)),
        ((ONE, SET), (), ()),
        ((ONE, NOT_SET), None, ()),
        ((ONE, HALF_SET), (ONE,), ()),
        ((ONE, OTHER), (ONE, OTHER), (ONE, OTHER)),
        ((ONE, OTHER, SET), (), (ONE,)),
        ((ONE, OTHER, HALF_SET), (ONE, OTHER), (ONE,)),
        ((ONE, HALF_SET, OTHER, NOT_SET), (ONE,), ()),
        ((ONE, OTHER, SETTLED), (), ()),
        ((ONE, SET, OTHER), (OTHER,), (OTHER,)),
    ],
)
def test_what_is_in_doubt_and_what_may_come_late(
    events: tuple[str | Properties, ...],
    half: tuple[Properties, ...] | None,
    open_: tuple[Properties, ...],
) -> None:
    found = entries(*events)
    assert doubtful(found) == half
    assert tuple(entry.data["properties"] for entry in unseen(found)) == open_
