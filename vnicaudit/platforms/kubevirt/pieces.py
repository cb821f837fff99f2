"""Is a manifest a whole virtual machine, or a piece of one: a patch of kustomize's, a Helm partial?

A piece is what KubeVirt would refuse as it stands. What is not in it stands elsewhere, so nothing
of it has a default. Sources: ``DomainSpec.Devices`` is required (``api/core/v1/schema.go``);
``validateInterfacesAssignedToNetworks`` and ``validateNetworksAssignedToInterfaces`` in
``pkg/network/admitter/netiface.go``; ``validateRunStrategy`` in ``vms-admitter.go``.
"""

from __future__ import annotations

from vnicaudit.platforms.kubevirt.objects import Object, text_at
from vnicaudit.text.yaml_nodes import Place, Sequence


def lacking(found: Object, spec: Place) -> str:
    """What KubeVirt would find lacking in a virtual machine whose instance has this ``spec``; empty
    where it lacks nothing, or a template may fill it in."""
    devices = spec.at("domain", "devices")
    if devices is None:
        return "domain.devices"
    interfaces, networks = _names(devices, "interfaces"), _names(spec, "networks")
    if interfaces is None or networks is None:
        return ""
    if not interfaces and not networks:
        return "running or runStrategy" if _never_said_to_run(found) else ""
    if alone := sorted(interfaces - networks):
        return f"a network named like the interface {alone[0][:40]!r}"
    if alone := sorted(networks - interfaces):
        return f"an interface named like the network {alone[0][:40]!r}"
    return ""


def _names(holder: Place, key: str) -> frozenset[str] | None:
    """The names in a list; None where a template decides what is in it. Empty: one without name."""
    place = holder.child(key)
    if place is None:
        return frozenset() if holder.complete else None
    if not isinstance(place.node, Sequence) or not place.complete:
        return None
    names = []
    for item in place.items():
        name = text_at(item, "name")
        if name is None and (item.child("name") is not None or not item.complete):
            return None
        names.append(name or "")
    return frozenset(names)


def _never_said_to_run(found: Object) -> bool:
    """A VirtualMachine with neither; only asked where it names no interface, because what shows
    how something is done often leaves them out."""
    spec = found.place.child("spec") if found.kind == "VirtualMachine" else None
    if spec is None or not spec.complete:
        return False
    return spec.child("running") is None and spec.child("runStrategy") is None
