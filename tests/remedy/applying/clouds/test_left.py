"""How long a server was off, as its journal tells."""

from __future__ import annotations

import pytest

from vnicaudit.remedy.applying.clouds.left import seconds_away
from vnicaudit.remedy.applying.journal import Entry


@pytest.mark.parametrize(
    ("events", "seconds"),
    [
        ({}, 0.0),
        ({0: "stopping", 2: "stopped", 6: "starting", 11: "started"}, 11.0),
        # it was asked again, by a later life of the program
        ({0: "stopping", 5: "stopping", 7: "stopped", 12: "started"}, 12.0),
        # it did not stop
        ({0: "stopping", 5: "started"}, 0.0),
        ({0: "stopping", 2: "stopped", 6: "starting"}, 0.0),
        # on the way there, and on the way back
        ({0: "stopping", 2: "stopped", 9: "started", 20: "stopping", 22: "starting",
          25: "started"}, 14.0),
    ],
)  # fmt: skip
def test_from_stop_to_start(events: dict[int, str], seconds: float) -> None:
    found = [
        Entry(f"2026-11-22T08:00:{second:02d}+00:00", event) for second, event in events.items()
    ]
    assert seconds_away(found) == seconds
