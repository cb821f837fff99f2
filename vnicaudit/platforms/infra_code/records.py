"""Values of a structured format with their places, the common form of HCL, JSON and YAML; and the
images and flavors that they describe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.models import stands_for_model
from vnicaudit.knowledge.readiness import emulated_model
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.text.beginning import is_only_placeholder
from vnicaudit.text.template_walk import HOLE
from vnicaudit.text.yaml_nodes import YamlDocument, YamlPlace, documents
from vnicaudit.text.yaml_source import Mapping as YamlMapping
from vnicaudit.text.yaml_source import Scalar

MAX_DEPTH = 60
"""Maximum depth that is read."""

_MAX_DIGITS = 18
"""Maximum number of digits, so that a number fits into 64 bits; Python refuses to convert 4,301
digits."""


class Value(NamedTuple):
    """One value. ``scalar``: its content is ``text``; ``certain`` False: something is filled in.
    ``map`` and ``list``: ``entries`` (those of a list have empty keys); not certain if there may be
    further entries. ``other``: an expression, as ``text``."""

    kind: Literal["scalar", "map", "list", "other"]
    line: int
    column: int
    text: str = ""
    entries: tuple[tuple[Value | None, Value], ...] = ()
    certain: bool = True

    def get(self, *path: str) -> Value | None:
        """The value under these keys, one after the other; the last one if a key occurs several
        times."""
        found: Value | None = self
        for name in path:
            if found is None or found.kind != "map":
                return None
            pairs = [value for key, value in found.entries if key is not None and key.text == name]
            found = pairs[-1] if pairs else None
        return found

    def scalar(self, *path: str) -> str | None:
        """The text of a scalar that is certain; None for anything else."""
        found = self.get(*path)
        return None if found is None or not found.is_said else found.text

    @property
    def is_said(self) -> bool:
        """True for a scalar whose text is certain and final, not a placeholder."""
        return self.kind == "scalar" and self.certain and not is_only_placeholder(self.text)

    def items(self) -> tuple[Value, ...]:
        """The values of a list; nothing for anything else."""
        return tuple(value for _key, value in self.entries) if self.kind == "list" else ()


def properties_of(found: Value | None, where: Location) -> tuple[Property, ...]:
    """The scalar entries of a map, each with the place of its key."""
    if found is None or found.kind != "map":
        return ()
    return tuple(
        Property(key.text, value.text, place(key, where), _is_said(key.text, value))
        for key, value in found.entries
        if key is not None and key.certain and key.kind == "scalar"
    )


def _is_said(name: str, value: Value) -> bool:
    """True for a certain value, other than a placeholder for a NIC model."""
    return value.is_said and not (name == "hw_vif_model" and stands_for_model(value.text))


def is_open(found: Value | None) -> bool:
    """True if a map may have entries that cannot be seen."""
    if found is None:
        return False
    return (
        found.kind != "map"
        or not found.certain
        or any(key is None or not key.certain for key, _value in found.entries)
    )


def place(value: Value, where: Location) -> Location:
    """The place of a value."""
    return Location(where.target, where.file, value.line, where.xpath, value.column)


def whole_number(text: str | None) -> int | None:
    """A count in decimal digits; None for anything else."""
    if text is None or len(text) > _MAX_DIGITS or not (text.isascii() and text.isdigit()):
        return None
    return int(text)


# Read YAML and JSON into values. Places, templates and limits are handled by
# :mod:`vnicaudit.text.yaml_nodes`.


def tops(
    data: bytes, file: str, wanted: Callable[[str], bool] | None = None
) -> Iterator[YamlPlace]:
    """The roots of the documents of a file. Raises TargetError at the first that is not YAML."""
    for found in documents(data, file, wanted):
        if not isinstance(found, YamlDocument):
            raise found
        yield found.top


def value_of(place: YamlPlace, depth: int = 0) -> Value:
    """A place with everything below it. A value that a template or a placeholder decides is not
    certain; nor is a map or a list into which a template inserts something."""
    line, column = place.line_column
    if isinstance(place.node, Scalar):
        return Value("scalar", line, column, place.node.text, certain=place.text is not None)
    if depth > MAX_DEPTH:
        return Value("other", line, column, certain=False)
    if isinstance(place.node, YamlMapping):
        pairs = tuple(_pairs(place, depth))
        return Value("map", line, column, "", pairs, place.complete and place.certain)
    items = tuple((None, value_of(item, depth + 1)) for item in place.items())
    return Value("list", line, column, "", items, place.complete and place.certain)


def _pairs(place: YamlPlace, depth: int) -> Iterator[tuple[Value, Value]]:
    children = place.node.children() if isinstance(place.node, YamlMapping) else {}
    for name, entry in children.items():
        value = place.child(name)
        if value is not None:
            line, column = place.document.source.line_column(entry.key.start)
            key = Value("scalar", line, column, name, certain=HOLE not in name)
            yield key, value_of(value, depth + 1)


# Statements about images and flavors, in any format, merged into records.
#
# A script may create an image in one command and set properties of it in another; each is a
# :class:`Statement`, and those of one image become one record.


Kind = Literal["image", "flavor"]
Record = Image | Flavor


_HOLES = re.compile(f"{HOLE}+")
_LONGEST_NAME = 60
"""Maximum number of characters of an uncertain name: it may contain a command."""


class Statement(NamedTuple):
    """One statement about an image or a flavor.

    ``key`` identifies the object within its file. ``creates``: it creates the object, so properties
    that it does not set do not exist. ``open_ended``: it may set more than is seen. ``removed`` are
    names of properties that it removes. ``has_certain_name``: the name is certain, and is a name
    rather than a UUID or a variable.
    """

    kind: Kind
    name: str
    location: Location
    properties: tuple[Property, ...] = ()
    key: object = ""
    creates: bool = True
    open_ended: bool = False
    vcpus: int | None = None
    disk_format: str | None = None
    removed: tuple[str, ...] = ()
    has_certain_name: bool = True


def records(definitions: Iterable[Statement], target: str) -> list[Record]:
    """One record for each image and flavor, in order of their first statement."""
    return [record_of(found, target) for found in _merged(definitions)]


def record_of(found: Statement, target: str) -> Record:
    """The record for a statement that is complete in itself."""
    found = found._replace(name=_display_name(found))
    complete = found.creates and not found.open_ended
    if found.kind == "flavor":
        return Flavor(target, found.name, found.location, found.properties, complete, found.vcpus)
    image = Image(target, found.name, found.location, found.properties, complete, found.disk_format)
    system = image.certain_value("os_distro")
    return image if system is None else replace(image, libosinfo_model=emulated_model(system))


def described(
    kind: Kind, body: Value, spot: Location, label: str = "", inner: str = ""
) -> Statement:
    """The statement of a map of arguments: ``name``, ``vcpus``, ``disk_format``, and under the key
    ``inner`` the properties or extra specs. ``label`` is the name of one without a certain name."""
    properties = body.get(inner or ("properties" if kind == "image" else "extra_specs"))
    return Statement(
        kind,
        body.scalar("name") or label,
        spot,
        properties_of(properties, spot),
        open_ended=is_open(properties) or not body.certain,
        vcpus=whole_number(body.scalar("vcpus")),
        disk_format=body.scalar("disk_format"),
    )


def with_images(made: Mapping[str, Record], used: Mapping[str, list[str]]) -> Iterator[Record]:
    """The records of a file; a flavor knows the images that servers boot with it: ``used``, by the
    keys of ``made``."""
    for key, record in made.items():
        if isinstance(record, Flavor):
            images = [made.get(image) for image in dict.fromkeys(used.get(key, ()))]
            yield replace(record, images=tuple(one for one in images if isinstance(one, Image)))
        else:
            yield record


def _display_name(found: Statement) -> str:
    """The name for display: ``…`` in place of an expression."""
    if found.has_certain_name and HOLE not in found.name:
        return found.name
    name = " ".join(_HOLES.sub("…", found.name).split())
    return name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"


def _merged(definitions: Iterable[Statement]) -> list[Statement]:
    """Statements about the same object joined, in order. A statement about an object that this file
    does not create may mean one that it creates under another name, which is then not complete."""
    groups: list[list[Statement]] = []
    latest: dict[tuple[Kind, object], list[Statement]] = {}
    for found in definitions:
        group = latest.get((found.kind, found.key))
        if group is not None and not found.creates:
            group.append(found)
        else:
            latest[found.kind, found.key] = [found]
            groups.append(latest[found.kind, found.key])
    merged = [_joined_statement(*group) for group in groups]
    strangers = {(each.kind, each.has_certain_name) for each in merged if not each.creates}
    return [each._replace(open_ended=True) if _may_be(each, strangers) else each for each in merged]


def _may_be(found: Statement, strangers: set[tuple[Kind, bool]]) -> bool:
    """True if the statement may be about one of ``strangers``: two different certain names are two
    objects."""
    if (found.kind, False) in strangers:
        return True
    return not found.has_certain_name and (found.kind, True) in strangers


def _joined_statement(first: Statement, *later: Statement) -> Statement:
    if not later:
        return first
    every = (first, *later)
    return first._replace(
        properties=_in_effect(every),
        open_ended=any(one.open_ended for one in every) or any(one.removed for one in later),
        vcpus=next((one.vcpus for one in reversed(every) if one.vcpus is not None), None),
        disk_format=next((one.disk_format for one in reversed(every) if one.disk_format), None),
    )


def _in_effect(statements: Iterable[Statement]) -> tuple[Property, ...]:
    """The properties after the last of several statements, in the order in which they were set."""
    found: dict[str, list[Property]] = {}
    for one in statements:
        for name in {*one.removed, *(each.name for each in one.properties)}:
            found.pop(name, None)
        for each in one.properties:
            found.setdefault(each.name, []).append(each)
    return tuple(each for same in found.values() for each in same)
