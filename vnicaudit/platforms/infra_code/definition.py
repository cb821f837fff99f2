"""What the formats say of images and flavors, put together into records.

A script makes an image in one command and sets properties of it in another; each is a
:class:`Definition`, and those of one image become one record.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.platforms.infra_code.libosinfo import emulated_model

Kind = Literal["image", "flavor"]
Record = Image | Flavor


class Definition(NamedTuple):
    """One statement about an image or a flavor.

    ``key`` tells which one it is about, within its file. ``creates``: it brings it into being, so
    that what it does not say is not there. ``open_ended``: it may say more than is seen.
    ``removed`` are names of properties it takes away. ``named``: the name is certain and is one,
    not a UUID or a variable.
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
    named: bool = True


def records(definitions: Iterable[Definition], target: str) -> list[Record]:
    """One record for each image and flavor, in order of their first statement."""
    return [record_of(found, target) for found in _merged(definitions)]


def record_of(found: Definition, target: str) -> Record:
    """The record of one that is complete in itself."""
    complete = found.creates and not found.open_ended
    if found.kind == "flavor":
        return Flavor(target, found.name, found.location, found.properties, complete, found.vcpus)
    image = Image(target, found.name, found.location, found.properties, complete, found.disk_format)
    system = image.known("os_distro")
    return image if system is None else replace(image, libosinfo_model=emulated_model(system))


def _merged(definitions: Iterable[Definition]) -> list[Definition]:
    """Statements about the same thing joined, in order. One about something that this file does
    not create may be about what it creates under another name: that is not complete then."""
    merged: list[Definition] = []
    places: dict[tuple[Kind, object], int] = {}
    for found in definitions:
        place = places.get((found.kind, found.key))
        if place is not None and not found.creates:
            merged[place] = _joined(merged[place], found)
        else:
            places[found.kind, found.key] = len(merged)
            merged.append(found)
    strangers = {(each.kind, each.named) for each in merged if not each.creates}
    return [each._replace(open_ended=True) if _may_be(each, strangers) else each for each in merged]


def _may_be(found: Definition, strangers: set[tuple[Kind, bool]]) -> bool:
    """Two names that are certain and differ are two things."""
    if (found.kind, False) in strangers:
        return True
    return not found.named and (found.kind, True) in strangers


def _joined(first: Definition, later: Definition) -> Definition:
    gone = {*later.removed, *(each.name for each in later.properties)}
    kept = tuple(each for each in first.properties if each.name not in gone)
    return first._replace(
        properties=kept + later.properties,
        open_ended=first.open_ended or later.open_ended or bool(later.removed),
        vcpus=first.vcpus if later.vcpus is None else later.vcpus,
        disk_format=later.disk_format or first.disk_format,
    )
