"""Find what makes a manifest other than it is meant: keys that occur twice, parts at another level,
characters that a chat or a word processor put in."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import TargetError
from vnicaudit.platforms.kubevirt.objects import VM_SPEC, VMI_SPEC, Object
from vnicaudit.text.beginning import NO_BREAK_SPACE, TYPOGRAPHIC_QUOTES
from vnicaudit.text.yaml_nodes import Mapping, Node, Scalar, Sequence, YamlDocument, YamlPlace

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


def _is_word(place: YamlPlace | None) -> bool:
    """True for a scalar where a mapping belongs."""
    return place is not None and place.certain and isinstance(place.node, Scalar)


def word_in(found: Object) -> str:
    """The path of the first judged part of a virtual machine that is a word; empty: none is."""
    spec = found.place.at(*VMI_SPEC[found.kind], "spec")
    ways = () if spec is None else (way for way in _PARTS if _is_word(spec.at(*way)))
    return next((".".join((*VMI_SPEC[found.kind], "spec", *way)) for way in ways), "")


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


_ODD_INDENT = (
    "indented with no-break spaces, which YAML takes for a part of the key: not judged as it is "
    "meant; use plain spaces"
)
_ODD_QUOTES = (
    "in typographic quotes, as chats and word processors write them, which YAML takes for a part "
    "of the value: not judged as it is meant; use ' or \""
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
    if not document.source.text.isascii() and (odd := _odd_scalar(found.place)):
        return _fault(document, *odd)
    spec = (*VMI_SPEC[found.kind], "spec")
    right = {(*spec, *part) for part in _PARTS}
    bodies = {spec[:length] for length in range(1, len(spec) + 1)}
    needed = bodies | {(*spec, "domain")}
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
            if way in needed and (child is None or (way in bodies and _is_empty(child))):
                message = f"{'.'.join(way)} is empty: not judged (KubeVirt refuses it)"
                empty = empty or _fault(document, entry.key, message)
            elif child is None or way[0] in ("metadata", "status"):
                continue
            elif name in parts and way in right and _is_word(child):
                message = f"{'.'.join(way)} is a word: not judged (KubeVirt refuses it)"
                return _fault(document, entry.key, message)
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


def _is_empty(place: YamlPlace) -> bool:
    return place.complete and isinstance(place.node, Mapping) and not place.node.pairs


def _fault(document: YamlDocument, key: Scalar, message: str) -> TargetError:
    line, _column = document.source.line_column(key.start)
    return TargetError(message, file=document.source.file, line=line)


def _odd_scalar(top: YamlPlace) -> tuple[Scalar, str] | None:
    """The first key that begins with a no-break space, or scalar of the ``spec`` that begins with a
    typographic quote, and the message about it."""
    for scalar in _scalars(top.node):
        if scalar.text.startswith(NO_BREAK_SPACE):
            return scalar, _ODD_INDENT
    spec = top.child("spec")
    for scalar in () if spec is None else _scalars(spec.node):
        if scalar.plain and scalar.text.startswith(TYPOGRAPHIC_QUOTES):
            return scalar, _ODD_QUOTES
    return None


def _scalars(top: Node) -> Iterator[Scalar]:
    """All keys and values of a node, each once."""
    stack: list[Node] = [top]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Scalar):
            yield node
        elif isinstance(node, Sequence):
            stack += reversed(node.items)
        elif isinstance(node, Mapping):
            stack += [each for pair in reversed(node.pairs) for each in reversed(pair)]


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
