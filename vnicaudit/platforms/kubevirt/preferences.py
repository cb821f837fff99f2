"""Read a VirtualMachine(Cluster)Preference into :class:`~vnicaudit.model.kubevirt.Preference`."""

from __future__ import annotations

from vnicaudit.model.guest_words import Readiness
from vnicaudit.model.kubevirt import Preference
from vnicaudit.platforms.kubevirt.guest import named_systems, readiness_of_words
from vnicaudit.platforms.kubevirt.objects import Object, location_of
from vnicaudit.text.yaml_nodes import YamlPlace

KINDS = ("VirtualMachineClusterPreference", "VirtualMachinePreference")
GROUP = "instancetype.kubevirt.io"


def preference_of(found: Object, target: str) -> Preference:
    """The NIC preferences of one object of ``KINDS``."""
    spec = found.place.child("spec")
    devices = None if spec is None else spec.child("devices")
    model = _child(devices, "preferredInterfaceModel")
    multiqueue = _child(devices, "preferredNetworkInterfaceMultiQueue")
    transitional = _child(devices, "preferredUseVirtioTransitional")
    pod_interface = _child(devices, "preferredAutoattachPodInterface")
    whole = location_of(found.place.at("metadata", "name") or found.place, target)
    return Preference(
        target,
        found.display_name,
        whole,
        interface_model=None if model is None else model.text,
        multiqueue=None if multiqueue is None else multiqueue.boolean,
        transitional=None if transitional is None else transitional.boolean,
        pod_interface=None if pod_interface is None else pod_interface.boolean,
        kind=found.kind,
        unseen=_unseen(devices, model, multiqueue),
        readiness=_readiness(found, spec),
        places=tuple(
            (field, location_of(place, target))
            for field, place in (("model", model), ("multiqueue", multiqueue))
            if place is not None
        ),
    )


def _unseen(
    devices: YamlPlace | None, model: YamlPlace | None, multiqueue: YamlPlace | None
) -> tuple[str, ...]:
    if devices is not None and not devices.complete:
        return ("model", "multiqueue")
    unseen = []
    if model is not None and model.text is None:
        unseen.append("model")
    if multiqueue is not None and multiqueue.boolean is None:
        unseen.append("multiqueue")
    return tuple(unseen)


def _readiness(found: Object, spec: YamlPlace | None) -> Readiness:
    metadata = found.place.child("metadata")
    return readiness_of_words(*named_systems(metadata, spec), found.name)


def _child(place: YamlPlace | None, key: str) -> YamlPlace | None:
    return None if place is None else place.child(key)
