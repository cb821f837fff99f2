"""Terraform and OpenTofu: images and flavors of the OpenStack provider, guests of libvirt's.

Source of the arguments: the provider's documentation of ``openstack_images_image_v2``
(``properties``), ``openstack_compute_flavor_v2`` (``vcpus``, ``extra_specs``) and
``openstack_compute_instance_v2`` (``image_id``, ``image_name``, ``flavor_id``, ``flavor_name``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from msgspec.structs import replace

from vnicaudit.knowledge.models import normal_model
from vnicaudit.knowledge.readiness import emulated_model
from vnicaudit.model.domain import Domain, DomainConfig, Marked
from vnicaudit.model.finding import INFRA_CODE, Location
from vnicaudit.model.nic import MULTICAST, Nic, NicConfig, is_multicast
from vnicaudit.model.openstack import Flavor, Image, Property
from vnicaudit.platforms.infra_code.hcl import blocks
from vnicaudit.platforms.infra_code.value import (
    Value,
    is_open,
    properties_of,
    tops,
    value_of,
    whole_number,
)
from vnicaudit.text.beginning import like_hcl
from vnicaudit.text.template_walk import HOLE

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


# The resources of Terraform and OpenTofu, in HCL or JSON.


class Resource(NamedTuple):
    """One ``resource "type" "label"``."""

    type: str
    label: str
    line: int
    column: int
    body: Value


def resources(data: bytes, file: str) -> Iterator[Resource]:
    """All resources of a file."""
    if is_json(data):
        for top in tops(data, file):
            yield from _json_resources(value_of(top).get("resource"))
        return

    for block in blocks(data.decode("utf-8-sig", "replace"), file):
        if block.type == "resource" and len(block.labels) == 2:
            yield Resource(*block.labels, block.line, block.column, block.body)


def _json_resources(top: Value | None) -> Iterator[Resource]:
    """The resources in ``{"type": {"label": {…}}}``; any of the maps may be a list of such maps."""
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


def is_json(head: bytes) -> bool:
    """True for Terraform's JSON."""
    return head.lstrip()[:1] == b"{" and b'"resource"' in head


# Read domains from Terraform's ``libvirt_domain`` (dmacvicar/libvirt).
#
# Since 0.9 the provider passes everything to libvirt one to one (``docs/schema-mapping.md`` there):
# ``devices.interfaces[].model.type`` is ``<model type=…>``, the branch under ``source`` is the
# interface's type, and a missing value is missing in the XML. A guest is judged if its interfaces
# are completely understood: plain values, and no unknown settings (``driver``); otherwise it is
# reported as not judged. Up to 0.8 there is ``network_interface``, whose model is always virtio
# (``libvirt/network_interface_def.go``) and which has no other settings: there is nothing to judge.


DOMAIN = "libvirt_domain"

_TYPES = {"network": "network", "bridge": "bridge", "direct": "direct", "user": "user"}
"""Branch of ``source`` -> interface type. Other branches need more than is read here."""
_NEEDS = "its type and interfaces in full (the XML that the provider generates)"
_UNDERSTOOD = frozenset({"model", "source", "mac", "target", "alias", "boot", "wait_for_ip"})


def domains(resources: Iterable[Resource], where: Location) -> Iterator[Domain]:
    """The guests of a provider of 0.9 or later."""
    for resource in resources:
        interfaces = resource.body.get("devices", "interfaces")
        if resource.type != DOMAIN or interfaces is None:
            continue
        address = f"{DOMAIN}.{resource.label}"
        place = Location(where.target, where.file, resource.line, address, resource.column)
        nics = [_nic(said, number, place) for number, said in enumerate(interfaces.items())]
        known = [nic for nic in nics if nic is not None]
        kind = resource.body.scalar("type")
        whole = len(known) == len(nics) and interfaces.certain and kind is not None
        yield Domain(
            resource.body.scalar("name") or address,
            _config(resource.body, kind or "kvm", len(known)),
            place,
            tuple(known) if whole else (),
            known_by=Marked(address),
            unjudged="" if whole else _NEEDS,
        )


def _config(body: Value, kind: str, nics: int) -> DomainConfig:
    vcpus = None
    if body.get("vcpus") is None and body.get("vcpu_current") is None:
        vcpus = whole_number(body.scalar("vcpu") or body.scalar("vcpu", "value"))
    return DomainConfig(
        type=kind,
        arch=body.scalar("os", "type_arch"),
        machine=body.scalar("os", "type_machine"),
        vcpus=vcpus,
        vcpus_max=vcpus,
        owner="terraform",
        described_by="terraform",
        platform=INFRA_CODE,
        encrypted=body.get("launch_security") is not None,
        nics=nics,
    )


def _nic(said: Value, number: int, place: Location) -> Nic | None:
    """The NIC; None if something in it is not understood."""
    keys = {"" if key is None else key.text for key, _value in said.entries}
    branches = [branch for branch in _TYPES if said.get("source", branch) is not None]
    model = said.get("model")
    if said.kind != "map" or not keys <= _UNDERSTOOD or len(branches) != 1:
        return None
    if model is not None and said.scalar("model", "type") is None:
        return None
    text = said.scalar("model", "type")
    mac = (said.scalar("mac", "address") or "").lower() or None
    kind = _TYPES[branches[0]]
    spot = Location(
        place.target, place.file, said.line, f"{place.xpath}/devices/interfaces/{number}"
    )
    return Nic(
        number,
        NicConfig(
            type=kind,
            actual_type=None if kind == "network" else kind,
            model=None if text is None else normal_model(text),
            refused=(MULTICAST,) if is_multicast(mac) else (),
        ),
        spot,
        mac=mac,
        lines=() if model is None else (("model", model.line),),
    )


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
