"""Change one flavor: make a copy of it with other extra specs; the rollback deletes the copy.

Servers have their flavor embedded from the time they were created (``instance_extra.flavor``), so
changing the flavor itself would not reach them; they get the copy by a resize.
"""

from __future__ import annotations

import uuid

from msgspec.structs import replace

from vnicaudit.errors import ActionError, RefusedError, VnicauditError
from vnicaudit.model.plan import FlavorUnit, UnitStep
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.transaction import (
    DRIFT,
    ENDS_THE_RUN,
    CloudPlace,
    CloudTransaction,
    CloudWork,
    Leftovers,
    ObjectState,
    undo_one,
)
from vnicaudit.remedy.applying.journal.events import Copying, Removing, Result, Undoing
from vnicaudit.remedy.applying.verifying import wait_for_late
from vnicaudit.remedy.hypervisor import Cloud
from vnicaudit.remedy.replacing import UnitRefusedError
from vnicaudit.text.diff import client

_SPACE = uuid.UUID("0d7f3c0e-5b0f-5d4a-9a55-7d1f5c7f1b0a")
"""UUID namespace of the ids of flavors that are made here."""


def prepare(
    transaction: CloudTransaction,
    step: UnitStep[FlavorUnit],
    place: CloudPlace,
    leftovers: Leftovers,
) -> CloudTransaction | None:
    """The transaction that makes the copy. The copy's id is derived from the flavor and its
    properties, so that an existing copy is found and not made twice."""
    del leftovers
    transaction = replace(transaction, copy_name=step.unit.new_name)
    if not transaction.copy_name:
        raise UnitRefusedError("the plan does not name the new flavor", "plan")
    found = place.cloud.flavor(transaction.id)
    if found is None:
        raise UnitRefusedError("the flavor no longer exists", "drift")
    drift = [
        name
        for name in transaction.goal
        if found.properties.get(name) != transaction.before.get(name)
    ]
    if drift:
        raise UnitRefusedError(f"{DRIFT} ({', '.join(drift)})", "drift")
    made_of = (
        place.cloud.key,
        transaction.id,
        transaction.copy_name,
        repr(sorted(transaction.goal.items())),
    )
    transaction = replace(transaction, copy=str(uuid.uuid5(_SPACE, "\n".join(made_of))))
    copy = place.cloud.flavor(transaction.copy)
    if copy is not None and all(
        copy.properties.get(name) == transaction.goal[name] for name in transaction.goal
    ):
        return None
    return transaction


def prepare_undo(
    transaction: CloudTransaction, place: CloudPlace, leftovers: Leftovers, *, over_edits: bool
) -> CloudTransaction | None:
    """The transaction that deletes the copy. A copy that servers use cannot be deleted."""
    del leftovers, over_edits
    there = place.cloud.flavor(transaction.copy) is not None
    if transaction.removes != there:
        return None
    if transaction.removes:
        _check_unused(place.cloud, transaction)
    return transaction


def verify(place: CloudPlace, transaction: CloudTransaction) -> ObjectState:
    """``(state, detail, checks)`` of a flavor: ``in-effect`` where the copy exists (or is gone,
    where the transaction removes it), else ``differs``."""
    there = place.cloud.flavor(transaction.copy) is not None
    if there != transaction.removes:
        return "in-effect", "", ()
    return "differs", f"the flavor {transaction.copy_name} is {'there' if there else 'gone'}", ()


def forward(work: CloudWork) -> Result:
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
        return undo(work, str(error), "failed")
    if transaction.removes:
        return Result("applied", f"flavor {transaction.copy_name} is gone")
    detail = f"flavor {transaction.copy_name} exists, with its extra specs"
    resize = f"{client(transaction.target)} server resize --flavor {transaction.copy} SERVER"
    words = f"to move a server to it: {resize}"
    return Result("applied", words, (Check("flavor", "ok", detail),))


def undo(work: CloudWork, reason: str, outcome: Outcome) -> Result:
    """Undo the change: delete the copy, or make it again."""
    cloud, transaction = work.place.cloud, work.transaction

    def is_done() -> bool:
        return (cloud.flavor(transaction.copy) is None) == transaction.removes

    def back() -> None:
        asked = work.notes.latest(Copying, Removing)
        if asked is not None and isinstance(asked.event, Removing) == transaction.removes:
            wait_for_late(work.clock, is_done)  # nobody notes what Nova answers
        _bring(work, there=transaction.removes)

    return undo_one(back, reason, outcome, "flavors are as before")


def _check_unused(cloud: Cloud, transaction: CloudTransaction) -> None:
    """Raises RefusedError if servers use the copy: it cannot be deleted then."""
    if count := cloud.flavor_servers(transaction.copy):
        raise UnitRefusedError(
            f"{count} server{'s use' if count > 1 else ' uses'} the flavor "
            f"{transaction.copy_name}: resize to another one first",
            "in-use",
        )


def _bring(work: CloudWork, *, there: bool) -> None:
    if there:
        _make(work)
    else:
        _remove(work)


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
