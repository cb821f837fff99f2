"""The driver for servers, images and flavors of clouds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Generic

from msgspec.structs import replace

from vnicaudit.errors import GoneError, JournalError, SilentError
from vnicaudit.model.plan import (
    CloudUnitT,
    FlavorUnit,
    ImageUnit,
    ServerUnit,
    Step,
    UnitInCloud,
    UnitStep,
)
from vnicaudit.remedy.applying.clouds import flavor, image, prepare_server, server
from vnicaudit.remedy.applying.clouds.nova_manage import Manage, Nodes
from vnicaudit.remedy.applying.clouds.transaction import (
    CloudPlace,
    CloudTransaction,
    CloudWork,
    EarlierRuns,
    Leftovers,
    ObjectActions,
    prepare,
)
from vnicaudit.remedy.applying.driver import (
    Kind,
    Prepared,
    PrepareRequest,
    UndoRequest,
    UnitState,
)
from vnicaudit.remedy.applying.history import may_be_off
from vnicaudit.remedy.applying.journal.events import (
    Begin,
    Result,
    Undoing,
    UnitRequest,
    unit_of,
)
from vnicaudit.remedy.applying.journal.past_run import PastRun
from vnicaudit.remedy.applying.session import Session
from vnicaudit.remedy.applying.verifying import BegunUnit
from vnicaudit.remedy.hypervisor import Cloud
from vnicaudit.remedy.replacing import UnitRefusedError, short_digest


class Clouds:
    """The clouds that one command reaches, and the access to them beside their APIs."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._adapters = session.adapters
        self._open: dict[str, Cloud] = {}
        reach, connect = session.reach, session.adapters.connect
        self._manage = Manage(reach.manage, reach.jobs)
        self._nodes = Nodes(reach.libvirt, session.deadline, session.stack, connect)

    def open(self, target: str) -> None:
        """Connect to a cloud, and keep other runs away from it."""
        if target in self._open:
            return
        name = target.partition(":")[2]
        cloud = self._adapters.cloud(name, deadline=self._session.deadline)
        self._session.closing(cloud.close)
        self._session.hold(cloud.key, cloud.name)
        self._open[target] = cloud

    def place(self, target: str) -> CloudPlace:
        """The connection to the cloud of that name."""
        cloud, thorough = self._open[target], self._session.holds
        return CloudPlace(cloud, self._manage, self._nodes, self._adapters, thorough=thorough)


class CloudDriver(Generic[CloudUnitT]):
    """Changes objects of one kind."""

    def __init__(self, clouds: Clouds, actions: ObjectActions[CloudUnitT]) -> None:
        self._clouds = clouds
        self._actions = actions
        self._earlier: EarlierRuns | None = None

    def check(self, unit: UnitRequest) -> None:
        """Does nothing: a cloud is reached by its name in the user's own clouds.yaml."""

    def open(self, unit: UnitRequest) -> None:
        """Connect to its cloud."""
        self._clouds.open(unit.target)

    def prepare(
        self,
        unit: UnitRequest,
        steps: tuple[UnitStep[CloudUnitT], ...],
        request: PrepareRequest,
    ) -> Prepared:
        """The change that sets the properties of the unit's step."""
        place, leftovers = self._clouds.place(unit.target), self._leftovers(unit, request)
        return _prepared(prepare(unit, steps, place, request.mode, leftovers, self._actions))

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that restores the properties from before the run. Raises RefusedError if
        only some NICs of a server are requested: all of them change at once."""
        transaction = request.transaction(unit, CloudTransaction)
        whole = next(one for one in request.run.request.units if one.key == unit.key)
        if set(unit.macs) != set(whole.macs):
            raise UnitRefusedError(
                "all NICs of a server change at once: roll it back without --nic", "whole-only"
            )
        back = replace(transaction.inverse(), mode=request.mode)
        place, leftovers = self._clouds.place(unit.target), self._leftovers(unit, request)
        return _prepared(
            self._actions.prepare_undo(back, place, leftovers, over_edits=request.over_edits)
        )

    def prepare_restore(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The change that undoes the run, as :meth:`prepare_undo` makes it: a run saves only
        properties of a cloud object."""
        return self.prepare_undo(unit, request)

    def can_restore(self, unit: UnitRequest, run: PastRun) -> bool:
        """True if the run began to change the unit."""
        return run.has_begun(unit.key)

    def forward(self, work: BegunUnit) -> Result:
        """Set the properties and check the result."""
        with _hinting(work):
            return self._actions.forward(self._at_work(work))

    def undo(self, work: BegunUnit, undoing: Undoing) -> Result:
        """Restore the properties from before the run."""
        with _hinting(work):
            return self._actions.undo(self._at_work(work), undoing.reason, undoing.outcome)

    def verify(self, unit: UnitRequest, begin: Begin, back: Mapping[str, str]) -> UnitState:
        """The state of the unit now, compared with the transaction of the run."""
        del back
        place, transaction = (
            self._clouds.place(unit.target),
            begin.of(CloudTransaction),
        )
        return UnitState(unit.name, *self._actions.verify(place, transaction))

    def explain(self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool) -> Result:
        """The result ``gone``: Nova reports that the unit was deleted."""
        del unit, begun
        return Result("gone", str(error) if dry_run else f"{error}: there is nothing left to do")

    def _at_work(self, work: BegunUnit) -> CloudWork:
        return work.at(self._clouds.place(work.unit.target), CloudTransaction)

    def _leftovers(self, unit: UnitRequest, request: PrepareRequest | UndoRequest) -> Leftovers:
        if self._earlier is None:
            self._earlier = EarlierRuns(unit.kind, request.past)
        return self._earlier.leftovers(unit.uuid)


def _prepared(transaction: CloudTransaction | None) -> Prepared:
    off = transaction is not None and transaction.active and transaction.state != "ACTIVE"
    note = "an earlier run left it off: it will be started at the end" if off else ""
    return Prepared(transaction, keeps_texts=False, note=note)


@contextmanager
def _hinting(work: BegunUnit) -> Iterator[None]:
    """If the work ends at once, add which server may be off because of it."""
    try:
        yield
    except SilentError as error:
        raise SilentError(_with_hint(work, error)) from error
    except JournalError as error:
        raise JournalError(_with_hint(work, error)) from error


def _with_hint(work: BegunUnit, error: Exception) -> str:
    """The error's message; if the server may be off, with its name and how to start it by hand."""
    hint = may_be_off(work.notes.entries())
    return f"{error}; {work.unit.name}: {hint}" if hint else str(error)


def _source(unit_type: type[CloudUnitT], actions: ObjectActions[CloudUnitT]) -> Kind[CloudUnitT]:
    """A kind of objects from which servers are created later."""

    def unit(key: str, steps: tuple[UnitStep[CloudUnitT], ...]) -> UnitRequest:
        return unit_of(key, steps, unit_type.kind, _name(steps[0]), macs=())

    return Kind(
        unit_type.kind,
        unit_type,
        _key,
        unit,
        lambda session: CloudDriver(session.once(Clouds), actions),
        sources=True,
        steps_called=_CALLED,
    )


def _server(key: str, steps: tuple[UnitStep[ServerUnit], ...]) -> UnitRequest:
    first, unit = steps[0], steps[0].unit
    return unit_of(key, steps, unit.kind, _name(first), macs=unit.macs, exclusive=unit.groups)


def _key(step: UnitStep[UnitInCloud]) -> str:
    """A digest, as ids of flavors may contain anything."""
    which = f"{step.target}\n{step.about.id}".encode()
    return f"{step.unit.kind}-{short_digest(which, 24)}"


def _name(step: Step) -> str:
    return step.about.name or step.about.id or ""


_CALLED = "of a cloud"
_SERVER_ACTIONS = ObjectActions(
    prepare_server.prepare,
    prepare_server.prepare_undo,
    server.forward,
    server.undo,
    server.verify,
)
SERVER = Kind(
    ServerUnit.kind,
    ServerUnit,
    _key,
    _server,
    lambda session: CloudDriver(session.once(Clouds), _SERVER_ACTIONS),
    by_controller=True,
    exclusive_called="server group",
    steps_called=_CALLED,
)
IMAGE = _source(
    ImageUnit,
    ObjectActions(image.prepare, image.prepare_undo, image.forward, image.undo, image.verify),
)
FLAVOR = _source(
    FlavorUnit,
    ObjectActions(flavor.prepare, flavor.prepare_undo, flavor.forward, flavor.undo, flavor.verify),
)
CLOUD_KINDS = (SERVER, IMAGE, FLAVOR)
"""Servers, images and flavors."""
