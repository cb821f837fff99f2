"""Read manifests into domains and preferences.

A key that occurs twice is an error if a verdict depends on it, because it is unknown which one was
meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.report import NotJudged, ReadError
from vnicaudit.platforms.kubevirt import preferences
from vnicaudit.platforms.kubevirt.machines import domain_of
from vnicaudit.platforms.kubevirt.objects import (
    MACHINE_GROUPS,
    VM_SPEC,
    VMI_SPEC,
    Object,
    objects_of,
)
from vnicaudit.platforms.kubevirt.references import Referred, in_folder
from vnicaudit.text.yaml_nodes import Mapping, Node, Scalar, Sequence, YamlDocument, YamlPlace


def read_bytes(
    data: bytes, *, target: str, file: str | None
) -> Iterator[Domain | Preference | ReadError | NotJudged]:
    """Every virtual machine and every preference of a file, in order, and errors for parts that
    could not be read. Raises TargetError if nothing could be read."""
    name = file or target
    here = Referred({}, {}, {})
    found: list[Object] = []
    for item in objects_of(data, name):
        if isinstance(item, TargetError):
            yield ReadError(item.message, name, item.line)
            continue
        if isinstance(item, NotJudged):
            yield item
            continue
        here.add(item, target)
        found.append(item)
    for item in found:
        is_preference = item.kind in preferences.KINDS and item.group == preferences.GROUP
        is_machine = item.kind in VMI_SPEC and item.group in MACHINE_GROUPS
        if is_preference or is_machine:
            errors = [*ambiguous(item), misplaced(item) if is_machine else None]
            yield from (ReadError(each.message, name, each.line) for each in errors if each)
        if is_preference:
            yield preferences.preference_of(item, target)
        elif is_machine:
            domain = domain_of(item, _references(here, name), target)
            if domain is not None:
                yield domain


def _references(here: Referred, file: str) -> list[Referred]:
    """The objects that the file defines, then those of its folder."""
    if not os.path.isfile(file):
        return [here]
    return [here, in_folder(os.path.dirname(os.path.abspath(file)))]


_Way = tuple[str, ...]

_OF_METADATA = (("name",), ("namespace",), ("labels",), ("annotations",))
_OF_DEVICES = (
    ("interfaces",), ("networkInterfaceMultiqueue",), ("useVirtioTransitional",),
    ("autoattachPodInterface",),
)  # fmt: skip
_OF_DOMAIN = (
    ("cpu",), ("resources",), ("machine",), ("features",), ("launchSecurity",),
    *(("devices", *way) for way in _OF_DEVICES),
)  # fmt: skip
_OF_SPEC = (("networks",), ("architecture",), *(("domain", *way) for way in _OF_DOMAIN))
_OF_PREFERENCE = (("spec", "devices"), ("spec", "annotations"))


def ambiguous(found: Object) -> Iterator[TargetError]:
    """An error for each key that occurs twice in the judged part of a virtual machine or a
    preference."""
    document = found.place.document
    if not document.duplicates:
        return
    judged = {id(key) for key in _keys(found.place.node, _judged_paths(found.kind))}
    for first, second in document.duplicates:
        if id(second) in judged:
            line = document.source.line_column(second.start)[0]
            before = document.source.line_column(first.start)[0]
            yield TargetError(
                f"the key {first.text[:40]!r} appears twice (also on line {before}): the last "
                "one counts",
                file=document.source.file,
                line=line,
            )


_NO_BREAK_SPACE = "\u00a0"
_ODD_INDENT = (
    "indented with no-break spaces, which YAML takes for a part of the key: not judged as it is "
    "meant; use plain spaces"
)
_PARTS = (("networks",), ("domain",), ("domain", "devices"), ("domain", "devices", "interfaces"))
"""Paths from the ``spec`` of an instance to its parts that are judged."""


def misplaced(found: Object) -> TargetError | None:
    """Why the body of a virtual machine is not read though it is there: a key is indented with
    no-break spaces, a part is at another level, a key on the way to it is empty; None if nothing is
    wrong.

    KubeVirt refuses such a manifest: ``template``, ``domain`` and ``devices`` are required, and the
    API server refuses unknown fields unless it is asked to ignore them
    (``fieldValidation=Strict``, what kubectl asks for since 1.25).
    """
    document = found.place.document
    if _NO_BREAK_SPACE in document.source.text and (key := _oddly_indented(found.place)):
        return _fault(document, key, _ODD_INDENT)
    spec = (*VMI_SPEC[found.kind], "spec")
    right = {(*spec, *part) for part in _PARTS}
    needed = {spec[:length] for length in range(1, len(spec) + 1)} | {(*spec, "domain")}
    parts = {way[-1]: way for way in right}
    empty: TargetError | None = None
    stack: list[tuple[_Way, YamlPlace]] = [((), found.place)]
    seen: set[int] = set()
    while stack:
        above, place = stack.pop()
        if id(place.node) in seen:
            continue
        seen.add(id(place.node))
        entries = place.node.children() if isinstance(place.node, Mapping) else {}
        for name, entry in entries.items():
            way, child = (*above, name), place.child(name)
            if child is None and way in needed:
                message = f"{'.'.join(way)} is empty: not judged (KubeVirt refuses it)"
                empty = empty or _fault(document, entry.key, message)
            elif child is None or way[0] in ("metadata", "status"):
                continue
            elif name in parts and way not in right and isinstance(child.node, Mapping | Sequence):
                return _fault(
                    document,
                    entry.key,
                    f"{'.'.join(way)} is not read by KubeVirt, which refuses it: not judged (it "
                    f"reads {'.'.join(parts[name])})",
                )
            else:
                stack.append((way, child))
    return empty


def _fault(document: YamlDocument, key: Scalar, message: str) -> TargetError:
    line, _column = document.source.line_column(key.start)
    return TargetError(message, file=document.source.file, line=line)


def _oddly_indented(top: YamlPlace) -> Scalar | None:
    """The first key of an object that begins with a no-break space."""
    stack: list[Node] = [top.node]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            stack += reversed(node.items)
        elif isinstance(node, Mapping):
            for key, _value in node.pairs:
                if isinstance(key, Scalar) and key.text.startswith(_NO_BREAK_SPACE):
                    return key
            stack += [value for _key, value in reversed(node.pairs)]
    return None


def _judged_paths(kind: str) -> tuple[_Way, ...]:
    """The paths on which verdicts depend, including everything below them."""
    of_object = tuple(("metadata", *way) for way in _OF_METADATA)
    if kind not in VMI_SPEC:
        return (*of_object, *_OF_PREFERENCE)
    machine = VMI_SPEC[kind]
    references = tuple(
        (*VM_SPEC[kind], key) for key in ("preference", "instancetype") if kind in VM_SPEC
    )
    of_machine = (*of_object, *(("spec", *way) for way in _OF_SPEC))
    return (*of_object, *references, *((*machine, *way) for way in of_machine))


def _keys(top: Node, ways: tuple[_Way, ...]) -> Iterator[Scalar]:
    """The keys on these paths and below them, with aliases followed."""
    seen: set[tuple[int, tuple[_Way, ...]]] = set()
    stack: list[tuple[Node, tuple[_Way, ...]]] = [(top, ways)]
    while stack:
        node, wanted = stack.pop()
        if (id(node), wanted) in seen:
            continue
        seen.add((id(node), wanted))
        if isinstance(node, Sequence):
            stack += [(item, wanted) for item in node.items]
        elif isinstance(node, Mapping):
            for key, value in node.pairs:
                if isinstance(key, Scalar) and (below := _below(wanted, key)):
                    yield key
                    stack.append((value, below))


def _below(ways: tuple[_Way, ...], key: Scalar) -> tuple[_Way, ...]:
    """The rest, after this key, of the paths that lead through it; a path that has ended covers
    everything below."""
    if () in ways or (key.plain and key.text == "<<"):
        return ways
    return tuple(way[1:] for way in ways if way[0] == key.text)
