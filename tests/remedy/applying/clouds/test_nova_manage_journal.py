"""What a journal tells of sets whose end was not 0, or was not seen."""

import pytest

from vnicaudit.remedy.applying.clouds.nova_manage import doubtful, unseen
from vnicaudit.remedy.applying.journal.events import (
    Event,
    HalfSet,
    NotSet,
    Properties,
    Set,
    Setting,
    Settled,
    Starting,
    Stopped,
    Stopping,
)
from vnicaudit.remedy.applying.journal.journal_file import Entry

ONE: Properties = {"hw_vif_model": "virtio"}
OTHER: Properties = {"hw_vif_model": "rtl8139"}


def entries(*events: Event | Properties) -> tuple[Entry, ...]:
    """Properties are those of a set that begins."""
    return tuple(
        Entry("", Setting(event) if isinstance(event, dict) else event) for event in events
    )


@pytest.mark.parametrize(
    ("events", "half", "open_"),
    [
        ((), None, ()),
        ((Stopping(), Stopped()), None, ()),
        ((ONE,), (ONE,), (ONE,)),
        ((ONE, Starting()), (ONE,), (ONE,)),
        ((ONE, Set()), (), ()),
        ((ONE, NotSet()), None, ()),
        ((ONE, HalfSet()), (ONE,), ()),
        ((ONE, OTHER), (ONE, OTHER), (ONE, OTHER)),
        ((ONE, OTHER, Set()), (), (ONE,)),
        ((ONE, OTHER, HalfSet()), (ONE, OTHER), (ONE,)),
        ((ONE, HalfSet(), OTHER, NotSet()), (ONE,), ()),
        ((ONE, OTHER, Settled()), (), ()),
        ((ONE, Set(), OTHER), (OTHER,), (OTHER,)),
    ],
)
def test_what_is_in_doubt_and_what_may_come_late(
    events: tuple[Event | Properties, ...],
    half: tuple[Properties, ...] | None,
    open_: tuple[Properties, ...],
) -> None:
    found = entries(*events)
    assert doubtful(found) == half
    assert tuple(one.properties for one in unseen(found)) == open_
