"""Cases of image and flavor rules: from properties to records.

The property on line N of the case is on line N of ``images.tf``; a value that begins with ``$``
comes from a variable and is unknown.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.model.decoding import converted
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.platforms.infra_code.definition import Kind, Statement, record_of
from vnicaudit.rule_cases.cases import Facts

OPENSTACK_FILE = "images.tf"
_OF_A_CLOUD = ("servers", "nova", "readiness", "proven")


def image_of(properties: Facts, said: Facts, name: str = "cirros") -> Image:
    """An image. ``said`` may have ``disk_format`` and ``complete``; for an image of a live cloud
    also ``servers`` (how many use it), ``nova``, ``readiness`` and ``proven``."""
    record = record_of(_definition("image", name, properties, said), OPENSTACK_FILE)
    if not isinstance(record, Image):
        raise TypeError(name)
    return replace(record, **{name: said[name] for name in _OF_A_CLOUD if name in said})


def flavor_of(properties: Facts, said: Facts, booted: list[Facts]) -> Flavor:
    """A flavor. ``said`` may have ``vcpus`` and ``complete``; ``booted`` are the properties of the
    images it is booted with."""
    record = record_of(_definition("flavor", "m1", properties, said), OPENSTACK_FILE)
    if not isinstance(record, Flavor):
        raise TypeError("m1")
    images = tuple(image_of(each, {"disk_format": "qcow2"}) for each in booted)
    return replace(record, images=images)


def _definition(kind: Kind, name: str, properties: Facts, said: Facts) -> Statement:
    unknown = said.keys() - {"disk_format", "complete", "vcpus", *_OF_A_CLOUD}
    if unknown:
        raise ValueError(f"unknown keys of `definition`: {', '.join(unknown)}")
    place = Location(OPENSTACK_FILE, OPENSTACK_FILE, 1)
    found = tuple(
        Property(key, str(value), replace(place, line=line), not str(value).startswith("$"))
        for line, (key, value) in enumerate(properties.items(), 1)
    )
    return Statement(
        kind,
        name,
        place,
        found,
        open_ended=not said.get("complete", True),
        vcpus=converted(said.get("vcpus"), int | None),
        disk_format=converted(said.get("disk_format"), str | None),
    )
