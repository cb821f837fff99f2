"""Statements about images and flavors, in any format, merged into records.

A script may create an image in one command and set properties of it in another; each is a
:class:`Statement`, and those of one image become one record.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.readiness import emulated_model
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.text.tags import HOLE

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
