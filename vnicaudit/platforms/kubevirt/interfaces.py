"""Read NICs from ``domain.devices.interfaces``."""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from vnicaudit.knowledge.models import stands_for_model
from vnicaudit.model.definition_refusal import DefinitionRefusal
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic, NicConfig, is_multicast
from vnicaudit.platforms.kubevirt.admission import NotAdmitted, not_admitted
from vnicaudit.platforms.kubevirt.objects import VM_SPEC, Object, location_of, text_at
from vnicaudit.platforms.kubevirt.references import Referred
from vnicaudit.platforms.kubevirt.wiring import NicWiring, wiring_of
from vnicaudit.text.yaml_nodes import Sequence, YamlPlace

Places = tuple[tuple[str, Location], ...]


def nics_of(
    found: Object, spec: YamlPlace, prefers: Preference | None, known: list[Referred], target: str
) -> tuple[Nic, ...]:
    """The NICs of a virtual machine in order, except those that are ``absent``, which KubeVirt
    unplugs, unless it refuses them. If two in a template have the same MAC address and are under
    conditions, only one of them exists."""
    domain = spec.child("domain") or spec
    devices = domain.child("devices")
    interfaces = None if devices is None else devices.child("interfaces")
    networks = spec.child("networks")
    shared = _multiqueue(domain, devices, target)
    if devices is None or interfaces is None or _is_empty(interfaces):
        added, reasons = _default(spec, prefers, target, shared), not_admitted(spec, prefers=True)
        return tuple(_refused(nic, tuple(reasons.get(0, ())), target) for nic in added)
    refused = not_admitted(spec, prefers=_names_preference(found))
    wanted = [
        (item, tuple(refused.get(number, ())))
        for number, item in enumerate(interfaces.items())
        if number in refused or text_at(item, "state") != "absent"
    ]
    nics = tuple(
        _refused(
            _nic(index, item, wiring_of(item, networks, known, found.namespace), target, shared),
            reasons,
            target,
        )
        for index, (item, reasons) in enumerate(wanted)
    )
    uses = Counter(nic.mac for nic in nics)
    return tuple(
        replace(nic, mac=None) if uses[nic.mac] > 1 and devices.may_lack(item) else nic
        for nic, (item, _reasons) in zip(nics, wanted, strict=True)
    )


def _is_empty(interfaces: YamlPlace) -> bool:
    """True for a list without items (``interfaces: []``), to which no template adds any."""
    node = interfaces.node
    return isinstance(node, Sequence) and not node.items and interfaces.complete


def _names_preference(found: Object) -> bool:
    way = VM_SPEC.get(found.kind)
    return way is not None and found.place.at(*way, "preference") is not None


def _refused(nic: Nic, reasons: tuple[NotAdmitted, ...], target: str) -> Nic:
    """The NIC with the reasons for which KubeVirt does not admit it."""
    if not reasons:
        return nic
    places = tuple((each.field, location_of(each.place, target)) for each in reasons)
    refusals = tuple(DefinitionRefusal(each.field, each.reason) for each in reasons)
    declared = replace(nic.declared, refused=refusals)
    return replace(nic, declared=declared, places=(*nic.places, *places))


def _nic(index: int, place: YamlPlace, wiring: NicWiring, target: str, shared: Places) -> Nic:
    model = place.child("model")
    binding = place.child(wiring.binding or "")
    mac = (text_at(place, "macAddress") or "").lower().replace("-", ":") or None
    return Nic(
        index=index,
        declared=NicConfig(
            type=wiring.type or "network",
            actual_type=wiring.type,
            model=None if model is None or _unseen(place, model) else model.text or None,
            backend_type="passt" if wiring.name == "passt" else None,
            link_state="down" if text_at(place, "state") == "down" else None,
            boot_order=None if (order := place.child("bootOrder")) is None else order.integer,
            unseen=("model",) if _unseen(place, model) else (),
            shared=("model",) if (model or place).shared else (),
            multicast=is_multicast(mac),
            binding=wiring.binding,
            plugin=wiring.plugin,
        ),
        location=location_of(place, target),
        mac=mac,
        source=wiring.network,
        alias=text_at(place, "name"),
        places=(
            ("model", location_of(model or place, target)),
            ("binding", location_of(binding or place, target)),
            *shared,
        ),
        wiring=wiring.name,
    )


def _unseen(place: YamlPlace, model: YamlPlace | None) -> bool:
    if model is None:
        return not place.complete
    return model.text is None or stands_for_model(model.text)


def _multiqueue(domain: YamlPlace, devices: YamlPlace | None, target: str) -> Places:
    own = None if devices is None else devices.child("networkInterfaceMultiqueue")
    return (("multiqueue", location_of(own or devices or domain, target)),)


def _default(
    spec: YamlPlace, prefers: Preference | None, target: str, shared: Places
) -> tuple[Nic, ...]:
    """The NIC that KubeVirt adds if a manifest names neither interface nor network.

    Source: ``SetDefaultNetworkInterface`` in KubeVirt's ``pkg/network/vmispec/defaults.go``:
    masquerade, unless the cluster is configured otherwise.
    """
    attach = spec.at("domain", "devices", "autoattachPodInterface")
    wanted = prefers.pod_interface if attach is None and prefers is not None else None
    wanted = wanted if attach is None else attach.boolean
    devices = spec.at("domain", "devices")
    unsure = attach is not None and attach.boolean is None
    unsure = unsure or (devices is not None and not devices.complete) or not spec.complete
    networks = spec.child("networks")
    if wanted is False or unsure or (networks is not None and networks.items()):
        return ()
    place = location_of(spec.child("domain") or spec, target)
    config = NicConfig("ethernet", origin="default", actual_type="ethernet", binding="masquerade")
    return (
        Nic(0, config, place, source="pod", alias="default", wiring="masquerade", places=shared),
    )
