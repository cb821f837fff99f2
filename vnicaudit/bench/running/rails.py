"""Guard rails: looked at before the first run, and in each arm: once it was brought about by a
change that is made only once, and after the last run.

One that is broken ends a measurement, so one look is not enough for it: it is looked at again, and
the second look counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vnicaudit.bench.guards import load
from vnicaudit.bench.readable import readable
from vnicaudit.bench.running.arms import Opened
from vnicaudit.errors import EndpointError, MeasureError
from vnicaudit.model.measurement import GuardRail

Kept = Mapping[str, str]
"""Guard rail -> what it is to be compared with."""

_CUMULATIVE = frozenset({"counters"})
"""Count what has been since they were looked at before, in whichever arm it was."""


def before(names: Iterable[str], opened: Opened) -> Kept:
    """How things are. A guard rail that cannot look is not there: :func:`after` says so."""
    found: dict[str, str] = {}
    for name in names:
        try:
            with readable("what was printed"):
                found[name] = load(name).before(opened.ends, opened.arm.path)
        except (EndpointError, MeasureError):
            continue
    return found


def after(
    names: Iterable[str], opened: Opened, kept: Kept, *, shared: bool = False
) -> list[GuardRail]:
    """How things are now, compared with ``kept``. ``shared``: other arms are of the same target."""
    return [_found(name, opened, kept, shared=shared) for name in names]


def _found(name: str, opened: Opened, kept: Kept, *, shared: bool) -> GuardRail:
    arm = opened.arm.name
    if shared and name in _CUMULATIVE:
        return GuardRail(name, arm, "unknown", f"arms of one target share its {name}")
    if name not in kept:
        return GuardRail(name, arm, "unknown", "it could not be looked at before")
    rail = _look(name, opened, kept)
    return _look(name, opened, kept) if rail.verdict == "failed" else rail


def _look(name: str, opened: Opened, kept: Kept) -> GuardRail:
    arm = opened.arm.name
    try:
        with readable("what was printed"):
            rail = load(name).after(opened.ends, opened.arm.path, kept[name])
    except EndpointError as error:  # what answered before does not now
        return GuardRail(name, arm, "failed", str(error))
    except MeasureError as error:
        return GuardRail(name, arm, "unknown", str(error))
    return GuardRail(rail.name, arm, rail.verdict, rail.detail)
