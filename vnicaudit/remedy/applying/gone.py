"""A domain that its host has no more: undefined, or moved to another host."""

from __future__ import annotations

from vnicaudit.remedy.applying.hosts import Hosts
from vnicaudit.remedy.applying.means import Result
from vnicaudit.remedy.applying.sheet import UnitSheet

_NOWHERE = (
    "its host has no such domain any more, nor has another host of this run: it was undefined, or "
    "moved to a host that is not part of it (make a plan there)"
)
_MIDDLE = "; it went in the middle of the change: what its definition was is kept with the run"


def what_became(unit: UnitSheet, hosts: Hosts, *, begun: bool) -> Result:
    """``gone``; or, of one that is on another host of the run by now, ``refused`` where nothing was
    begun, and else ``failed``: which definition it has there is for its owner to look at."""
    place = hosts.elsewhere(unit)
    if place is None:
        return Result("gone", _NOWHERE + (_MIDDLE if begun else ""))
    if begun:
        return Result(
            "failed", f"it moved to {place} in the middle of the change: look at it there"
        )
    return Result("refused", f"it is on {place} now: what is to be done to it is to be done there")
