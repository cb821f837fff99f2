"""The records of ``vnicaudit.plan/1`` as they stand in the file, and how they are read and written.

In the file a step is flat, whatever it changes; in memory what it changes is a record of its kind
(:data:`vnicaudit.model.plan.Unit`). A plan is edited by hand, so a field that there is none of is
an error, not passed over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Change
from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.owner import name_of, owner_named
from vnicaudit.model.plan import (
    PLAN_SCHEMA,
    DomainUnit,
    FileUnit,
    FlavorUnit,
    Goal,
    GuestView,
    ImageUnit,
    Loss,
    ModeOption,
    NotPlanned,
    ObjectUnit,
    Plan,
    ServerUnit,
    Step,
    Unit,
    UnitStep,
)
from vnicaudit.model.platform_name import PlatformName
from vnicaudit.model.reasons import OPTIONS, Blocked, BlockedCode, NotPlannedCode
from vnicaudit.model.refs import CloudRef, FlavorRef, ImageRef, NicRef, ServerRef
from vnicaudit.reports.report_file import FileNicRef, converted, flat


class CloudPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The object of an OpenStack cloud that a step changes, and what bears on when it may be.

    ``properties`` are what is to be set, by the names that Nova and Glance have for them; None is
    what is to be removed. ``old`` are the same as they were when the step was made; None is what
    was not set.
    """

    object: Literal["server", "image", "flavor"]
    properties: dict[str, str | None]
    old: dict[str, str | None]
    project: str = ""
    host: str | None = None
    zone: str = ""
    groups: tuple[str, ...] = ()
    """Ids of the server groups it is a member of: one member at a time."""
    macs: tuple[str, ...] = ()
    """Of a server: the MAC addresses of the NICs that the change is about."""
    new_name: str = ""
    """Of a flavor: what the new one is called that is made like it. The old one stays."""
    project_name: str = ""
    """What ``project`` is called; empty: not known."""
    image: str = ""
    """Of a server: the id of the image it was made of; empty: not told, or it boots from a
    volume."""
    image_name: str = ""
    """What that is called; empty: not known."""
    flavor: str = ""
    """Of a server: what its flavor is called."""


class ObjectPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The unit that a platform changes by a driver of its own: ``kind`` is the name of the kind of
    its units, ``id`` what its driver knows it by."""

    kind: str
    id: str


class FileStep(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"procedure": "route"}
):
    """One change to one NIC.

    ``target`` is what was named to find it; ``file`` is set for a definition in a file. ``digest``
    is that of the definition the step was made from (:func:`vnicaudit.remedy.digests.digest`):
    the step is refused where that is another by then.
    """

    id: str
    platform: PlatformName
    """``libvirt``: a domain of a live host; ``file``: domain XML in a file; ``openstack``: a
    server (all its NICs), an image or a flavor, named by ``nic.domain`` and ``nic.uuid``."""
    target: str
    nic: FileNicRef
    owner: str
    to: Goal
    rules: tuple[str, ...]
    changes: tuple[Change, ...]
    readiness: str
    safe: bool
    reason: str
    """Why it is safe or unsafe."""
    running: bool
    """The guest runs: the step needs a restart or a hot swap to take effect."""
    modes: tuple[ModeOption, ...]
    digest: str
    diff: str
    guest: GuestView = GuestView()
    losses: tuple[Loss, ...] = ()
    blocked: tuple[str, ...] = ()
    """Why it cannot be applied as it is; empty: it can be."""
    procedure: tuple[str, ...] = ()
    """What to do where the owner keeps the definition: commands and sentences, in order."""
    notes: tuple[str, ...] = ()
    """What else to know: a managed save, a host that could not be looked at."""
    file: str | None = None
    place: str | None = None
    """XPath of the NIC in the file."""
    line: int | None = None
    """Line of the file on which the definition begins."""
    cloud: CloudPart | None = None
    """Of ``openstack`` alone."""
    object: ObjectPart | msgspec.UnsetType = msgspec.UNSET
    """Of platforms that are not this program's own."""
    blocked_codes: tuple[BlockedCode | Literal[""], ...] = ()
    """``blocked`` for machines, one for each; another number: the plan is older than codes, or an
    edit."""
    risk: str = ""
    """What of ``reason`` stands behind no change: what else may do harm."""


class FileNotPlanned(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NIC with findings that is not planned, and why; of a cloud a server, an image or a flavor,
    named by ``nic.domain`` and ``nic.uuid``."""

    nic: FileNicRef
    target: str
    rules: tuple[str, ...]
    reason: str
    object: Literal["nic", "server", "image", "flavor"] = "nic"
    project: str = ""
    """The id of the project it belongs to, of a cloud alone."""
    project_name: str = ""
    """What that is called; empty: not known."""
    code: NotPlannedCode | Literal[""] = ""
    """``reason`` for machines; empty: the plan is older than codes."""
    cause: str = ""
    """``reason`` without what there is to say of an option; empty: the plan is older than this."""
    file: str | None = None
    """The file of the NIC's definition, where that is in one."""
    line: int | None = None
    """Line of the file on which the definition begins."""


class FilePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reviewable file, ``vnicaudit.plan/1``."""

    tool: str
    version: str
    created: str
    to: Goal
    targets: tuple[str, ...]
    steps: tuple[FileStep, ...]
    not_planned: tuple[FileNotPlanned, ...] = msgspec.field(default=(), name="left")
    errors: tuple[str, ...] = ()
    """What could not be read."""
    notes: tuple[str, ...] = ()
    """What else to know of the targets: what this user of a cloud may not see."""
    schema: Literal["vnicaudit.plan/1"] = PLAN_SCHEMA


_READINESS: dict[str, Readiness] = {word: word for word in get_args(Readiness)}
_CLOUD_UNITS: dict[str, type[ServerUnit | ImageUnit | FlavorUnit]] = {
    "server": ServerUnit,
    "image": ImageUnit,
    "flavor": FlavorUnit,
}
_CLOUD_REFS: dict[str, type[CloudRef]] = {
    "server": ServerRef,
    "image": ImageRef,
    "flavor": FlavorRef,
}
_TWO_KINDS = (
    "step {}: a step has either a cloud part or a file, not both: undo your edits, or make a "
    "new plan"
)
_TWO_PARTS = (
    "step {}: a step with an object part has no file and no cloud part: undo your edits, or "
    "make a new plan"
)


def read_plan(plan: FilePlan, name: str) -> Plan:
    """The plan that a file holds; ``name`` is for messages. Raises UsageError for a step that an
    edit made one of two kinds."""
    for step in plan.steps:
        if step.cloud is not None and step.file is not None:
            raise UsageError(f"{name}: {_TWO_KINDS.format(step.id)}")
        if step.object is not msgspec.UNSET and (step.cloud or step.file is not None):
            raise UsageError(f"{name}: {_TWO_PARTS.format(step.id)}")
    return converted(
        plan,
        Plan,
        steps=tuple(map(_step, plan.steps)),
        not_planned=tuple(map(_not_planned, plan.not_planned)),
    )


def written_plan(plan: Plan) -> FilePlan:
    """A plan as its file has it."""
    return converted(
        plan,
        FilePlan,
        steps=tuple(map(_written_step, plan.steps)),
        not_planned=tuple(map(_written_not_planned, plan.not_planned)),
    )


def _step(step: FileStep) -> Step:
    whole = step.cloud if step.nic.index is None else None  # else it is on a port of a server
    found = converted(
        step,
        UnitStep,
        about=_about(step.nic, "nic" if whole is None else whole.object),
        owner=owner_named(step.owner),
        readiness=_READINESS.get(step.readiness, "unknown"),
        unit=_unit(step),
        blocked=tuple(_blocked(step)),
    )
    return found if found.risk else replace(found, risk=_risk_of_old(found))


def _risk_of_old(step: Step) -> str:
    """A plan that is older than ``risk`` has it behind the reasons of changes, in one string with
    them; empty where that begins otherwise, because somebody edited it."""
    begins = f"{step.reason_of_changes}; "
    return step.reason.removeprefix(begins) if step.reason.startswith(begins) else ""


def _not_planned(left: FileNotPlanned) -> NotPlanned:
    about = _about(left.nic, left.object)
    return converted(left, NotPlanned, reason=left.cause or _cause_of_old(left), about=about)


def _cause_of_old(left: FileNotPlanned) -> str:
    """A plan that is older than ``cause`` has what there is to say of an option behind it, in one
    string with it."""
    option = OPTIONS.get(left.code)
    return left.reason.removesuffix(f" ({option})") if option else left.reason


def _blocked(step: FileStep) -> Iterator[Blocked]:
    """With codes where there is one for each: what an edit took away took no code with it."""
    if len(step.blocked_codes) != len(step.blocked):
        return (Blocked("", text) for text in step.blocked)
    return map(Blocked, step.blocked_codes, step.blocked)


def _written_not_planned(one: NotPlanned) -> FileNotPlanned:
    nic, kind = flat(one.about), one.about.kind
    return converted(one, FileNotPlanned, nic=nic, object=kind, reason=one.text, cause=one.reason)


def _about(nic: FileNicRef, kind: Literal["nic", "server", "image", "flavor"]) -> NicRef | CloudRef:
    if kind == "nic":
        return converted(nic, NicRef)
    return _CLOUD_REFS[kind](nic.domain, nic.uuid)


def _unit(step: FileStep) -> Unit:
    if step.cloud is not None:
        return converted(step.cloud, _CLOUD_UNITS[step.cloud.object])
    if step.object is not msgspec.UNSET:
        return converted(step.object, ObjectUnit, shown_under=step.platform)
    return DomainUnit() if step.file is None else FileUnit(step.file, step.place, step.line)


def _written_step(step: Step) -> FileStep:
    return converted(
        step,
        FileStep,
        platform=step.unit.shown_under,
        owner=name_of(step.owner),
        nic=flat(step.about),
        blocked=tuple(one.text for one in step.blocked),
        blocked_codes=tuple(one.code for one in step.blocked),
        **_parts(step.unit),
    )


def _parts(unit: Unit) -> dict[str, object]:
    """Fields of the file that say what is changed; none for a domain."""
    if isinstance(unit, FileUnit):
        return {"file": unit.path, "place": unit.place, "line": unit.line}
    if isinstance(unit, DomainUnit):
        return {}
    if isinstance(unit, ObjectUnit):
        return {"object": converted(unit, ObjectPart)}
    return {"cloud": converted(unit, CloudPart, object=unit.kind)}
