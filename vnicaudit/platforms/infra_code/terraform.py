"""Terraform and OpenTofu: images and flavors of the OpenStack provider, guests of libvirt's.

Source of the arguments: the provider's documentation of ``openstack_images_image_v2``
(``properties``), ``openstack_compute_flavor_v2`` (``vcpus``, ``extra_specs``) and
``openstack_compute_instance_v2`` (``image_id``, ``image_name``, ``flavor_id``, ``flavor_name``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.model.domain import Domain
from vnicaudit.model.location import Location
from vnicaudit.model.openstack import Flavor, Image
from vnicaudit.platforms.infra_code.definition import Record, Statement, record_of
from vnicaudit.platforms.infra_code.libvirt_domain import domains
from vnicaudit.platforms.infra_code.resources import Resource, is_json, resources
from vnicaudit.platforms.infra_code.value import Value, is_open, properties_of, whole_number
from vnicaudit.text.beginning import like_hcl

IMAGE = "openstack_images_image_v2"
FLAVOR = "openstack_compute_flavor_v2"
SERVER = "openstack_compute_instance_v2"

_RESOURCE = re.compile(
    rb'^[ \t]*resource[ \t]+"?(?:openstack_images_image_v2|openstack_compute_flavor_v2)"?[ \t]',
    re.MULTILINE,
)
_GUEST = re.compile(rb'^[ \t]*resource[ \t]+"?libvirt_domain"?[ \t]', re.MULTILINE)
_INTERFACES = re.compile(rb'\binterfaces"?\s*[=:]')


def looks_like(head: bytes) -> bool:
    """True for Terraform's HCL or JSON with an image, a flavor, or a libvirt guest in the form that
    can be judged."""
    openstack = b"openstack_" in head
    guests = b"libvirt_domain" in head and _INTERFACES.search(head) is not None
    if is_json(head):
        return openstack or guests
    said = (openstack and _RESOURCE.search(head)) or (guests and _GUEST.search(head))
    return bool(said) and like_hcl(head)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record | Domain]:
    """The images, the flavors (which know the images that are booted with them), and the guests of
    libvirt. Raises TargetError if it is neither HCL nor JSON."""
    every = list(resources(data, file))
    where = Location(target, file)
    images: dict[str, Image] = {}
    flavors: dict[str, Flavor] = {}
    for resource in every:
        record = _record(resource, where)
        if isinstance(record, Image):
            images[resource.label] = record
        elif isinstance(record, Flavor):
            flavors[resource.label] = record
    used = _booted_together(every, images, flavors)
    yield from images.values()
    for label, flavor in flavors.items():
        yield replace(flavor, images=tuple(images[image] for image in used.get(label, ())))
    yield from domains(every, where)


def _record(resource: Resource, where: Location) -> Record | None:
    if resource.type not in (IMAGE, FLAVOR):
        return None
    address = f"{resource.type}.{resource.label}"
    place = Location(where.target, where.file, resource.line, address, resource.column)
    image = resource.type == IMAGE
    inner = resource.body.get("properties" if image else "extra_specs")
    return record_of(
        Statement(
            "image" if image else "flavor",
            resource.body.scalar("name") or resource.label,
            place,
            properties_of(inner, place),
            open_ended=is_open(inner),
            vcpus=None if image else whole_number(resource.body.scalar("vcpus")),
            disk_format=resource.body.scalar("disk_format"),
        ),
        where.target,
    )


def _booted_together(
    resources: Iterable[Resource], images: dict[str, Image], flavors: dict[str, Flavor]
) -> dict[str, list[str]]:
    """Flavor -> images, by the servers that name both."""
    used: dict[str, dict[str, None]] = {}
    known_images, known_flavors = _known_records(images), _known_records(flavors)
    for server in resources:
        if server.type == SERVER:
            image = _referred_label(server.body, ("image_id", "image_name"), IMAGE, known_images)
            flavor = _referred_label(
                server.body, ("flavor_id", "flavor_name"), FLAVOR, known_flavors
            )
            if image is not None and flavor is not None:
                used.setdefault(flavor, {})[image] = None
    return {flavor: list(labels) for flavor, labels in used.items()}


class _KnownRecords(NamedTuple):
    """The images, or the flavors, of a file: their labels, and the labels of each name."""

    labels: frozenset[str]
    by_name: dict[str, list[str]]


def _known_records(records: Mapping[str, Record]) -> _KnownRecords:
    by_name: dict[str, list[str]] = {}
    for label, record in records.items():
        by_name.setdefault(record.name, []).append(label)
    return _KnownRecords(frozenset(records), by_name)


def _referred_label(
    body: Value, arguments: tuple[str, ...], kind: str, known: _KnownRecords
) -> str | None:
    """The label of the resource that an argument refers to, or names."""
    for argument in arguments:
        said = body.get(argument)
        if said is None:
            continue
        wanted = rf"(?:\$\{{)?\s*{kind}\.([\w-]+)\.(?:id|name|flavor_id)\s*\}}?"
        match = re.fullmatch(wanted, said.text)
        if match is not None:
            return match.group(1) if match.group(1) in known.labels else None
        if said.certain and argument.endswith("_name"):
            labels = known.by_name.get(said.text, [])
            return labels[0] if len(labels) == 1 else None
    return None
