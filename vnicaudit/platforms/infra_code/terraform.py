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

from vnicaudit.knowledge.models import normal_model
from vnicaudit.model.domain import Domain, DomainConfig, Marked
from vnicaudit.model.finding import INFRA_CODE, Location
from vnicaudit.model.nic import MULTICAST, Nic, NicConfig, is_multicast
from vnicaudit.platforms.infra_code.hcl import blocks
from vnicaudit.platforms.infra_code.records import (
    Kind,
    Record,
    Value,
    described,
    place,
    record_of,
    whole_number,
    with_images,
)


class Resource(NamedTuple):
    """One ``resource "type" "label"``; its body begins where it does."""

    type: str
    label: str
    body: Value

    @property
    def address(self) -> str:
        """How Terraform calls it."""
        return f"{self.type}.{self.label}"


def resources(data: bytes, file: str) -> Iterator[Resource]:
    """All resources of a file."""
    for block in blocks(data.decode("utf-8-sig", "replace"), file):
        if block.type == "resource" and len(block.labels) == 2:
            yield Resource(*block.labels, block.body)


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
        spot = _place(resource, where)
        nics = [_nic(said, number, spot) for number, said in enumerate(interfaces.items())]
        known = [nic for nic in nics if nic is not None]
        kind = resource.body.scalar("type")
        whole = len(known) == len(nics) and interfaces.certain and kind is not None
        yield Domain(
            resource.body.scalar("name") or resource.address,
            _config(resource.body, kind or "kvm", len(known)),
            spot,
            tuple(known) if whole else (),
            known_by=Marked(resource.address),
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


def _nic(said: Value, number: int, guest: Location) -> Nic | None:
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
        guest.target, guest.file, said.line, f"{guest.xpath}/devices/interfaces/{number}"
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
_KINDS: dict[str, Kind] = {IMAGE: "image", FLAVOR: "flavor"}


def read(data: bytes, *, target: str, file: str) -> Iterator[Record | Domain]:
    """The images, the flavors (which know the images that are booted with them), and the guests of
    libvirt. Raises TargetError if it is not HCL."""
    every = list(resources(data, file))
    where = Location(target, file)
    made: dict[str, Record] = {}
    for kind in _KINDS:
        for resource in every:
            if resource.type == kind:
                spot = _place(resource, where)
                said = described(_KINDS[kind], resource.body, spot, resource.label)
                made[resource.address] = record_of(said, target)
    yield from with_images(made, _booted_together(every, made))
    yield from domains(every, where)


def _place(resource: Resource, where: Location) -> Location:
    return replace(place(resource.body, where), xpath=resource.address)


def _booted_together(
    resources: Iterable[Resource], made: Mapping[str, Record]
) -> dict[str, list[str]]:
    """Flavor -> images, by the servers that name both."""
    by_name: dict[tuple[str, str], list[str]] = {}
    for address, record in made.items():
        by_name.setdefault((address.partition(".")[0], record.name), []).append(address)
    used: dict[str, list[str]] = {}
    for server in resources:
        if server.type == SERVER:
            image = _referred(server.body, "image", IMAGE, made, by_name)
            flavor = _referred(server.body, "flavor", FLAVOR, made, by_name)
            if image is not None and flavor is not None:
                used.setdefault(flavor, []).append(image)
    return used


def _referred(
    body: Value,
    argument: str,
    kind: str,
    made: Mapping[str, Record],
    by_name: Mapping[tuple[str, str], list[str]],
) -> str | None:
    """The address of the resource that an argument refers to by its id or name, or names."""
    for ending in ("_id", "_name"):
        said = body.get(argument + ending)
        if said is None:
            continue
        wanted = rf"(?:\$\{{)?\s*({kind}\.[\w-]+)\.(?:id|name|flavor_id)\s*\}}?"
        match = re.fullmatch(wanted, said.text)
        if match is not None:
            return match[1] if match[1] in made else None
        if said.certain and ending == "_name":
            named = by_name.get((kind, said.text), [])
            return named[0] if len(named) == 1 else None
    return None
