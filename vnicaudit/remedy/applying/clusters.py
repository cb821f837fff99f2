"""Objects of a cluster: patched, and patched back; virtual machines also restarted.

The API server checks each patch without storing it before the journal begins: its schema, its rules
and the rights of this user answer first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import ClassVar, cast

from msgspec.structs import replace

from vnicaudit.errors import GoneError, RefusedError
from vnicaudit.knowledge.kube_changes import may_change, restart_words
from vnicaudit.knowledge.kube_owners import GITOPS, route, way_of
from vnicaudit.model.cluster import ObjectOwner, OwnedObject
from vnicaudit.model.decoding import value_at
from vnicaudit.model.plan import ClusterKind, ClusterUnit, JsonValue, Mode, PatchLine, Step, VmUnit
from vnicaudit.model.runs import UnitState
from vnicaudit.remedy.applying.cluster_work import (
    ASKED,
    ClusterTransaction,
    checked_uid,
    condition,
    here_of,
    instance_checks,
    instance_has,
    is_asked,
    listed,
    to_its_end,
    uid_of,
    version_of,
)
from vnicaudit.remedy.applying.driver import (
    NOTHING_TO_DO,
    BegunUnit,
    PlaceDriver,
    Prepared,
    PrepareRequest,
    UndoRequest,
    failed,
)
from vnicaudit.remedy.applying.journal.events import Begin, Result, UnitRequest, unit_of
from vnicaudit.remedy.cluster_patch import (
    foreign_in,
    guarded_patch,
    inverse,
    open_in,
    patch_diff,
    patch_digest,
)
from vnicaudit.remedy.hypervisor import ClusterObject, ClusterObjects
from vnicaudit.remedy.replacing import UnitRefusedError, check_diff, check_uri, short_digest

_WARNING = "Warning of the API server: {}"
_DRIFT = "it changed since the plan was made: make a new plan ({})"
_ALTERED = (
    "somebody has changed it since: check it, then use --over-edits to set it back anyway ({})"
)
_ONLY_RESTARTED = (
    "this run only restarted it, as it had been changed before: undo the run that changed it, or "
    "change it by hand"
)
_OWNED = "it has another owner since the plan was made ({}): make a new plan. {}"
_ELSEWHERE = "{}; or this is another cluster: it is at {}, and the change is for that at {}"
_OFF = "it does not run ({}): use --mode next-boot, or start it first"


class ClusterDriver(PlaceDriver[ClusterObjects]):
    """Changes objects of clusters, of one kind."""

    kind: ClassVar[ClusterKind]
    unmeasured = "of a cluster"

    @classmethod
    def key(cls, step: Step) -> str:
        """All changes of an object are one unit."""
        part = cast(ClusterUnit, step.unit)
        which = f"{step.target}\n{part.full_name}\n{part.uid}".encode()
        return f"{cls.kind}-{short_digest(which, 24)}"

    @classmethod
    def unit(cls, key: str, steps: tuple[Step, ...]) -> UnitRequest:
        """The object, by its UID."""
        part = cast(ClusterUnit, steps[0].unit)
        groups = part.groups if isinstance(part, VmUnit) else ()
        exclusive = tuple(f"{steps[0].target} {group}" for group in groups)
        made = unit_of(key, steps, cls.kind, part.full_name, exclusive=exclusive)
        return replace(made, uuid=part.uid)

    def check(self, unit: UnitRequest) -> None:
        """Raises RefusedError for a cluster whose kubeconfig may start a program, unless the user
        named it."""
        check_uri(unit.target, self._session.reach.trusted)

    def connected(self, target: str, until: ExitStack) -> ClusterObjects:
        """The cluster, locked against other runs of this machine."""
        place = self._adapters.cluster(target, self._session.deadline)
        key = f"cluster-{short_digest(place.identity().encode(), 24)}"
        self._session.hold(key, target, until)
        return place

    def prepare(
        self, unit: UnitRequest, steps: tuple[Step, ...], request: PrepareRequest
    ) -> Prepared:
        """The patch of all steps, which the API server would accept."""
        part = _part_of(steps)
        found = self._object(unit, part)
        _check_owners(part, self._place(unit).ownership(found))
        try:
            here = here_of(part.patch, found)
        except UnitRefusedError as error:
            raise UnitRefusedError(f"{error}: make a new plan", "drift") from None
        if foreign := [
            one for one in here if value_at(found, one.path) not in (one.before, one.after)
        ]:
            raise UnitRefusedError(_DRIFT.format(listed(foreign, found)), "drift")
        left = open_in(here, found)
        if not left and (request.mode != "restart" or not self._waits(unit, part, here)):
            return NOTHING_TO_DO
        return self._prepared(unit, part, found, left or here, request.mode, only_restarts=not left)

    def _waits(self, unit: UnitRequest, part: ClusterUnit, lines: tuple[PatchLine, ...]) -> bool:
        """True if a guest runs without what its virtual machine has."""
        if self.kind != "kube-vm":
            return False
        instance = self._place(unit).instance(part.namespace, part.name)
        return instance is not None and instance_has(instance, lines) is False

    def prepare_undo(self, unit: UnitRequest, request: UndoRequest) -> Prepared:
        """The inverse patch."""
        made = request.transaction(unit, ClusterTransaction)
        if made.only_restarts:
            raise UnitRefusedError(_ONLY_RESTARTED, "not-begun")
        found = self._object(unit, made)
        try:
            here = here_of(inverse(made.lines), found)
        except UnitRefusedError as error:
            raise UnitRefusedError(str(error), "edited") from None
        foreign = foreign_in(here, found)
        if foreign and not request.over_edits:
            raise UnitRefusedError(_ALTERED.format(listed(foreign, found)), "edited")
        left = tuple(replace(one, before=_known(found, one)) for one in open_in(here, found))
        if not left:
            return NOTHING_TO_DO
        return self._prepared(unit, made, found, left, request.mode, undoes=True)

    def _prepared(
        self, unit: UnitRequest, part: ClusterUnit | ClusterTransaction, found: ClusterObject,
        lines: tuple[PatchLine, ...], mode: Mode, *, undoes: bool = False,
        only_restarts: bool = False,
    ) -> Prepared:  # fmt: skip
        """The transaction, once the server has answered to all of it. ``undoes``: a virtual machine
        that does not run is patched back all the same."""
        place, instance = self._place(unit), None
        if self.kind == "kube-vm":
            if why := next(_unsettled(found), ""):
                raise UnitRefusedError(f"{why}: try again later", "busy")
            instance = place.instance(part.namespace, part.name)
        else:
            mode = "next-boot"
        if mode == "hotswap":
            raise UnitRefusedError("no field of it changes in a running guest", "mode")
        runs = _phase(instance) == "Running"
        if mode == "restart" and (runs or not undoes):
            _check_restart(place, found, instance)
        patch = guarded_patch(open_in(lines, found), part.uid, version_of(found))
        try:
            _found, warnings = place.patch(
                self.kind, part.namespace, part.name, patch, dry_run=True
            )
            if mode == "restart" and runs:
                place.restart(part.namespace, part.name, dry_run=True)
        except RefusedError as error:
            is_same = version_of(self._object(unit, part)) == version_of(found)
            raise UnitRefusedError(str(error), "cluster" if is_same else "drift") from None
        where = f"{part.name} -n {part.namespace}"
        transaction = ClusterTransaction(
            mode, active=runs, start=place.virtctl(f"start {where}"), kind=self.kind, uid=part.uid,
            namespace=part.namespace, name=part.name, lines=lines, version=version_of(found),
            server=place.identity(), instance=uid_of(instance),
            restart=restart_words(
                str(value_at(found, "/spec/runStrategy")),
                lambda verb: place.virtctl(f"{verb} {where}"),
            ),
            agent=instance is not None and condition(instance, "AgentConnected"),
            only_restarts=only_restarts,
        )  # fmt: skip
        return Prepared(transaction, note="; ".join(map(_WARNING.format, warnings)))

    def forward(self, work: BegunUnit) -> Result:
        """Patch the object, or patch it back, and restart it if the mode says so."""
        return to_its_end(work.at(self._place(work.unit), ClusterTransaction))

    def present_state(self, unit: UnitRequest, begin: Begin) -> UnitState:
        """``in-effect`` or ``waiting`` where every field is as the run set it, else ``differs``."""
        made, place = begin.of(ClusterTransaction), self._place(unit)
        found = self._object(unit, made)
        here = here_of(made.lines, found)
        if other := open_in(here, found):
            return UnitState(unit.name, "differs", f"changed since: {listed(other, found)}")
        if self.kind != "kube-vm":
            return UnitState(unit.name, "in-effect")
        instance = place.instance(made.namespace, made.name)
        if instance is None and made.active and made.mode == "restart":
            return UnitState(unit.name, "differs", f"it ran, and does not run now: {made.start}")
        if instance is None:
            return UnitState(unit.name, "waiting", "it does not run: in effect at its next start")
        if uid_of(instance) == made.instance and not instance_has(instance, made.lines):
            return UnitState(unit.name, "waiting", f"until it is restarted: {made.restart}")
        checks = instance_checks(made, instance, made.lines)
        wrong = failed(checks)
        return UnitState(unit.name, "differs" if wrong else "in-effect", wrong, checks)

    def result_if_gone(
        self, unit: UnitRequest, error: GoneError, *, begun: bool, dry_run: bool
    ) -> Result:
        """``gone``: the object was deleted."""
        del unit, begun, dry_run
        return Result("gone", f"{error}: there is nothing left to do")

    def _place(self, unit: UnitRequest) -> ClusterObjects:
        return self._places[unit.target]

    def _object(self, unit: UnitRequest, known: ClusterUnit | ClusterTransaction) -> ClusterObject:
        """The object as it is now. Raises GoneError; RefusedError if this may be another cluster,
        in which it never was."""
        place = self._place(unit)
        try:
            return checked_uid(place.get(known.kind, known.namespace, known.name), known.uid)
        except GoneError as error:
            here = place.identity()
            if here == known.server:
                raise
            raise UnitRefusedError(
                _ELSEWHERE.format(error, here, known.server or "an unknown address"), "drift"
            ) from None


class VmDriver(ClusterDriver):
    """Changes virtual machines."""

    kind = "kube-vm"


class _SourceDriver(ClusterDriver):
    """Changes objects that virtual machines are made from: none is restarted."""

    sources = True
    is_text = True


class PreferenceDriver(_SourceDriver):
    """Changes preferences."""

    kind = "kube-preference"


class NetworkDriver(_SourceDriver):
    """Changes network attachment definitions."""

    kind = "kube-nad"


class ConfigDriver(_SourceDriver):
    """Changes the KubeVirt object."""

    kind = "kube-config"


DRIVERS = (VmDriver, PreferenceDriver, NetworkDriver, ConfigDriver)


def _part_of(steps: tuple[Step, ...]) -> ClusterUnit:
    """Everything that the steps do together. Raises RefusedError if a step would do something other
    than what was reviewed."""
    parts = [cast(ClusterUnit, step.unit) for step in steps]
    lines: dict[str, PatchLine] = {}
    for step, part in zip(steps, parts, strict=True):
        _check_step(step, part)
        for line in part.patch:
            if lines.setdefault(line.path, line) != line:
                raise UnitRefusedError(f"two steps change {line.path} in different ways", "plan")
    return replace(parts[0], patch=tuple(lines.values()))


def _check_step(step: Step, part: ClusterUnit) -> None:
    for line in part.patch:
        if not may_change(part.kind, line.path) or line.before == line.after:
            raise UnitRefusedError(
                f"step {step.id}: {line.path[:200]} is no field that is changed here", "plan"
            )
    if not part.patch or step.digest != patch_digest(step.target, part, step.changes):
        raise UnitRefusedError(
            f"step {step.id}: its object, its patch and its changes do not match: make a new plan",
            "plan",
        )
    check_diff(step, patch_diff(part))


def _check_owners(part: ClusterUnit, found: OwnedObject) -> None:
    """Raises RefusedError if somebody owns the object now who did not when the plan was made, and
    would revert a change."""
    kept = (ObjectOwner(name=GITOPS, mark=mark) for mark in found.marks if mark in part.gitops)
    for owner in (*kept, *found.owners):
        if owner.mark not in part.marks and way_of(owner) not in ("live", "apply"):
            raise UnitRefusedError(_OWNED.format(owner.mark, route(owner)), "owner")


def _known(found: ClusterObject, line: PatchLine) -> JsonValue | None:
    """The present value of a field that is to be set back over somebody's edit."""
    value = value_at(found, line.path)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return value
    raise UnitRefusedError(f"{line.path} has become something else", "edited")


def _phase(instance: ClusterObject | None) -> str:
    return "" if instance is None else str(value_at(instance, "/status/phase"))


def _check_restart(
    place: ClusterObjects, found: ClusterObject, instance: ClusterObject | None
) -> None:
    """Raises RefusedError for a virtual machine that is not restarted as it is."""
    if instance is None or _phase(instance) != "Running":
        state = value_at(found, "/status/printableStatus") or "no instance"
        raise UnitRefusedError(_OFF.format(state), "power")
    if why := next(_hindrances(place, found, instance), ""):
        raise UnitRefusedError(f"{why}: try again later, or use --mode next-boot", "busy")


def _unsettled(found: ClusterObject) -> Iterator[str]:
    """Reasons not to change a virtual machine now: a restore would overwrite the change."""
    if value_at(found, "/metadata/deletionTimestamp"):
        yield "it is being deleted"
    if name := value_at(found, "/status/snapshotInProgress"):
        yield f"the snapshot {name} of it is under way"
    if name := value_at(found, "/status/restoreInProgress"):
        yield f"the restore {name} of it is under way"


def _hindrances(
    place: ClusterObjects, found: ClusterObject, instance: ClusterObject
) -> Iterator[str]:
    """Reasons not to restart a virtual machine now."""
    if condition(instance, "Paused"):
        yield "it is paused"
    if is_asked(found):
        yield ASKED
    if place.is_migrating(instance):
        yield "it is being migrated"
