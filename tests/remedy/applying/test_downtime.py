"""How long a server was off, as its journal tells."""

import pytest

from vnicaudit.remedy.applying.history import seconds_off
from vnicaudit.remedy.applying.journal.events import Event, Started, Starting, Stopped, Stopping
from vnicaudit.remedy.applying.journal.journal_file import Entry


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        ({}, 0.0),
        ({0: Stopping(), 2: Stopped(), 6: Starting(), 11: Started()}, 11.0),
        # it was asked again, by a later life of the program
        ({0: Stopping(), 5: Stopping(), 7: Stopped(), 12: Started()}, 12.0),
        # it did not stop
        ({0: Stopping(), 5: Started()}, 0.0),
        ({0: Stopping(), 2: Stopped(), 6: Starting()}, 0.0),
        # on the way there, and on the way back
        ({0: Stopping(), 2: Stopped(), 9: Started(), 20: Stopping(), 22: Starting(),
          25: Started()}, 14.0),
    ],
)  # fmt: skip
def test_from_stop_to_start(events: dict[int, Event], seconds: float) -> None:
    found = [
        Entry(f"2026-11-22T08:00:{second:02d}+00:00", event) for second, event in events.items()
    ]
    assert seconds_off(found) == seconds
