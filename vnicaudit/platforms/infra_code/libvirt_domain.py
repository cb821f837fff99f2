"""Read domains from Terraform's ``libvirt_domain`` (dmacvicar/libvirt).

Since 0.9 the provider passes everything to libvirt one to one (``docs/schema-mapping.md`` there):
``devices.interfaces[].model.type`` is ``<model type=…>``, the branch under ``source`` is the
interface's type, and a missing value is missing in the XML. A guest is judged if its interfaces are
completely understood: plain values, and no unknown settings (``driver``); otherwise it is reported
as not judged. Up to 0.8 there is ``network_interface``, whose model is always virtio
(``libvirt/network_interface_def.go``) and which has no other settings: there is nothing to judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.knowledge.models import normal_model
from vnicaudit.model.definition_refusal import MULTICAST
from vnicaudit.model.domain import Domain, DomainConfig, Marked
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig, is_multicast
from vnicaudit.model.platform_name import INFRA_CODE
from vnicaudit.platforms.infra_code.resources import Resource
from vnicaudit.platforms.infra_code.value import Value, whole_number

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
