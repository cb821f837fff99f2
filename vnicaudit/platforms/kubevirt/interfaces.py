"""Read NICs from ``domain.devices.interfaces``."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.base.opening import read_regular
from vnicaudit.errors import TargetError
from vnicaudit.knowledge.models import stands_for_model
from vnicaudit.model.finding import Location
from vnicaudit.model.kubevirt import Preference
from vnicaudit.model.nic import DefinitionRefusal, Nic, NicConfig, is_multicast
from vnicaudit.platforms.kubevirt import objects
from vnicaudit.platforms.kubevirt.admission import NotAdmitted, not_admitted
from vnicaudit.platforms.kubevirt.objects import (
    VM_SPEC,
    Object,
    integer_at,
    items_at,
    location_of,
    objects_of,
    place_at,
    text_at,
)
from vnicaudit.text.yaml_nodes import Sequence, YamlPlace

# Objects that decide about a virtual machine: those that it refers to by name (preference, instance
# type, network attachment), and the settings of the cluster (the KubeVirt object).
#
# They are searched in the same file, then in the YAML and JSON files of the same folder. An object
# that occurs twice with different content is ignored, because it is unknown which one the cluster
# has.


INSTANCETYPES = ("VirtualMachineClusterInstancetype", "VirtualMachineInstancetype")
ATTACHMENT = "NetworkAttachmentDefinition"

_MAX_FILES = 2_000
_MAX_TOTAL = 64 * 1024 * 1024
_MAX_FILE = 1024 * 1024
_SUFFIXES = (".yaml", ".yml", ".json")
_OF_INTEREST = re.compile(
    r"""apiVersion["']?\s*:\s*["']?(?:instancetype\.kubevirt|k8s\.cni\.cncf)\.io/"""
    r"""|kind["']?\s*:\s*["']?KubeVirt(?:["'\s,}]|\Z)"""
)
_OF_INTEREST_IN_BYTES = re.compile(_OF_INTEREST.pattern.encode())


Key = tuple[str, str, str]
"""The key of a preference or an instance type: kind, name, and the namespace as written: empty if
there is none, and for cluster-wide kinds, which have none. A key without a namespace differs from
one with it, because ``kubectl -n`` decides."""


def key_of(kind: str, name: str, space: str) -> Key:
    """The key of an object of that kind and name in that namespace."""
    return kind, name, "" if "Cluster" in kind else space


class KubeVirtObject(NamedTuple):
    """Settings for all VMs in a KubeVirt object; None: unknown. ``binding``: that of the interface
    of a VM that names none."""

    version: str | None = None
    binding: str | None = None


class Referred(msgspec.Struct):
    """The preferences, instance types, networks and settings that a file, or a folder, defines.
    Keys of attachments are namespace and name; the namespace is empty if none is written."""

    preferences: dict[Key, Preference | None] = {}
    vcpus: dict[Key, int | None] = {}
    networks: dict[tuple[str, str], str] = {}
    settings: set[KubeVirtObject] = set()

    def add(self, found: Object, target: str) -> None:
        """Add one object, if it is of one of these kinds."""
        name = found.name
        if found.kind == "KubeVirt" and found.group == "kubevirt.io":
            self.settings.add(settings_of(found))
        elif name is None:
            return
        elif found.kind in objects.KINDS:
            key, new = key_of(found.kind, name, found.space), objects.preference_of(found, target)
            known = self.preferences.setdefault(key, new)
            if known is not None and _without_place(known) != _without_place(new):
                self.preferences[key] = None
        elif found.kind in INSTANCETYPES:
            count = integer_at(found.place, "spec", "cpu", "guest")
            key = key_of(found.kind, name, found.space)
            if self.vcpus.setdefault(key, count) != count:
                self.vcpus[key] = None
        elif found.kind == ATTACHMENT:
            where = (found.namespace or "", name)
            kind = network_type(text_at(found.place, "spec", "config"))
            if self.networks.setdefault(where, kind) != kind:
                self.networks[where] = ""

    def without(self, key: Key) -> Referred:
        """A copy without one preference or instance type, of which a VM keeps a revision: today's
        does not affect that VM."""
        if key not in self.preferences and key not in self.vcpus:
            return self
        preferences, vcpus = dict(self.preferences), dict(self.vcpus)
        preferences.pop(key, None)
        vcpus.pop(key, None)
        return replace(self, preferences=preferences, vcpus=vcpus)

    def network(self, namespace: str | None, name: str) -> str:
        """The CNI type of an attachment; empty if it is unknown."""
        exact = self.networks.get((namespace or "", name))
        return exact if exact is not None else self.networks.get(("", name), "")


def settings_among(known: list[Referred]) -> KubeVirtObject:
    """The settings of the cluster; nothing is known if two KubeVirt objects differ."""
    found = next((each.settings for each in known if each.settings), set[KubeVirtObject]())
    return next(iter(found)) if len(found) == 1 else KubeVirtObject()


def settings_of(found: Object) -> KubeVirtObject:
    """Source of the default: ``DefaultNetworkInterface`` in ``pkg/virt-config/virt-config.go``
    (1.0 to 1.9); HyperConverged writes masquerade into the object."""
    version = text_at(found.place, "status", "observedKubeVirtVersion")
    place, binding = found.place, "bridge"
    for key in ("spec", "configuration", "network", "defaultNetworkInterface"):
        inner = place.child(key)
        if inner is None:
            return KubeVirtObject(version, binding if place.complete else None)
        place = inner
    return KubeVirtObject(version, place.text)


def network_type(config: str | None) -> str:
    """The kind of network behind an attachment: the ``type`` of its CNI configuration, or of the
    first plugin, followed by ``/primary`` if OVN-Kubernetes makes it a primary one. Empty:
    unknown."""
    try:
        data = json.loads(config or "")
    except (ValueError, RecursionError):
        return ""
    if isinstance(data, dict) and isinstance(data.get("plugins"), list) and data["plugins"]:
        data = data["plugins"][0]
    kind = data.get("type") if isinstance(data, dict) else None
    if not isinstance(kind, str):
        return ""
    return f"{kind}/primary" if data.get("role") == "primary" else kind


@lru_cache(maxsize=8)
def in_folder(folder: str) -> Referred:
    """The objects that the files of a folder define. Files that cannot be read define nothing.

    Cached until :func:`note_replaced`, because this is called for each manifest of a folder.
    """
    found, total = Referred({}, {}, {}), 0
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
    except OSError:
        return found
    for name in names[:_MAX_FILES]:
        path = os.path.join(folder, name)
        data = _file_content(path)
        total += len(data)
        if total > _MAX_TOTAL:
            break
        if _OF_INTEREST_IN_BYTES.search(data):
            with suppress(TargetError):
                for item in objects_of(data, path):
                    if isinstance(item, Object):
                        found.add(item, path)
    return found


def note_replaced(before: bytes, after: bytes) -> None:
    """Drop the cache if a file that was replaced defines, or defined, such objects."""
    if _OF_INTEREST_IN_BYTES.search(before) or _OF_INTEREST_IN_BYTES.search(after):
        in_folder.cache_clear()


def is_of_interest(text: str) -> bool:
    """True if a text holds preferences, instance types or network attachments."""
    return _OF_INTEREST.search(text) is not None


def _file_content(path: str) -> bytes:
    """A regular file of moderate size; empty for anything else."""
    try:
        data = read_regular(path, _MAX_FILE + 1)
    except OSError:
        return b""
    return data if len(data) <= _MAX_FILE else b""


def _without_place(preference: Preference) -> Preference:
    return replace(preference, target="", location=Location(""), places=())


# How KubeVirt connects an interface: its binding, its network, and the plugin behind that network.
#
# The seven ways that J. Meng and M. Coquelin compare ("Beam Me Through the Datapath: VDUSE for
# OpenShift Virtualization"), and all others.


METHODS = ("masquerade", "bridge", "sriov", "passtBinding", "slirp", "macvtap", "passt")
"""Keys of an interface, one of which says how it is bound; ``binding`` names a plugin."""

_TYPES = {
    "masquerade": "ethernet",
    "bridge": "ethernet",
    "l2bridge": "ethernet",
    "macvtap": "ethernet",
    "sriov": "hostdev",
    "passtBinding": "vhostuser",
    "passt": "vhostuser",
    "slirp": "user",
}
"""Binding -> libvirt's interface type, if KubeVirt decides it; other plugins do it themselves
(``pkg/virt-launcher/virtwrap/converter/network``)."""

_EITHER = "bridge or masquerade"
"""KubeVirt's own default, and that of HyperConverged."""
_OVN = "ovn-k8s-cni-overlay"
_VDPA = ("vdpa", "vduse")


class NicWiring(NamedTuple):
    """``name`` as listed in docs/how-to/kubevirt.md; ``binding`` as in the manifest; ``type``
    libvirt's, None if a plugin decides it; ``network`` is ``pod`` or the attachment's name, after
    its namespace if that is known: a name without one is in the virtual machine's own."""

    name: str
    binding: str | None
    type: str | None
    network: str | None
    plugin: bool = False


def wiring_of(
    interface: YamlPlace, networks: YamlPlace | None, known: list[Referred], namespace: str | None
) -> NicWiring:
    """How one interface is connected."""
    named = interface.child("binding")
    plugin = named is not None
    binding = next((key for key in METHODS if interface.child(key) is not None), None)
    if named is not None:
        binding = text_at(named, "name")
    name = text_at(interface, "name")
    of_name = (
        each for each in items_at(networks) if name is not None and text_at(each, "name") == name
    )
    network = next(of_name, None)
    attached = text_at(network, "multus", "networkName")
    kind = "" if attached is None else _attachment(attached, known, namespace)
    on_pod = network is not None and network.child("pod") is not None
    way = _name(binding, plugin=plugin, on_pod=on_pod, kind=kind)
    if network is None and binding == "bridge":
        way = "bridge"  # to an unknown network
    libvirts = _type(way, binding)
    qualified = attached and namespace and "/" not in attached
    where = f"{namespace}/{attached}" if qualified else attached
    return NicWiring(way, binding, libvirts, where or ("pod" if on_pod else None), plugin)


def wiring_in_instance(
    binding: str | None, network: str | None, known: list[Referred], *, plugin: bool
) -> NicWiring:
    """How an interface of an instance is connected. ``network``: ``pod``, or an attachment after
    its namespace."""
    kind = "" if network in (None, "pod") else _attachment(network, known, None)
    name = _name(binding, plugin=plugin, on_pod=network == "pod", kind=kind)
    return NicWiring(name, binding, _type(name, binding), network, plugin)


def _type(name: str, binding: str | None) -> str | None:
    return "vdpa" if name == "vhost-vdpa" else _TYPES.get(binding or "")


def _attachment(attached: str, known: list[Referred], namespace: str | None) -> str:
    space, slash, name = attached.rpartition("/")
    where = space if slash else namespace
    return next((kind for each in known if (kind := each.network(where, name))), "")


def _name(binding: str | None, *, plugin: bool, on_pod: bool, kind: str) -> str:
    if binding is None:
        return "plugin" if plugin else "not said"
    if plugin:
        if any(word in binding.lower() for word in _VDPA):
            return "vhost-vdpa"
        return {"l2bridge": "udn", "passt": "passt"}.get(binding, f"plugin {binding}")
    if binding == "bridge":
        return "pod-bridge" if on_pod else _name_of_secondary(kind)
    return {"sriov": "sriov-vfio", "passtBinding": "passt"}.get(binding, binding)


def _name_of_secondary(kind: str) -> str:
    if kind.partition("/")[0] == _OVN:
        return "udn" if kind.endswith("/primary") else "ovn-secondary"
    if "sriov" in kind:
        return "sriov-netdev"
    return f"secondary {kind}" if kind else "secondary"


Places = tuple[tuple[str, Location], ...]


def nics_of(
    found: Object, spec: YamlPlace, prefers: Preference | None, known: list[Referred], target: str
) -> tuple[Nic, ...]:
    """The NICs of a virtual machine in order, except those that are ``absent``, which KubeVirt
    unplugs, unless it refuses them. If two in a template have the same MAC address and are under
    conditions, only one of them exists."""
    domain = spec.child("domain") or spec
    devices = domain.child("devices")
    interfaces = place_at(devices, "interfaces")
    networks = spec.child("networks")
    own = place_at(devices, "networkInterfaceMultiqueue")
    shared: Places = (("multiqueue", location_of(own or devices or domain, target)),)
    if devices is None or interfaces is None or _is_empty(interfaces):
        binding, reasons = settings_among(known).binding, not_admitted(spec, prefers=True)
        added = _default(spec, prefers, binding, target, shared)
        return tuple(_refused(nic, tuple(reasons.get(0, ())), target) for nic in added)
    way = VM_SPEC.get(found.kind)
    prefers_any = way is not None and found.place.at(*way, "preference") is not None
    refused = not_admitted(spec, prefers=prefers_any)
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
            boot_order=integer_at(place, "bootOrder"),
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


def _default(
    spec: YamlPlace, prefers: Preference | None, binding: str | None, target: str, shared: Places
) -> tuple[Nic, ...]:
    """The NIC that KubeVirt adds if a manifest names neither interface nor network. ``binding`` is
    set in the KubeVirt object; unknown without it, since HyperConverged sets another than
    KubeVirt's own default.

    Source: ``SetDefaultNetworkInterface`` in KubeVirt's ``pkg/network/vmispec/defaults.go``.
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
    wiring, kind = _EITHER, "ethernet"
    if binding is not None:
        wiring = _name(binding, plugin=False, on_pod=True, kind="")
        kind = _TYPES.get(binding, kind)
    config = NicConfig(kind, origin="default", actual_type=kind, binding=binding)
    return (Nic(0, config, place, source="pod", alias="default", wiring=wiring, places=shared),)
