"""Keys that stand twice where a verdict depends on them: which one was meant is not known."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.platforms.kubevirt.objects import VM_SPEC, VMI_SPEC, Object
from vnicaudit.text.yaml_nodes import Mapping, Node, Scalar, Sequence

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
    """Each key that stands twice in what is judged of a virtual machine or a preference, as the
    error that names it."""
    document = found.place.document
    if not document.duplicates:
        return
    judged = {id(key) for key in _keys(found.place.node, _judged(found.kind))}
    for first, second in document.duplicates:
        if id(second) in judged:
            line = document.source.line_column(second.start)[0]
            before = document.source.line_column(first.start)[0]
            yield TargetError(
                f"the key {first.text[:40]!r} stands twice (line {before} too): the last counts",
                file=document.source.file,
                line=line,
            )


def _judged(kind: str) -> tuple[_Way, ...]:
    """The ways to what verdicts depend on; all that is below counts too."""
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
    """The keys on these ways and below them, aliases followed."""
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
    """What is left of the ways behind a key; one that is at its end goes on for ever."""
    if () in ways or (key.plain and key.text == "<<"):
        return ways
    return tuple(way[1:] for way in ways if way[0] == key.text)
