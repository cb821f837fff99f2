"""Nodes and settings of a cluster -> the facts of a scenario's platform.

Sources: ``getHypervisorFromProcSysinfo`` in source/cpu/cpu.go of node-feature-discovery 0.19.0 (the
control program of ``/proc/sysinfo``, made a label; ``none`` in an LPAR); ``OvnNodeSubnets`` in
go-controller/pkg/util/subnet_annotations.go of ovn-kubernetes; rust/src/lib/nispor/{base_iface,
ethernet}.rs and ifaces/ovs.rs of nmstate 614c66dc: ``up`` is IFF_UP, and a speed is shown where the
kernel tells one, so that there is a link; config/v1/types_{network,cluster_version}.go and
operator/v1/types_network.go of openshift/api 2a3d7391; api/v1/sriovnetworknodepolicy_types.go of
sriov-network-operator 249e2001.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vnicaudit.base.wording import plain
from vnicaudit.platforms.kubevirt.cluster_objects import metadata_of, texts_of
from vnicaudit.platforms.kubevirt.objects import Object, integer_at, items_at, text_at
from vnicaudit.text.yaml_nodes import YamlPlace

_CONTROL_PROGRAM = "feature.node.kubernetes.io/cpu-model.hypervisor"
_KINDS = {"none": "z-lpar", "z_VM": "z-vm", "KVM": "z-kvm"}
"""How the label of a node of s390x begins -> the kind of platform."""
_ARCHES = {"amd64": "x86"}
_PLUGINS = {
    "k8s.ovn.org/node-subnets": "ovn-kubernetes",
    "projectcalico.org/IPv4Address": "other",
    "flannel.alpha.coreos.com/backend-type": "other",
}
"""Annotation that a network plug-in gives each of its nodes -> ``platform.sdn``."""
_NETWORK_TYPES = {"OpenShiftSDN": "openshift-sdn", "OVNKubernetes": "ovn-kubernetes"}
"""``status.networkType`` of OpenShift -> ``platform.sdn``."""
_ROLE = "node-role.kubernetes.io/"
_VERSION = re.compile(r"v?(\d{1,4}\.\d{1,4}(?:\.\d{1,4})?)")
_BY_HAND = "give it by hand"


class NodePlatform(NamedTuple):
    """One node. ``kind``: of its platform; empty: nothing on it tells. ``plugins``: what its
    annotations say of its network plug-in. ``resources``: those that it has at least one of."""

    arch: str
    kind: str
    plugins: frozenset[str]
    is_compute: bool
    resources: frozenset[str]


def node_facts(found: Object) -> NodePlatform:
    """A Node."""
    marks, place = metadata_of(found.place), found.place
    arch = text_at(place, "status", "nodeInfo", "architecture") or ""
    offered = texts_of(place.at("status", "allocatable"))
    program = marks.labels.get(_CONTROL_PROGRAM, "")
    kind_on_z = next((kind for start, kind in _KINDS.items() if program.startswith(start)), "")
    return NodePlatform(
        arch=arch,
        kind=kind_on_z if arch == "s390x" else _ARCHES.get(arch, arch and "other"),
        plugins=frozenset(_PLUGINS[name] for name in _PLUGINS.keys() & marks.annotations.keys()),
        is_compute=f"{_ROLE}worker" in marks.labels and f"{_ROLE}infra" not in marks.labels,
        resources=frozenset(name for name, count in offered.items() if count != "0"),
    )


class NodeNics(NamedTuple):
    """The NICs of a node. ``linked``: those with a link that nothing on it uses; ``unsure``: of
    which the link, or whether they are virtual functions, is not told. ``speeds`` (Mb/s) and
    ``mtus``: of all with a link. ``functions``: it has virtual functions, or may have them.
    ``ovs``: ``kernel`` or ``dpdk``; empty: no bridge of Open vSwitch, or not certain."""

    linked: frozenset[str]
    unsure: frozenset[str]
    speeds: frozenset[int]
    mtus: frozenset[int]
    functions: bool
    ovs: str


def nics_of(state: Object) -> NodeNics:
    """A NodeNetworkState of nmstate."""
    interfaces = items_at(state.place, "status", "currentState", "interfaces")
    used = {text for each in interfaces for text in _texts_within(each)}
    totals = (each.at("ethernet", "sr-iov", "total-vfs") for each in interfaces)
    functions = any(total is not None and total.integer != 0 for total in totals)
    nics = [each for each in interfaces if text_at(each, "type") == "ethernet"]
    linked = {
        text_at(each, "name") or "": each for each in nics
        if each.at("ethernet", "speed") is not None and text_at(each, "state") == "up"
    }  # fmt: skip
    spare = {
        name for each in nics if not _is_used(each)
        and (name := text_at(each, "name") or "") not in used
    }  # fmt: skip
    certain = spare & linked.keys() if not functions else set()
    return NodeNics(
        linked=frozenset(certain),
        unsure=frozenset(spare - certain),
        speeds=_numbers(linked.values(), "ethernet", "speed"),
        mtus=_numbers(linked.values(), "mtu"),
        functions=functions,
        ovs=_ovs_of(interfaces),
    )


def _numbers(interfaces: Iterable[YamlPlace], *way: str) -> frozenset[int]:
    numbers = (integer_at(each, *way) for each in interfaces)
    return frozenset(filter(None, numbers))


def _texts_within(interface: YamlPlace) -> Iterator[str]:
    """The texts in the settings of an interface, among which its ports and its base are: NICs that
    any of them names count as used."""
    pending = [place for key in interface.names() if (place := interface.child(key)) is not None]
    pending = [inner for place in pending for inner in _inside(place)]
    while pending:
        place = pending.pop()
        if place.text is not None:
            yield place.text
        pending += _inside(place)


def _inside(place: YamlPlace) -> list[YamlPlace]:
    inner = [found for key in place.names() if (found := place.child(key)) is not None]
    return inner or place.items()


def _is_used(interface: YamlPlace) -> bool:
    """True for a port, and for an interface with an address beyond that of its link."""
    addresses = [
        text_at(each, "ip") or ""
        for family in ("ipv4", "ipv6")
        for each in items_at(interface, family, "address")
    ]
    further = [one for one in addresses if not one.lower().startswith("fe80:")]
    return bool(further or text_at(interface, "controller"))


def _ovs_of(interfaces: list[YamlPlace]) -> str:
    if any(each.child("dpdk") is not None for each in interfaces):
        return "dpdk"
    bridges = [each for each in interfaces if text_at(each, "type") == "ovs-bridge"]
    kinds = {text_at(each, "bridge", "options", "datapath") or "system" for each in bridges}
    return "kernel" if kinds == {"system"} else ""


# The facts.


class ScenarioFact(NamedTuple):
    """``value`` None: the cluster does not tell. ``source``: where it is from, or why not; empty:
    nothing is told of that."""

    name: str
    value: object
    source: str


class PlatformSources(NamedTuple):
    """Objects of a cluster that tell of its platform. ``nodes``: those that the flows are on, or
    all. ``settings``: key of a fact -> its text. ``pools``: resource name -> ``deviceType``.
    ``routers``: node of a router pod of OpenShift -> it is a compute node. ``lent``: NICs that
    attachments name; None: those were not read."""

    nodes: Mapping[str, NodePlatform]
    nics: Mapping[str, NodeNics]
    settings: Mapping[str, str]
    pools: Mapping[str, str]
    routers: Mapping[str, bool]
    lent: frozenset[str] | None


def platform_facts(known: PlatformSources) -> Iterator[ScenarioFact]:
    """The facts of the platform that a cluster tells, and why not of those that it might."""
    if known.nodes:
        yield _kind_of(known.nodes)
    if known.nodes or "type" in known.settings:
        yield _plugin_of(known)
    for name in ("openshift", "kubevirt"):
        if match := _VERSION.match(known.settings.get(name, "")):
            yield ScenarioFact(name, match[1], "its own status")
    if any(known.routers.values()):
        on = next(node for node, is_compute in known.routers.items() if is_compute)
        yield ScenarioFact("infra_pods_on_compute", True, f"a router pod is on {plain(on)}")
    yield from _nic_facts(known)


def _kind_of(nodes: Mapping[str, NodePlatform]) -> ScenarioFact:
    kinds = {each.kind for each in nodes.values()}
    arches = {each.arch for each in nodes.values()}
    if len(kinds) == 1 and "" not in kinds:
        told = f"label {_CONTROL_PROGRAM}" if arches == {"s390x"} else "architecture"
        return ScenarioFact("kind", kinds.pop(), f"{told} of the nodes")
    if arches == {"s390x"} and kinds == {""}:
        why = (
            "the nodes are of s390x, and no label of node-feature-discovery (0.19 or later) says "
            f"on what; {_BY_HAND}: grep 'Control Program' /proc/sysinfo on a node (none: z-lpar)"
        )
    else:
        seen = ", ".join(sorted(filter(None, arches | kinds)))
        why = f"the nodes differ ({plain(seen)}); {_BY_HAND}"
    return ScenarioFact("kind", None, why)


def _plugin_of(known: PlatformSources) -> ScenarioFact:
    named = known.settings.get("type")
    if named:
        source = f"Network cluster of config.openshift.io: {plain(named)}"
        return ScenarioFact("sdn", _NETWORK_TYPES.get(named, "other"), source)
    plugins = {each.plugins for each in known.nodes.values()}
    if len(plugins) == 1 and len(one := plugins.pop()) == 1:
        return ScenarioFact("sdn", next(iter(one)), "annotations of the nodes")
    return ScenarioFact("sdn", None, f"nothing in the cluster says for certain; {_BY_HAND}")


def _nic_facts(known: PlatformSources) -> Iterator[ScenarioFact]:
    pools = {name for each in known.nodes.values() for name in each.resources}
    offered = sorted(known.pools.keys() & {name.rpartition("/")[2] for name in pools})
    if offered:
        yield ScenarioFact("sriov", True, f"nodes offer {plain(', '.join(offered))}")
    nics = [known.nics[name] for name in known.nodes if name in known.nics]
    if not nics or len(nics) < len(known.nodes):
        why = "NodeNetworkState of nmstate was not read for each node" if known.nodes else ""
        yield ScenarioFact("spare_nics", None, why and f"{why}; {_BY_HAND}")
        return
    if not offered and any(each.functions for each in nics):
        yield ScenarioFact("sriov", True, "nmstate: virtual functions")
    ovs = {each.ovs for each in nics}
    if len(ovs) == 1 and (kind := ovs.pop()):
        yield ScenarioFact("ovs", kind, "nmstate: bridges of Open vSwitch")
    speeds = {speed for each in nics for speed in each.speeds}
    if len(speeds) == 1 and (speed := speeds.pop()) % 1000 == 0:
        yield ScenarioFact("nic_gbit", speed // 1000, "nmstate: speed of every NIC")
    mtus = {mtu for each in nics for mtu in each.mtus}
    if len(mtus) == 1:
        yield ScenarioFact("mtu", mtus.pop(), "nmstate: MTU of every NIC")
    if known.lent is None:
        yield ScenarioFact(
            "spare_nics", None, f"NICs that attachments use are not known; {_BY_HAND}"
        )
        return
    spare = {name: known.nics[name].linked - known.lent for name in known.nodes}
    unsure = {name: known.nics[name].unsure - known.lent for name in known.nodes}
    least = min(map(len, spare.values()))
    if least or not all(spare[name] or unsure[name] for name in spare):
        on_z = any(each.arch == "s390x" for each in known.nodes.values())
        kinds = "; whether OSA, RoCE or HiperSockets is not told" if on_z and least else ""
        yield ScenarioFact("spare_nics", least, f"nmstate: {_listed(spare)}{kinds}")
    else:
        why = "whether they have a link, or are virtual functions, is not told"
        yield ScenarioFact(
            "spare_nics", None, f"nothing uses {_listed(unsure)}, but {why}; {_BY_HAND}"
        )


_SHOWN = 5


def _listed(nics: Mapping[str, frozenset[str]]) -> str:
    some = [f"{name}: {', '.join(sorted(nics[name])) or 'none'}" for name in [*nics][:_SHOWN]]
    more = f" and {len(nics) - _SHOWN} more nodes" if len(nics) > _SHOWN else ""
    return plain("; ".join(some)) + more
