"""Images and flavors, from which servers are created later. No guest is touched.

Of an image, properties are set, and the old ones restored. Of a flavor, a copy with other extra
specs is made, which a rollback deletes: servers have their flavor embedded from the time they were
created (``instance_extra.flavor``), so changing the flavor itself would not reach them; they get
the copy by a resize.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from vnicaudit.errors import ActionError, RefusedError, VnicauditError
from vnicaudit.model.plan import FlavorUnit
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.stored_properties import ForeignError, differing
from vnicaudit.remedy.applying.clouds.transaction import (
    ENDS_THE_RUN,
    CloudDriver,
    CloudPlace,
    CloudRequest,
    CloudTransaction,
    CloudWork,
    ObjectState,
)
from vnicaudit.remedy.applying.driver import wait_for_late
from vnicaudit.remedy.applying.journal.events import (
    Copying,
    Properties,
    Removing,
    Result,
    Set,
    Setting,
    Undoing,
)
from vnicaudit.remedy.hypervisor import Cloud
from vnicaudit.remedy.replacing import UnitRefusedError
from vnicaudit.text.targets import client

_OF_IMAGES = re.compile(r"(hw_[a-z0-9_]{1,90}|os_distro|os_type|os_version)")
"""Properties of images that are set here; others, such as ``os_hidden``, have another purpose."""
_LATER = "new servers created from it will have it; existing servers keep what Nova stored for them"
_SPACE = uuid.UUID("0d7f3c0e-5b0f-5d4a-9a55-7d1f5c7f1b0a")
"""UUID namespace of the ids of flavors that are made here."""


def _undone(back: Callable[[], None], reason: str, outcome: Outcome, as_before: str) -> Result:
    """The result of undoing a change. No guest is concerned, so ``back`` does all the work.
    ``as_before``: the words for what is as before then. Raises errors that end the run."""
    try:
        back()
    except ENDS_THE_RUN:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; {as_before}")


class ImageDriver(CloudDriver):
    """Sets properties of images."""

    kind = "image"
    sources = True

    def completed(self, request: CloudRequest, place: CloudPlace) -> CloudTransaction | None:
        """The transaction that sets the image's properties."""
        transaction = request.transaction
        for name in transaction.goal:
            if _OF_IMAGES.fullmatch(name) is None:
                raise UnitRefusedError(
                    f"{name[:60]!r} is not a NIC property: it is not set", "plan"
                )
        now = _now(place.cloud, transaction, transaction.goal)
        if now == transaction.goal:
            return None
        if now != transaction.before and not request.over_edits:
            raise request.drifted(differing(now, transaction.before) or "in spelling")
        return replace(transaction, before=now)

    def change(self, work: CloudWork) -> Result:
        """Set the properties, if they are as they were before."""
        try:
            _set_properties(work, work.transaction.before, work.transaction.goal)
        except ENDS_THE_RUN:
            raise
        except ForeignError as error:
            return Result("failed", str(error))
        except VnicauditError as error:
            work.notes.write(Undoing(str(error), "failed"))
            return self.put_back(work, str(error), "failed")
        words = ", ".join(f"{name}={value}" for name, value in work.transaction.goal.items())
        return Result("applied", _LATER, (Check("image", "ok", f"the image has {words}"),))

    def put_back(self, work: CloudWork, reason: str, outcome: Outcome) -> Result:
        """Restore the properties from before the change."""
        cloud, before = work.place.cloud, work.transaction.before

        def came_late() -> bool:
            return bool(_differs(_now(cloud, work.transaction, before), before))

        def back() -> None:
            if _is_unanswered(work):
                wait_for_late(work.clock, came_late)
            _set_properties(work, work.transaction.goal, before)

        return _undone(back, reason, outcome, "its properties are as before")

    def state(self, place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
        """``in-effect`` where the image has every property that the run set, else ``differs``, with
        the properties changed since."""
        now = _now(place.cloud, transaction, transaction.goal)
        other = [name for name, value in transaction.goal.items() if now[name] != value]
        if other:
            words = ", ".join(f"{name}={now[name]}" for name in other)
            return "differs", f"the image was changed since: {words}", ()
        return "in-effect", "", ()


def _is_unanswered(work: CloudWork) -> bool:
    """True if the goal was asked for, and nobody saw that it was stored: Glance, or a proxy before
    it, may have been interrupted as well as this program."""
    asked = work.notes.pending(Setting, Set)
    return asked is not None and asked.event == Setting(work.transaction.goal)


def _set_properties(work: CloudWork, before: Properties, goal: Properties) -> None:
    """Raises ForeignError if the properties are neither as before nor as planned, ActionError if
    Glance does not accept them."""
    cloud, transaction = work.place.cloud, work.transaction
    now = _now(cloud, transaction, goal)
    if not _differs(now, goal):
        return
    if any(now[name] not in (before[name], goal[name]) for name in goal):
        raise ForeignError(differing(now, before))
    work.notes.write(Setting(goal))
    cloud.set_image_properties(transaction.id, goal)
    if missing := _differs(_now(cloud, transaction, goal), goal):
        raise ActionError(f"Glance accepted it, but did not store it: {missing}")
    work.notes.write(Set())


def _now(cloud: Cloud, transaction: CloudTransaction, names: Properties) -> Properties:
    found = cloud.image_properties(transaction.id)
    return {name: found.get(name) for name in names}


def _differs(now: Properties, wanted: Properties) -> str:
    """Compared literally: a property of an image can be removed."""
    return ", ".join(name for name in wanted if now.get(name) != wanted[name])


class FlavorDriver(CloudDriver):
    """Makes copies of flavors."""

    kind = "flavor"
    sources = True

    def completed(self, request: CloudRequest, place: CloudPlace) -> CloudTransaction | None:
        """The transaction that makes the copy or, undone, deletes it: a copy that servers use
        cannot be deleted. The copy's id is derived from the flavor and its properties, so that an
        existing copy is found and not made twice."""
        transaction, cloud = request.transaction, place.cloud
        if request.step is None:
            if transaction.removes != (cloud.flavor(transaction.copy) is not None):
                return None
            if transaction.removes:
                _check_unused(cloud, transaction)
            return transaction
        name, goal = cast(FlavorUnit, request.step.unit).new_name, transaction.goal
        if not name:
            raise UnitRefusedError("the plan does not name the new flavor", "plan")
        found = cloud.flavor(transaction.id)
        if found is None:
            raise UnitRefusedError("the flavor no longer exists", "drift")
        drift = [one for one in goal if found.properties.get(one) != transaction.before.get(one)]
        if drift:
            raise request.drifted(", ".join(drift))
        made_of = (cloud.key, transaction.id, name, repr(sorted(goal.items())))
        copy_id = str(uuid.uuid5(_SPACE, "\n".join(made_of)))
        copy = cloud.flavor(copy_id)
        if copy is not None and all(copy.properties.get(one) == goal[one] for one in goal):
            return None
        return replace(transaction, copy_name=name, copy=copy_id)

    def change(self, work: CloudWork) -> Result:
        """Make the copy; in a rollback, delete it."""
        transaction = work.transaction
        try:
            _bring(work, there=not transaction.removes)
        except ENDS_THE_RUN:
            raise
        except RefusedError as error:
            return Result("refused", str(error), codes=error.codes)
        except VnicauditError as error:
            work.notes.write(Undoing(str(error), "failed"))
            return self.put_back(work, str(error), "failed")
        if transaction.removes:
            return Result("applied", f"flavor {transaction.copy_name} is gone")
        detail = f"flavor {transaction.copy_name} exists, with its extra specs"
        resize = f"{client(transaction.target)} server resize --flavor {transaction.copy} SERVER"
        words = f"to move a server to it: {resize}"
        return Result("applied", words, (Check("flavor", "ok", detail),))

    def put_back(self, work: CloudWork, reason: str, outcome: Outcome) -> Result:
        """Undo the change: delete the copy, or make it again."""
        cloud, transaction = work.place.cloud, work.transaction

        def is_done() -> bool:
            return (cloud.flavor(transaction.copy) is None) == transaction.removes

        def back() -> None:
            asked = work.notes.latest(Copying, Removing)
            if asked is not None and isinstance(asked.event, Removing) == transaction.removes:
                wait_for_late(work.clock, is_done)  # nobody notes what Nova answers
            _bring(work, there=transaction.removes)

        return _undone(back, reason, outcome, "flavors are as before")

    def state(self, place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
        """``in-effect`` where the copy exists (or is gone, where the transaction removes it), else
        ``differs``."""
        there = place.cloud.flavor(transaction.copy) is not None
        if there != transaction.removes:
            return "in-effect", "", ()
        is_now = "there" if there else "gone"
        return "differs", f"the flavor {transaction.copy_name} is {is_now}", ()


def _check_unused(cloud: Cloud, transaction: CloudTransaction) -> None:
    """Raises RefusedError if servers use the copy: it cannot be deleted then."""
    if count := cloud.flavor_servers(transaction.copy):
        raise UnitRefusedError(
            f"{count} server{'s use' if count > 1 else ' uses'} the flavor "
            f"{transaction.copy_name}: resize to another one first",
            "in-use",
        )


def _bring(work: CloudWork, *, there: bool) -> None:
    (_make if there else _remove)(work)


def _make(work: CloudWork) -> None:
    cloud, transaction = work.place.cloud, work.transaction
    work.notes.write(Copying(transaction.copy, transaction.copy_name))
    specs = transaction.before if transaction.removes else transaction.goal
    cloud.copy_flavor(transaction.id, transaction.copy, transaction.copy_name, specs)
    made = cloud.flavor(transaction.copy)
    missing = [name for name in specs if made is None or made.properties.get(name) != specs[name]]
    if missing:
        raise ActionError(f"Nova accepted it, but did not store it: {', '.join(missing)}")


def _remove(work: CloudWork) -> None:
    cloud, transaction = work.place.cloud, work.transaction
    if cloud.flavor(transaction.copy) is None:
        return
    _check_unused(cloud, transaction)
    work.notes.write(Removing(transaction.copy))
    cloud.delete_flavor(transaction.copy)
