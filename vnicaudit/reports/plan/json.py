"""``vnicaudit.plan/1``: the file to review, edit and apply."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal, get_args

import msgspec

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import (
    Change,
    PlatformName,
    Readiness,
    Ref,
    name_of,
    owner_named,
)
from vnicaudit.model.plan import (
    PLAN_SCHEMA,
    Blocked,
    BlockedCode,
    DomainUnit,
    FileUnit,
    FlavorUnit,
    Goal,
    GuestView,
    ImageUnit,
    Loss,
    ModeOption,
    NotPlanned,
    NotPlannedCode,
    Plan,
    ServerUnit,
    Step,
    Unit,
    UnitStep,
)
from vnicaudit.reports.report_file import FileNicRef, converted, flat, malformed, mismatch
from vnicaudit.reports.safe import encode

# The records of ``vnicaudit.plan/1`` as stored in the file, and how they are read and written.
#
# In the file a step is flat, whatever it changes; in memory, the changed object is a record of its
# kind (:data:`vnicaudit.model.plan.Unit`). A plan is edited by hand, so an unknown field is an
# error, not ignored.


class CloudPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The object of an OpenStack cloud changed by a step, and facts that decide when it may be
    changed.

    ``properties``: values to set, by their names in Nova and Glance; None: remove it. ``old``: the
    values when the step was made; None: not set.
    """

    object: Literal["server", "image", "flavor"]
    properties: dict[str, str | None]
    old: dict[str, str | None]
    project: str = ""
    host: str | None = None
    zone: str = ""
    groups: tuple[str, ...] = ()
    """Ids of the server groups it belongs to: their members are changed one at a time."""
    macs: tuple[str, ...] = ()
    """For a server: MAC addresses of the NICs that the change is about."""
    new_name: str = ""
    """For a flavor: name of the new flavor to create from it. The old one stays."""
    project_name: str = ""
    """Name of ``project``; empty: not known."""
    image: str = ""
    """For a server: id of its image; empty: not shown by the cloud, or it boots from a volume."""
    image_name: str = ""
    """Name of the image; empty: not known."""
    flavor: str = ""
    """For a server: name of its flavor."""


class FileStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change to one NIC.

    ``target``: the target in which it was found. ``file``: set for a definition in a file.
    ``digest``: digest of the definition from which the step was made
    (:func:`vnicaudit.remedy.replacing.digest`); the step is refused if the definition has changed
    since.
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
    """Why the step is safe or unsafe."""
    running: bool
    """True if the guest is running: the step needs a restart or a hot swap to take effect."""
    modes: tuple[ModeOption, ...]
    digest: str
    diff: str
    guest: GuestView = GuestView()
    losses: tuple[Loss, ...] = ()
    blocked: tuple[str, ...] = ()
    """Reasons why it cannot be applied; empty: it can be."""
    procedure: tuple[str, ...] = ()
    """What to do if the owner keeps the definition: commands and sentences, in order."""
    notes: tuple[str, ...] = ()
    """Notes: a managed save, a host that could not be checked."""
    file: str | None = None
    place: str | None = None
    """XPath of the NIC in the file."""
    line: int | None = None
    """Line of the file on which the definition starts."""
    cloud: CloudPart | None = None
    """For ``openstack`` only."""
    blocked_codes: tuple[BlockedCode | Literal[""], ...] = ()
    """Codes for ``blocked``, one for each. If the number differs, the plan was edited."""
    risk: str = ""
    """The part of ``reason`` that belongs to no change: what else may do harm."""


class FileNotPlanned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A NIC with findings for which nothing is planned, and why. In a cloud: a server, an image or
    a flavor, named by ``nic.domain`` and ``nic.uuid``."""

    nic: FileNicRef
    target: str
    rules: tuple[str, ...]
    reason: str
    object: Literal["nic", "server", "image", "flavor"] = "nic"
    project: str = ""
    """For clouds: id of the project it belongs to."""
    project_name: str = ""
    """Name of that project; empty: not known."""
    code: NotPlannedCode | Literal[""] = ""
    """Code for ``reason``."""
    cause: str
    """``reason`` without the advice about an option."""
    file: str | None = None
    """The file of the NIC's definition; None: it is not in a file."""
    line: int | None = None
    """Line of the file on which the definition starts."""


class FilePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file to review, ``vnicaudit.plan/1``."""

    tool: str
    version: str
    created: str
    to: Goal
    targets: tuple[str, ...]
    steps: tuple[FileStep, ...]
    not_planned: tuple[FileNotPlanned, ...] = ()
    errors: tuple[str, ...] = ()
    """Targets and files that could not be read."""
    notes: tuple[str, ...] = ()
    """Notes on the targets, such as objects of a cloud that this user may not see."""
    schema: Literal["vnicaudit.plan/1"] = PLAN_SCHEMA


_READINESS: dict[str, Readiness] = {word: word for word in get_args(Readiness)}
_CLOUD_UNITS: dict[str, type[ServerUnit | ImageUnit | FlavorUnit]] = {
    "server": ServerUnit,
    "image": ImageUnit,
    "flavor": FlavorUnit,
}
_TWO_KINDS = (
    "step {}: a step has either a cloud part or a file, not both: undo your edits, or make a "
    "new plan"
)


def read_plan(plan: FilePlan, name: str) -> Plan:
    """The plan in a file; ``name`` is used in messages. Raises UsageError for a step that was
    edited into two kinds at once."""
    for step in plan.steps:
        if step.cloud is not None and step.file is not None:
            raise UsageError(f"{name}: {_TWO_KINDS.format(step.id)}")
    return converted(
        plan,
        Plan,
        steps=tuple(map(_step, plan.steps)),
        not_planned=tuple(map(_not_planned, plan.not_planned)),
    )


def written_plan(plan: Plan) -> FilePlan:
    """A plan in the form of its file."""
    return converted(
        plan,
        FilePlan,
        steps=tuple(map(_written_step, plan.steps)),
        not_planned=tuple(map(_written_not_planned, plan.not_planned)),
    )


def _step(step: FileStep) -> Step:
    # otherwise it is about a port of a server
    whole = step.cloud if step.nic.index is None else None
    return converted(
        step,
        UnitStep,
        about=_about(step.nic, "nic" if whole is None else whole.object),
        owner=owner_named(step.owner),
        readiness=_READINESS.get(step.readiness, "unknown"),
        unit=_unit(step),
        blocked=tuple(_blocked(step)),
    )


def _not_planned(left: FileNotPlanned) -> NotPlanned:
    about = _about(left.nic, left.object)
    return converted(left, NotPlanned, reason=left.cause, about=about)


def _blocked(step: FileStep) -> Iterator[Blocked]:
    """Reasons with their codes, if there is one code for each: removing a reason by hand does not
    remove its code."""
    if len(step.blocked_codes) != len(step.blocked):
        return (Blocked("", text) for text in step.blocked)
    return map(Blocked, step.blocked_codes, step.blocked)


def _written_not_planned(one: NotPlanned) -> FileNotPlanned:
    nic, kind = flat(one.about), one.about.kind
    return converted(one, FileNotPlanned, nic=nic, object=kind, reason=one.text, cause=one.reason)


def _about(nic: FileNicRef, kind: Literal["nic", "server", "image", "flavor"]) -> Ref:
    if kind == "nic":
        return Ref(kind, nic.domain, nic.uuid, nic.mac, nic.index, nic.target_dev)
    return Ref(kind, nic.domain, nic.uuid)


def _unit(step: FileStep) -> Unit:
    if step.cloud is not None:
        return converted(step.cloud, _CLOUD_UNITS[step.cloud.object])
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
    """Fields of the file that identify the changed object; none for a domain."""
    if isinstance(unit, FileUnit):
        return {"file": unit.path, "place": unit.place, "line": unit.line}
    if isinstance(unit, DomainUnit):
        return {}
    return {"cloud": converted(unit, CloudPart, object=unit.kind)}


MAX_BYTES = 256 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_WANTED = "a plan is needed, as `vnicaudit plan -o FILE` writes it"
_VERSIONED = re.compile(r"vnicaudit\.plan/\w+")

_Keys = dict[str, msgspec.Raw]


def to_json(plan: Plan) -> bytes:
    """The file: ``schema`` first, then the fields in the order of the records, indented, so that it
    can be read, edited and compared line by line. Bytes of a path that are not UTF-8 cannot be
    written in JSON and become visible escapes."""
    ordered = {"schema": PLAN_SCHEMA, **msgspec.to_builtins(written_plan(plan))}
    return f"{msgspec.json.format(encode(ordered), indent=2)}\n".encode()


def from_json(data: bytes, name: str) -> Plan:
    """The plan in a file's content; ``name`` is used in messages.

    It is enough to read ``MAX_BYTES`` plus one byte of the file. Raises UsageError, with the place
    in the file, for anything that is not a plan of this version: an unknown field, two steps with
    the same id, a file that is cut off.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"{name}: larger than {MAX_BYTES >> 20} MiB: not a plan")
    data = data.removeprefix(_BOM)
    if not data.strip():
        raise UsageError(f"{name}: empty: not a plan")
    try:
        data.decode()  # versions of msgspec tell it in different ways
        return _plan(data, name)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: not a plan: {mismatch(error)}") from None
    except msgspec.DecodeError as error:
        wanted = "" if data.lstrip().startswith(b"{") else f"; {_WANTED}"
        raise UsageError(malformed(data, name, error) + wanted) from None
    except UnicodeDecodeError:
        raise UsageError(f"{name}: not UTF-8: not a plan") from None
    except RecursionError:
        raise UsageError(f"{name}: nested too deeply: not a plan") from None


def _plan(data: bytes, name: str) -> Plan:
    schema = json_as(data, _SchemaHead).schema
    if schema != PLAN_SCHEMA:
        raise UsageError(f"{name}: {_other_schema(schema)}")
    plan = json_as(data, FilePlan)
    number = next((n for n, step in enumerate(plan.steps) if "\0" in (step.file or "")), None)
    if number is not None:
        raise UsageError(f"{name}: not a plan: steps[{number}].file: a file name with a zero byte")
    unknown = next(_unknown(json_as(data, _Inner)), None)
    if unknown:
        raise UsageError(f"{name}: not a plan: {unknown}")
    twice = [step for step, number in Counter(one.id for one in plan.steps).items() if number > 1]
    if twice:
        raise UsageError(f"{name}: more than one step has the id {twice[0]!r}")
    return read_plan(plan, name)


class _SchemaHead(msgspec.Struct):
    schema: str


class _InnerStep(msgspec.Struct):
    nic: _Keys
    changes: tuple[_Keys, ...]


class _InnerNotPlanned(msgspec.Struct):
    nic: _Keys


class _Inner(msgspec.Struct):
    """The records of a plan that are used in reports too. Reports may get new fields, so these
    records ignore unknown ones; in a plan, unknown fields are checked separately."""

    steps: tuple[_InnerStep, ...]
    not_planned: tuple[_InnerNotPlanned, ...] = ()


def _unknown(plan: _Inner) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        yield from _foreign(step.nic, FileNicRef, f"steps[{number}].nic")
        for at, change in enumerate(step.changes):
            yield from _foreign(change, Change, f"steps[{number}].changes[{at}]")
    for number, left in enumerate(plan.not_planned):
        yield from _foreign(left.nic, FileNicRef, f"not_planned[{number}].nic")


def _foreign(given: Mapping[str, object], record: type[msgspec.Struct], path: str) -> Iterator[str]:
    for key in given:
        if key not in record.__struct_fields__:
            # in the words that msgspec uses for the other records
            yield f"{path}: Object contains unknown field `{key}`"


def _other_schema(schema: str) -> str:
    if _VERSIONED.fullmatch(schema):
        return (
            f"a plan of another version, {schema}; this vnicaudit reads {PLAN_SCHEMA}: plan again"
        )
    return f"not a plan: its schema is {schema!r}; a plan is {PLAN_SCHEMA}"
