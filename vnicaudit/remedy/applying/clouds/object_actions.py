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
"""Nothing more can be done then: the cloud does not answer, or it could not be noted."""

ObjectState = tuple[Literal["in-effect", "waiting", "differs"], str, tuple[Check, ...]]


class PrepareUndo(Protocol):
    """Makes a transaction of one that was turned round: what undoes it; None: it is undone
    already."""

    def __call__(
        self,
        transaction: CloudTransaction,
        place: CloudPlace,
        leftovers: Leftovers,
        *,
        over_edits: bool,
    ) -> CloudTransaction | None:
        """``over_edits``: also where somebody changed it since."""


class ObjectActions(msgspec.Struct, Generic[CloudUnitT], frozen=True):
    """How objects of one kind are changed. Each raises ActionError where something cannot be told
    or done, RefusedError with why it is not begun. ``prepare`` completes the transaction of a step
    (None: all of it is so already), ``verify`` says how it is now, and why."""

    prepare: Callable[
        [CloudTransaction, UnitStep[CloudUnitT], CloudPlace, Leftovers], CloudTransaction | None
    ]
    prepare_undo: PrepareUndo
    forward: Callable[[CloudWork], Result]
    undo: Callable[[CloudWork, str, Outcome], Result]
    verify: Callable[[CloudPlace, CloudTransaction], ObjectState]


def undo_one(back: Callable[[], None], reason: str, outcome: Outcome, as_before: str) -> Result:
    """How bringing an image or a flavor back ends: no guest is concerned, so ``back`` does all of
    it. ``as_before`` says what is as it was then. Raises what ends the run."""
    try:
        back()
    except ENDS_THE_RUN:
        raise
    except VnicauditError as error:
        why = f"{reason}; not everything could be undone: {error}"
        return Result("failed", why, undone=False)
    return Result(outcome, f"{reason}; {as_before}")
