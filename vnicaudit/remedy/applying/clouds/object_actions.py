"""The actions on each kind of object in a cloud: servers, images and flavors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, Literal, Protocol

import msgspec

from vnicaudit.errors import JournalError, SilentError, VnicauditError
from vnicaudit.model.plan import CloudUnitT, UnitStep
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.leftovers import Leftovers
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.applying.clouds.work import CloudPlace, CloudWork
from vnicaudit.remedy.applying.journal.result import Result

DRIFT = "it changed since the plan was made: make a new plan"
EDITED = (
    "somebody has changed it since: check it, then use --over-edits to put the property back anyway"
)

ENDS_THE_RUN = (SilentError, JournalError)
"""Errors that end the run: the cloud does not answer, or an action could not be recorded."""

ObjectState = tuple[Literal["in-effect", "waiting", "differs"], str, tuple[Check, ...]]


class PrepareUndo(Protocol):
    """Makes the transaction that undoes another one, from the inverse of that; None: it is undone
    already."""

    def __call__(
        self,
        transaction: CloudTransaction,
        place: CloudPlace,
        leftovers: Leftovers,
        *,
        over_edits: bool,
    ) -> CloudTransaction | None:
        """``over_edits``: undo it even if somebody changed the object since."""


class ObjectActions(msgspec.Struct, Generic[CloudUnitT], frozen=True):
    """The actions on objects of one kind. Each raises ActionError if something cannot be determined
    or done, RefusedError with the reason if the change is not started. ``prepare`` completes the
    transaction of a step (None: the object has all of it already), ``verify`` tells the present
    state, and why."""

    prepare: Callable[
        [CloudTransaction, UnitStep[CloudUnitT], CloudPlace, Leftovers], CloudTransaction | None
    ]
    prepare_undo: PrepareUndo
    forward: Callable[[CloudWork], Result]
    undo: Callable[[CloudWork, str, Outcome], Result]
    verify: Callable[[CloudPlace, CloudTransaction], ObjectState]


def undo_one(back: Callable[[], None], reason: str, outcome: Outcome, as_before: str) -> Result:
    """The result of undoing the change of an image or a flavor. No guest is concerned, so ``back``
    does all the work. ``as_before``: the words for what is as before then. Raises errors that end
    the run."""
    try:
        back()
    except ENDS_THE_RUN:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; {as_before}")
