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
from vnicaudit.text.yaml_nodes import Mapping, Node, Scalar, Sequence


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
            yield from (ReadError(each.message, name, each.line) for each in ambiguous(item))
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
