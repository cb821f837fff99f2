"""What the journal of a server tells of every ``nova-manage image_property set``.

It saves the instance and then its request specification (``_update_image_properties`` in
nova/cmd/manage.py, Nova 34.0.0), and the second can be read nowhere: that both are saved is known
where it ended with 0 alone. A line ``setting`` is followed by ``set`` (it ended with 0), ``not
set`` (it saved nothing), ``half set`` (it ended, and may have saved one of the two), or by none of
them: its end was not seen, and it may still be at work.
"""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.remedy.applying.clouds.task import Properties
from vnicaudit.remedy.applying.lines import Entry

SETTING = "setting"
SET = "set"
NOT_SET = "not set"
HALF_SET = "half set"
SETTLED = "settled"
"""All was put back, and no set can come late any more."""
_ENDS = (SET, NOT_SET, HALF_SET)


def doubtful(entries: Iterable[Entry]) -> tuple[Properties, ...] | None:
    """What may have been set by half since the last set that ended with 0, in order; None: nothing
    was set."""
    found: list[Properties] = []
    known = False
    for entry in entries:
        if entry.event == SETTING:
            found.append(entry.data["properties"])
        elif entry.event in (SET, SETTLED):
            found, known = [], True
        elif entry.event == NOT_SET:
            found = found[:-1]
    return tuple(found) if found or known else None


def unseen(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The sets whose end was not seen, in order."""
    found: list[Entry] = []
    ended = True
    for entry in entries:
        if entry.event == SETTING:
            found.append(entry)
            ended = False
        elif entry.event in _ENDS and not ended:
            found.pop()
            ended = True
        elif entry.event == SETTLED:
            found, ended = [], True
    return tuple(found)
