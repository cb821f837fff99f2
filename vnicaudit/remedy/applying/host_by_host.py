"""Open the hosts of a fleet one by one, each when its turn comes."""

from __future__ import annotations

from collections.abc import Iterable

from vnicaudit.errors import SilentError, TargetError, VnicauditError
from vnicaudit.remedy.applying.beside import OtherRuns
from vnicaudit.remedy.applying.driver import Prepared
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.journal.run_request import UnitRequest
from vnicaudit.remedy.applying.journal.state import HeldError, StateFolder
from vnicaudit.remedy.applying.kinds import Drivers
from vnicaudit.remedy.applying.runner import Preparing, Tell
from vnicaudit.remedy.unit_refusal import UnitRefusedError


class HostByHost:
    """Prepares the change of a unit after opening its host. A host that cannot be reached, stops
    answering before anything is started, or is locked by another run affects only its own units.
    ``others``: runs that may have left something half done there; None: nothing new is started."""

    def __init__(self, preparing: Preparing, others: OtherRuns | None) -> None:
        self._preparing = preparing
        self._others = others

    def __call__(self, unit: UnitRequest, drivers: Drivers) -> Prepared:
        try:
            drivers.open((unit,))
        except HeldError as error:
            raise UnitRefusedError(str(error), "held") from None
        except (TargetError, SilentError) as error:
            raise _unreachable(error) from None
        if self._others is not None:
            self._others.refuse_beside(unit)
        try:
            return self._preparing(unit, drivers)
        except SilentError as error:
            drivers.give_up(unit, error)
            raise _unreachable(error) from None


def open_reachable(
    units: Iterable[UnitRequest], drivers: Drivers, errors: tuple[type[VnicauditError], ...]
) -> tuple[list[UnitRequest], VnicauditError | None]:
    """``(units, error)``: the units whose host could be opened, and why the first other one could
    not, which must not leave guests of other hosts as they are. ``errors``: those that concern only
    one host. Raises the first error if no host could be opened."""
    reached: list[UnitRequest] = []
    first: VnicauditError | None = None
    by_place: dict[tuple[str, str], list[UnitRequest]] = {}
    for unit in units:
        by_place.setdefault((unit.kind, unit.target), []).append(unit)
    for there in by_place.values():
        try:
            drivers.open(there)
        except errors as error:
            first = first or error
        else:
            reached += there
    if first is not None and not reached:
        raise first
    return reached, first


def open_begun(run: PastRun, drivers: Drivers, meanwhile: str) -> None:
    """Open the hosts where the run left a unit half done: work resumes there first. ``meanwhile``:
    how to change other units while one of these hosts is down. Raises TargetError, SilentError and
    HeldError."""
    for unit in run.request.units:
        if not run.is_open(unit.key):
            continue
        words = f"; {unit.name} is half changed there: repeat the command when the host answers; "
        try:
            drivers.open((unit,))
        except TargetError as error:
            message = f"{error.message}{words}{meanwhile}"
            raise TargetError(message, file=error.file, failure=error.failure) from None
        except SilentError as error:
            raise SilentError(f"{error}{words}{meanwhile}") from None


def open_locked(run: PastRun, drivers: Drivers, state: StateFolder, tell: Tell) -> None:
    """Open the hosts of a run that a killed process left locked and where nothing is left to do:
    their locks are removed when they are left. ``tell`` is told of those that do not answer."""
    for target, unit in {unit.target: unit for unit in run.request.units}.items():
        if not state.may_be_locked(target):
            continue
        try:
            drivers.open((unit,))
        except HeldError:  # by a living process, or by somebody else
            continue
        except (TargetError, SilentError) as error:
            tell(
                unit.place, f"{_MAY_BE_LOCKED}: {_words(error)}; repeat the command when it answers"
            )


_MAY_BE_LOCKED = "an interrupted run may have left it locked"


def _unreachable(error: TargetError | SilentError) -> UnitRefusedError:
    return UnitRefusedError(f"its host does not answer: {_words(error)}", "unreachable")


def _words(error: TargetError | SilentError) -> str:
    return error.message if isinstance(error, TargetError) else str(error)
