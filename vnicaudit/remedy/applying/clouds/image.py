"""Set properties of one image, and restore the old ones. No guest is touched."""

from __future__ import annotations

import re

from msgspec.structs import replace

from vnicaudit.errors import ActionError, RefusedError, VnicauditError
from vnicaudit.model.plan import ImageUnit, UnitStep
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.stored_properties import ForeignError, differing
from vnicaudit.remedy.applying.clouds.transaction import (
    DRIFT,
    EDITED,
    ENDS_THE_RUN,
    CloudPlace,
    CloudTransaction,
    CloudWork,
    Leftovers,
    ObjectState,
    undo_one,
)
from vnicaudit.remedy.applying.journal.events import Properties, Result, Set, Setting, Undoing
from vnicaudit.remedy.applying.verifying import wait_for_late
from vnicaudit.remedy.replacing import UnitRefusedError

_OF_IMAGES = re.compile(r"(hw_[a-z0-9_]{1,90}|os_distro|os_type|os_version)")
"""Properties of images that are set here; others, such as ``os_hidden``, have another purpose."""
_LATER = "new servers created from it will have it; existing servers keep what Nova stored for them"


def prepare(
    transaction: CloudTransaction,
    step: UnitStep[ImageUnit],
    place: CloudPlace,
    leftovers: Leftovers,
) -> CloudTransaction | None:
    """The transaction that sets the image's properties; None if they are set already. Raises
    RefusedError if they changed since the plan was made."""
    del step, leftovers
    return _checked(transaction, place)


def prepare_undo(
    transaction: CloudTransaction, place: CloudPlace, leftovers: Leftovers, *, over_edits: bool
) -> CloudTransaction | None:
    """The transaction that restores the image's properties; None if they are restored already.
    Raises RefusedError if somebody changed them since, unless ``over_edits`` is set."""
    del leftovers
    if over_edits:
        found = place.cloud.image_properties(transaction.id)
        transaction = replace(
            transaction, before={name: found.get(name) for name in transaction.goal}
        )
    try:
        return _checked(transaction, place)
    except RefusedError:
        raise UnitRefusedError(EDITED, "edited") from None


def verify(place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
    """``(state, detail, checks)`` of an image: ``in-effect`` where it has every property that the
    run set, else ``differs``, with the properties changed since."""
    now = place.cloud.image_properties(transaction.id)
    other = [name for name, value in transaction.goal.items() if now.get(name) != value]
    if other:
        words = ", ".join(f"{name}={now.get(name)}" for name in other)
        return "differs", f"the image was changed since: {words}", ()
    return "in-effect", "", ()


def forward(work: CloudWork) -> Result:
    """Set the properties, if they are as they were before."""
    try:
        _set_properties(work, work.transaction.before, work.transaction.goal)
    except ENDS_THE_RUN:
        raise
    except ForeignError as error:
        return Result("failed", str(error))
    except VnicauditError as error:
        work.notes.write(Undoing(str(error), "failed"))
        return undo(work, str(error), "failed")
    words = ", ".join(f"{name}={value}" for name, value in work.transaction.goal.items())
    return Result("applied", _LATER, (Check("image", "ok", f"the image has {words}"),))


def undo(work: CloudWork, reason: str, outcome: Outcome) -> Result:
    """Restore the properties from before the change."""
    before = work.transaction.before

    def back() -> None:
        if _is_unanswered(work):
            wait_for_late(work.clock, lambda: bool(_differs(_now(work, before), before)))
        _set_properties(work, work.transaction.goal, before)

    return undo_one(back, reason, outcome, "its properties are as before")


def _is_unanswered(work: CloudWork) -> bool:
    """True if the goal was asked for, and nobody saw that it was stored: Glance, or a proxy before
    it, may have been interrupted as well as this program."""
    asked = work.notes.latest(Setting, Set)
    return (
        asked is not None
        and isinstance(asked.event, Setting)
        and asked.event.properties == work.transaction.goal
    )


def _checked(transaction: CloudTransaction, place: CloudPlace) -> CloudTransaction | None:
    """The transaction; None if the image has the properties already. Raises RefusedError,
    ActionError."""
    for name in transaction.goal:
        if _OF_IMAGES.fullmatch(name) is None:
            raise UnitRefusedError(f"{name[:60]!r} is not a NIC property: it is not set", "plan")
    found = place.cloud.image_properties(transaction.id)
    now: Properties = {name: found.get(name) for name in transaction.goal}
    if now == transaction.goal:
        return None
    if now != transaction.before:
        raise UnitRefusedError(
            f"{DRIFT} ({differing(now, transaction.before) or 'in spelling'})", "drift"
        )
    return transaction


def _set_properties(work: CloudWork, before: Properties, goal: Properties) -> None:
    """Raises ForeignError if the properties are neither as before nor as planned, ActionError if
    Glance does not accept them."""
    now = _now(work, goal)
    if not _differs(now, goal):
        return
    if any(now[name] not in (before[name], goal[name]) for name in goal):
        raise ForeignError(differing(now, before))
    work.notes.write(Setting(goal))
    work.place.cloud.set_image_properties(work.transaction.id, goal)
    if missing := _differs(_now(work, goal), goal):
        raise ActionError(f"Glance accepted it, but did not store it: {missing}")
    work.notes.write(Set())


def _now(work: CloudWork, names: Properties) -> Properties:
    found = work.place.cloud.image_properties(work.transaction.id)
    return {name: found.get(name) for name in names}


def _differs(now: Properties, wanted: Properties) -> str:
    """Compared literally: a property of an image can be removed."""
    return ", ".join(name for name in wanted if now.get(name) != wanted[name])
