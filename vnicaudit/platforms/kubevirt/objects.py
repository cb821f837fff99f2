"""Find the objects in a file of manifests, including those inside of lists and templates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.model.location import Location
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.kubevirt.recognise import is_machine, is_wanted
from vnicaudit.text.yaml_nodes import YamlPlace, documents
from vnicaudit.text.yaml_tree import Mapping, Scalar

MAX_OBJECTS = 20_000
"""Maximum number of objects of one file; lists may contain one another by aliases."""
_MAX_LISTS = 4
_DEEPEST = 40
"""Maximum depth at which a virtual machine inside of another object is found."""

MACHINE_GROUPS = ("kubevirt.io", "pool.kubevirt.io")
_OWN_GROUPS = ("kubevirt.io", "k8s.cni.cncf.io")
"""Endings of KubeVirt's API groups: their objects contain no others."""
_IN_TEXT = (
    "also holds a KubeVirt manifest inside a string: not judged, save it as a file of its own"
)

VMI_SPEC: dict[str, tuple[str, ...]] = {
    "VirtualMachine": ("spec", "template"),
    "VirtualMachineInstance": (),
    "VirtualMachineInstanceReplicaSet": ("spec", "template"),
    "VirtualMachinePool": ("spec", "virtualMachineTemplate", "spec", "template"),
}
"""Kind -> path to the ``metadata`` and ``spec`` of a VirtualMachineInstance."""
VM_SPEC: dict[str, tuple[str, ...]] = {
    "VirtualMachine": ("spec",),
    "VirtualMachinePool": ("spec", "virtualMachineTemplate", "spec"),
}
"""Kind -> path to the part that may name an instance type and a preference."""


class Object(NamedTuple):
    """One Kubernetes object. ``group`` is the part before the slash of its apiVersion."""

    kind: str
    group: str
    place: YamlPlace

    @property
    def name(self) -> str | None:
        """``metadata.name``; None if a template decides it."""
        return text_at(self.place, "metadata", "name")

    @property
    def namespace(self) -> str | None:
        """``metadata.namespace``."""
        return text_at(self.place, "metadata", "namespace")

    @property
    def space(self) -> str:
        """``metadata.namespace`` as written, including a template's expression; empty: none."""
        found = self.place.at("metadata", "namespace")
        return "" if found is None else _as_written(found)

    @property
    def display_name(self) -> str:
        """The object's name as written, after its namespace if any; its kind where unnamed."""
        found = self.place.at("metadata", "name") or self.place.at("metadata", "generateName")
        if found is None:
            return f"{self.kind} without a name"
        name = _as_written(found)
        return f"{self.namespace}/{name}" if self.namespace else name


def _as_written(place: YamlPlace) -> str:
    """A scalar's text; if a template makes it, as written in the file, without quotes."""
    if place.text:
        return place.text
    written = place.document.source.written(place.node)
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "'\""
    return written[1:-1] if quoted else written


def objects_of(data: bytes, file: str) -> Iterator[Object | TargetError | NotJudged]:
    """The objects in order, and errors for parts of the file that could not be read. Raises
    TargetError if nothing could be read."""
    count = 0
    for document in documents(data, file, is_wanted):
        if isinstance(document, TargetError):
            yield document
            continue
        for found in _objects(document.top, 0):
            if not isinstance(found, Object):
                yield found
                continue
            count += 1
            if count > MAX_OBJECTS:
                yield TargetError(
                    f"more than {MAX_OBJECTS} objects: the rest is not read", file=file
                )
                return
            yield found


def _objects(place: YamlPlace, depth: int) -> Iterator[Object | TargetError | NotJudged]:
    kind = text_at(place, "kind") or ""
    held = "objects" if kind == "Template" else "items" if kind.endswith("List") else ""
    if held:
        items = place.child(held)
        if items is not None and depth < _MAX_LISTS:
            for item in items.items():
                yield from _objects(item, depth + 1)
        return
    group = _group(place)
    yield Object(kind, group, place)
    if not group.endswith(_OWN_GROUPS):
        yield from _objects_in(place)


def _objects_in(top: YamlPlace) -> Iterator[Object | TargetError | NotJudged]:
    """The virtual machines inside of other objects: a play's task, a policy, a manifest work. One
    that is written as a string is reported, but not read."""
    seen: set[int] = set()
    pending = [(top, 0)]
    while pending:
        place, depth = pending.pop()
        node = place.node
        if id(node) in seen or depth > _DEEPEST:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            if _is_machine_in_text(node.text):
                line, _column = place.document.source.line_column(node.start)
                yield NotJudged(_IN_TEXT, place.document.source.file, line + 1)
        elif depth and _is_machine(place):
            yield Object(text_at(place, "kind") or "", _group(place), place)
        else:
            names = (name for name in place.names() if name != "metadata")
            inner = [found for name in names if (found := place.child(name)) is not None]
            pending += [(found, depth + 1) for found in reversed(inner or place.items())]


def _is_machine(place: YamlPlace) -> bool:
    """True if a mapping defines a virtual machine, rather than just referring to one."""
    return (
        isinstance(place.node, Mapping)
        and text_at(place, "kind") in VMI_SPEC
        and _group(place) in MACHINE_GROUPS
        and place.child("spec") is not None
    )


def _is_machine_in_text(text: str) -> bool:
    if "kubevirt.io/" not in text or not is_wanted(text):
        return False
    return is_machine(text)


def _group(place: YamlPlace) -> str:
    return (text_at(place, "apiVersion") or "").partition("/")[0]


def text_at(place: YamlPlace | None, *keys: str) -> str | None:
    """The certain text at the end of a path; None if there is none."""
    found = None if place is None else place.at(*keys)
    return None if found is None else found.text


def location_of(place: YamlPlace, target: str) -> Location:
    """The location of a place."""
    line, column = place.line_column
    return Location(target, place.document.source.file, line, place.pointer, column)
