"""Heat templates: images, flavors, and the servers that use both.

Source of the properties: Heat 27.0.1, ``engine/resources/openstack/glance/image.py``
(``extra_properties``, ``os_distro``, ``architecture``) and ``nova/flavor.py`` (``extra_specs``,
``vcpus``). A value from a function (``get_param``) is not certain: a parameter's default is only a
hint.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.platforms.infra_code.terraform import Record, Statement, record_of
from vnicaudit.platforms.infra_code.value import (
    Value,
    is_open,
    place,
    properties_of,
    tops,
    value_of,
    whole_number,
)
from vnicaudit.text.beginning import like_yaml

_IMAGES = ("OS::Glance::WebImage", "OS::Glance::Image")
_FLAVOR = "OS::Nova::Flavor"
_SERVER = "OS::Nova::Server"
_OWN = ("os_distro", "architecture")
"""Image properties that are properties of the resource."""
_VERSIONS = (b"heat_template_version", b"HeatTemplateFormatVersion", b"AWSTemplateFormatVersion")


def looks_like(head: bytes) -> bool:
    """True for a Heat template with an image or a flavor in it."""
    if b"OS::Glance::" not in head and b"OS::Nova::Flavor" not in head:
        return False
    return like_yaml(head) and any(version in head for version in _VERSIONS)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors; a flavor knows the images that are booted with it. Raises TargetError
    if it is not YAML."""
    for top in tops(data, file):
        resources = top.child("resources") or top.child("Resources")
        if resources is not None:
            where = Location(target, file, None, resources.pointer)
            yield from _records(value_of(resources), where)


def _records(resources: Value, where: Location) -> Iterator[Record]:
    made: dict[str, Record] = {}
    used: dict[str, list[str]] = {}
    for key, body in resources.entries if resources.kind == "map" else ():
        if key is None or body.kind != "map":
            continue
        kind = body.scalar("type") or body.scalar("Type")
        written = body.get("properties") or body.get("Properties")
        said = written or Value("map", key.line, key.column)
        spot = replace(place(key, where), xpath=f"{where.xpath}/{key.text}")
        if kind in _IMAGES or kind == _FLAVOR:
            made[key.text] = _record(kind or "", key.text, said, spot)
        elif kind == _SERVER:
            image, flavor = _referred(said.get("image")), _referred(said.get("flavor"))
            if image is not None and flavor is not None:
                used.setdefault(flavor, []).append(image)
    for name, record in made.items():
        if isinstance(record, Flavor):
            images = [made.get(image) for image in dict.fromkeys(used.get(name, ()))]
            yield replace(record, images=tuple(one for one in images if isinstance(one, Image)))
        else:
            yield record


def _record(kind: str, label: str, said: Value, spot: Location) -> Record:
    flavor = kind == _FLAVOR
    inner = said.get("extra_specs" if flavor else "extra_properties")
    found = properties_of(inner, spot) + (() if flavor else tuple(_own_properties(said, spot)))
    return record_of(
        Statement(
            "flavor" if flavor else "image",
            said.scalar("name") or label,
            spot,
            found,
            open_ended=is_open(inner) or not said.certain,
            vcpus=whole_number(said.scalar("vcpus")),
            disk_format=said.scalar("disk_format"),
        ),
        spot.target,
    )


def _own_properties(said: Value, spot: Location) -> Iterator[Property]:
    for key, value in said.entries:
        if key is not None and key.text in _OWN:
            yield Property(key.text, value.text, place(key, spot), value.is_said)


def _referred(said: Value | None) -> str | None:
    """The name in ``{get_resource: NAME}`` or ``{Ref: NAME}``; None for a literal."""
    if said is None:
        return None
    return said.scalar("get_resource") or said.scalar("Ref")
