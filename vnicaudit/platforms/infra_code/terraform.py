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
from vnicaudit.platforms.infra_code.beginning import like_hcl
from vnicaudit.platforms.infra_code.definition import Definition, Record, record_of
from vnicaudit.platforms.infra_code.libvirt_domain import domains
from vnicaudit.platforms.infra_code.value import Value, is_open, properties_of, whole_number
from vnicaudit.platforms.infra_code.yaml_value import tops, value_of

IMAGE = "openstack_images_image_v2"
FLAVOR = "openstack_compute_flavor_v2"
SERVER = "openstack_compute_instance_v2"

_RESOURCE = re.compile(
    rb'^[ \t]*resource[ \t]+"?(?:openstack_images_image_v2|openstack_compute_flavor_v2)"?[ \t]',
    re.MULTILINE,
)
_GUEST = re.compile(rb'^[ \t]*resource[ \t]+"?libvirt_domain"?[ \t]', re.MULTILINE)
_INTERFACES = re.compile(rb'\binterfaces"?\s*[=:]')


class Resource(NamedTuple):
    """One ``resource "type" "label"``."""

    type: str
    label: str
    line: int
    column: int
    body: Value


def looks_like(head: bytes) -> bool:
    """Whether it is Terraform's HCL or JSON with an image or a flavor in it, or with a guest of
    libvirt in the form that can be judged."""
    openstack = b"openstack_" in head
    guests = b"libvirt_domain" in head and _INTERFACES.search(head) is not None
    if _is_json(head):
        return openstack or guests
    said = (openstack and _RESOURCE.search(head)) or (guests and _GUEST.search(head))
    return bool(said) and like_hcl(head)


def read(data: bytes, *, target: str, file: str) -> Iterator[Record | Domain]:
    """The images, the flavors, which know the images that are booted with them, and the guests of
    libvirt. Raises TargetError where it is neither HCL nor JSON."""
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


def resources(data: bytes, file: str) -> Iterator[Resource]:
    """All resources of a file."""
    if _is_json(data):
        for top in tops(data, file):
            yield from _json_resources(value_of(top).get("resource"))
        return
    from vnicaudit.platforms.infra_code.hcl import blocks

    for block in blocks(data.decode("utf-8-sig", "replace"), file):
        if block.type == "resource" and len(block.labels) == 2:
            yield Resource(*block.labels, block.line, block.column, block.body)


def _json_resources(top: Value | None) -> Iterator[Resource]:
    """``{"type": {"label": {…}}}``; any of the maps may be a list of such maps."""
    for kinds in _maps(top):
        for kind, labels in kinds.entries:
            for label, bodies in (pair for one in _maps(labels) for pair in one.entries):
                for body in _maps(bodies):
                    if kind is not None and label is not None:
                        yield Resource(kind.text, label.text, label.line, label.column, body)


def _maps(found: Value | None) -> tuple[Value, ...]:
    if found is None or found.kind == "map":
        return () if found is None else (found,)
    return tuple(item for item in found.items() if item.kind == "map")


def _is_json(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{" and b'"resource"' in head


def _record(resource: Resource, where: Location) -> Record | None:
    if resource.type not in (IMAGE, FLAVOR):
        return None
    address = f"{resource.type}.{resource.label}"
    place = Location(where.target, where.file, resource.line, address, resource.column)
    image = resource.type == IMAGE
    inner = resource.body.get("properties" if image else "extra_specs")
    return record_of(
        Definition(
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
    known_images, known_flavors = _known(images), _known(flavors)
    for server in resources:
        if server.type == SERVER:
            image = _named(server.body, ("image_id", "image_name"), IMAGE, known_images)
            flavor = _named(server.body, ("flavor_id", "flavor_name"), FLAVOR, known_flavors)
            if image is not None and flavor is not None:
                used.setdefault(flavor, {})[image] = None
    return {flavor: list(labels) for flavor, labels in used.items()}


class _Known(NamedTuple):
    """The images, or the flavors, of a file: their labels, and the labels of each name."""

    labels: frozenset[str]
    by_name: dict[str, list[str]]


def _known(records: Mapping[str, Record]) -> _Known:
    by_name: dict[str, list[str]] = {}
    for label, record in records.items():
        by_name.setdefault(record.name, []).append(label)
    return _Known(frozenset(records), by_name)


def _named(body: Value, arguments: tuple[str, ...], kind: str, known: _Known) -> str | None:
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
