"""A step of a plan -> a transaction, after checking the present state. Nothing is changed here."""

from __future__ import annotations

from vnicaudit.model.plan import CloudUnitT, Mode, UnitInCloud, UnitStep
from vnicaudit.remedy.applying.clouds.leftovers import Leftovers
from vnicaudit.remedy.applying.clouds.object_actions import ObjectActions
from vnicaudit.remedy.applying.clouds.transaction import CloudTransaction
from vnicaudit.remedy.applying.clouds.work import CloudPlace
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.digests import kept_digest
from vnicaudit.remedy.planning.cloud.properties import diff
from vnicaudit.remedy.unit_refusal import UnitRefusedError


def prepare(
    unit: UnitRequest,
    steps: tuple[UnitStep[CloudUnitT], ...],
    place: CloudPlace,
    mode: Mode,
    leftovers: Leftovers,
    actions: ObjectActions[CloudUnitT],
) -> CloudTransaction | None:
    """The transaction of the one step on a unit; None: the unit has all of it already. Raises
    RefusedError with the reason if the change is not started, ActionError if the state cannot be
    determined."""
    if len(steps) > 1:
        raise UnitRefusedError(
            "the plan must have exactly one step for it, with the properties to set", "plan"
        )
    first = steps[0]
    part = first.unit
    _check_step(first)
    transaction = CloudTransaction(
        unit.key, first.about.name or first.about.id or "", first.target, (first.id,), mode,
        object=part.kind, id=first.about.id or "",
        before=dict(part.old), goal=dict(part.properties), back=dict(part.old),
    )  # fmt: skip
    return actions.prepare(transaction, first, place, leftovers)


def _check_step(step: UnitStep[UnitInCloud]) -> None:
    """Raises RefusedError if a step would do something other than what was reviewed."""
    part, name = step.unit, step.about.name or step.about.id or ""
    if set(part.old) != set(part.properties) or not part.properties:
        raise UnitRefusedError(
            f"step {step.id}: its properties do not match its changes: make a new plan", "plan"
        )
    made_from = kept_digest(part.kind, step.about.id, part.old)
    if made_from != step.digest or diff(name, part.old, part.properties) != step.diff:
        raise UnitRefusedError(
            f"step {step.id}: the change does not match its diff: make a new plan",
            "plan",
        )
