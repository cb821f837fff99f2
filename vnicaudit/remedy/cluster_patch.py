"""Patches of objects of a cluster: as a guarded JSON patch (RFC 6902), and as text to review.

Lists of custom resources are atomic: a merge patch would replace all interfaces of a virtual
machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from vnicaudit.knowledge.kube_changes import in_list
from vnicaudit.model.decoding import objects_at, text_at, value_at
from vnicaudit.model.finding import Change
from vnicaudit.model.plan import ClusterUnit, JsonValue, PatchLine
from vnicaudit.remedy.hypervisor import ClusterObject
from vnicaudit.remedy.replacing import digest

Operation = dict[str, object]
"""One operation of a JSON patch."""


def inverse(lines: Iterable[PatchLine]) -> tuple[PatchLine, ...]:
    """The lines that undo these."""
    return tuple(replace(one, before=one.after, after=one.before) for one in reversed((*lines,)))


def json_patch(lines: Iterable[PatchLine]) -> list[Operation]:
    """The operations, each after tests of the old value and of the name of the entry that it is in;
    a server (or Kustomize) refuses all of them if one test fails."""
    return [each for line in lines for each in _operations(line)]


def guarded_patch(lines: Iterable[PatchLine], uid: str, version: str) -> list[Operation]:
    """The operations, refused also unless the object is that of this UID, in this version."""
    known = {"/metadata/uid": uid, "/metadata/resourceVersion": version}
    return [*(_test(path, value) for path, value in known.items()), *json_patch(lines)]


def _operations(line: PatchLine) -> Iterator[Operation]:
    if line.name and (place := in_list(line.path)) is not None:
        yield _test(f"{place[0]}/{place[1]}/name", line.name)
    if line.before is not None:
        yield _test(line.path, line.before)
    if line.after is None:
        yield {"op": "remove", "path": line.path}
    else:
        op = "add" if line.before is None else "replace"
        yield {"op": op, "path": line.path, "value": line.after}


def _test(path: str, value: JsonValue) -> Operation:
    return {"op": "test", "path": path, "value": value}


def open_in(lines: Iterable[PatchLine], found: ClusterObject) -> tuple[PatchLine, ...]:
    """The lines whose field is not as ``after``."""
    return tuple(one for one in lines if value_at(found, one.path) != one.after)


def foreign_in(lines: Iterable[PatchLine], found: ClusterObject) -> tuple[PatchLine, ...]:
    """The lines whose field is neither as ``before`` nor as ``after``."""
    return tuple(one for one in open_in(lines, found) if value_at(found, one.path) != one.before)


def located(lines: Iterable[PatchLine], found: ClusterObject) -> tuple[PatchLine, ...] | None:
    """The lines with the present index of the entry that each is in, as entries before it may have
    come or gone; None if there is no entry, or more than one, of that name."""
    moved = []
    for line in lines:
        if line.name and (place := in_list(line.path)) is not None:
            names = [text_at(each, "/name") for each in objects_at(found, place[0])]
            if names.count(line.name) != 1:
                return None
            line = replace(line, path=f"{place[0]}/{names.index(line.name)}/{place[2]}")
        moved.append(line)
    return tuple(moved)


def patch_diff(unit: ClusterUnit) -> str:
    """The changed fields, one line for each old and new value, as JSON."""
    lines = [f"--- {unit.full_name}", f"+++ {unit.full_name}"]
    for one in unit.patch:
        where = f" ({one.name})" if one.name else ""
        lines.append(f"@@ {one.path}{where} @@")
        lines += [
            f"{sign}{msgspec.json.encode(value, order='deterministic').decode()}"
            for sign, value in (("-", one.before), ("+", one.after))
            if value is not None
        ]
    return "".join(f"{line}\n" for line in lines)


def patch_digest(target: str, unit: ClusterUnit, changes: tuple[Change, ...]) -> str:
    """The digest of a step on an object of a cluster: of all that is done, and of its words for
    people, who confirm these."""
    return digest(msgspec.json.encode((target, unit, changes), order="deterministic"))
