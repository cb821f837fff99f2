"""The objects of a cluster -> the facts of a scenario. The file that describes its flows has the
last word; where the cluster says otherwise, both are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.wording import first_names, plain
from vnicaudit.model.cluster import Attachment
from vnicaudit.model.scenario import FlowNetwork, Scenario, TrafficFlow
from vnicaudit.platforms.kubevirt.cluster_objects import attachment_of
from vnicaudit.platforms.kubevirt.cluster_platform import (
    NodeNics,
    NodePlatform,
    PlatformSources,
    ScenarioFact,
    nics_of,
    node_facts,
    platform_facts,
)
from vnicaudit.platforms.kubevirt.objects import Object, boolean_at, items_at, text_at
from vnicaudit.platforms.kubevirt.workloads import (
    ClusterNetworks,
    Member,
    Selector,
    instance_member,
    pod_among,
    selector_of,
)

T = TypeVar("T", bound=msgspec.Struct)
_CHANGED = ("Deployment", "StatefulSet", "DaemonSet", "VirtualMachine")
"""Kinds of objects that manifests are written for."""
_NIC = ("master", "device")
"""Settings of CNI plugins that name a NIC of the node."""


ROUTER_SPACE = "openshift-ingress"
ROUTER = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller"
"""Namespace and label of OpenShift's router pods (cluster-ingress-operator)."""


class _End(NamedTuple):
    """The end of a flow, and its pods or its virtual machine."""

    selector: Selector
    members: list[Member]


class ScenarioReading:
    """The objects of a cluster, as they come. Raises UsageError for a flow whose end is selected in
    no form that is known. ``has_multus``: the cluster serves NetworkAttachmentDefinitions.
    ``rights``: namespace -> whether this user may create one there; those that are not known are
    not in it. ``unread``: keys of the lists that were not read, or not completely."""

    def __init__(self, given: Scenario) -> None:
        self._given = given
        self.has_multus = False
        self._ends: dict[str, tuple[Selector | None, Selector | None]] = {}
        for number, flow in enumerate(given.flows, 1):
            fields = ((flow.source_is, "source_is"), (flow.target_is, "target_is"))
            source, target = (
                selector_of(text, f"[[flow]] {number}: {name}") if text else None
                for text, name in fields
            )
            self._ends[flow.name] = source, target
        self.rights: dict[str, bool] = {}
        self.unread: set[str] = set()
        self.notes: list[str] = []
        self._members: dict[Selector, dict[str, Member]] = {one: {} for one in self.selectors}
        self._nodes: dict[str, NodePlatform] = {}
        self._nics: dict[str, NodeNics] = {}
        self._routers: list[str] = []
        self._attachments: dict[str, Attachment] = {}
        self._pools: dict[str, str] = {}
        self._settings: dict[str, str] = {}

    @property
    def selectors(self) -> list[Selector]:
        """Those of all flows."""
        return [*dict.fromkeys(one for ends in self._ends.values() for one in ends if one)]

    # Objects.

    def take(self, found: Object, target: str) -> None:
        """One object."""
        name, place = found.name or "", found.place
        if found.kind == "Node":
            self._nodes[name] = node_facts(found)
        elif found.kind == "NodeNetworkState":
            self._nics[name] = nics_of(found)
        elif found.kind == "NetworkAttachmentDefinition":
            attachment = attachment_of(found, target)
            self._attachments[attachment.path] = attachment
        elif found.kind == "SriovNetworkNodePolicy":
            pool = text_at(place, "spec", "resourceName") or ""
            self._pools[pool] = text_at(place, "spec", "deviceType") or "netdevice"
        elif found.kind == "Pod":
            self._take_pod(found)
        elif found.kind == "VirtualMachineInstance":
            one = Selector(found.namespace or "", name, is_vm=True)
            if one in self._members and (member := instance_member(found)) is not None:
                self._members[one][name] = member
        else:
            self._take_settings(found)

    def _take_pod(self, found: Object) -> None:
        if (taken := pod_among(found, self._members)) is None:
            return
        for selector in taken[1]:
            self._members[selector][found.name or ""] = taken[0]
        if text_at(found.place, "metadata", "labels", ROUTER) and found.namespace == ROUTER_SPACE:
            self._routers.append(taken[0].node)

    def _take_settings(self, found: Object) -> None:
        """An object of which a cluster has one."""
        place = found.place
        texts = {
            "type": text_at(place, "status", "networkType"),
            "kubevirt": text_at(place, "status", "observedKubeVirtVersion"),
        }
        if found.kind == "ClusterVersion":
            done = (
                text_at(one, "version") for one in items_at(place, "status", "history")
                if text_at(one, "state") == "Completed"
            )  # fmt: skip
            texts["openshift"] = next(done, None)
        elif found.group == "operator.openshift.io":
            used = boolean_at(place, "spec", "useMultiNetworkPolicy")
            self.notes.append(
                f"MultiNetworkPolicy is {'on' if used else 'off'} (Network cluster of "
                "operator.openshift.io: useMultiNetworkPolicy)"
            )
        self._settings |= {key: text for key, text in texts.items() if text}

    # The scenario.

    def scenario(self) -> Scenario:
        """The scenario of the file, and of the cluster beyond it. ``notes`` then tell what was
        filled in, what was not, and where the two differ."""
        platform = self._filled(self._given.platform, [*self._platform()], "platform")
        flows = tuple(self._flow(one) for one in self._given.flows)
        return replace(self._given, platform=platform, flows=flows)

    def _filled(self, given: T, facts: list[ScenarioFact], where: str) -> T:
        changes: dict[str, object] = {}
        told: list[str] = []
        for name, value, source in facts:
            said = getattr(given, name)
            if value is None:
                self.notes += [f"{where}.{name}: {source}"] if said is None and source else []
            elif said is None:
                changes[name] = value
                told.append(f"{name} = {_toml(value)} ({source})")
            elif said != value and not f"{value}.".startswith(f"{said}.".removeprefix("v")):
                self.notes.append(
                    f"{where}.{name}: {_toml(said)} is taken, as the file says; in the cluster it "
                    f"is {_toml(value)} ({source})"
                )
        if told:
            self.notes.append(f"{where}, from the cluster: {'; '.join(told)}")
        return replace(given, **changes)

    def _platform(self) -> Iterator[ScenarioFact]:
        nodes = {} if "nodes" in self.unread else self._nodes
        on = {one.node for each in self._members.values() for one in each.values()}
        routers = (name for name in self._routers if name in nodes)
        yield from platform_facts(
            PlatformSources(
                nodes={name: one for name, one in nodes.items() if name in on}
                or {name: one for name, one in nodes.items() if one.is_compute}
                or nodes,
                nics={} if "nodenetworkstates" in self.unread else self._nics,
                settings=self._settings,
                pools=self._pools,
                routers={name: nodes[name].is_compute for name in routers},
                lent=self._lent,
            )
        )
        told = f"NetworkAttachmentDefinitions are {'' if self.has_multus else 'not '}served"
        yield ScenarioFact("multus", self.has_multus, told)
        if self.rights:
            refused = [name for name, allowed in self.rights.items() if not allowed]
            where = f"{'not ' if refused else ''}in {', '.join(refused or self.rights)}"
            yield ScenarioFact("may_create_nads", not refused, f"SelfSubjectAccessReview: {where}")

    @property
    def _known_attachments(self) -> dict[str, Attachment] | None:
        return None if "network-attachment-definitions" in self.unread else self._attachments

    @property
    def _lent(self) -> frozenset[str] | None:
        """NICs of nodes that attachments name."""
        known = self._known_attachments
        plugins = [plugin for each in (known or {}).values() for plugin in each.plugins]
        names = (plugin.settings.get(key, "") for plugin in plugins for key in _NIC)
        return None if known is None else frozenset(names)

    # One flow.

    def _flow(self, flow: TrafficFlow) -> TrafficFlow:
        where = f"flow {plain(flow.name)}"
        ends = []
        fields = (("from", flow.source), ("to", flow.to))
        for (field, said), selector in zip(fields, self._ends[flow.name], strict=True):
            if selector is None:
                continue
            ends.append(_End(selector, [*self._members[selector].values()]))
            kind, words = ("vm", "virtual machines") if selector.is_vm else ("pod", "pods")
            if said != kind:
                self.notes.append(
                    f"{where}: {field} = {_toml(said)} is taken, as the file says; "
                    f"{_text_of(selector)} selects {words}"
                )
            if not ends[-1].members and not self._is_unread(selector):
                self.notes.append(f"{where}: none of the running {words} is {_text_of(selector)}")
        if not ends or not all(end.members and not self._is_unread(end.selector) for end in ends):
            return flow
        known = ClusterNetworks(self._known_attachments, self._pools)
        facts = [*_placement(ends), *_guest_facts(ends), _present(ends, known, flow.present)]
        return _with_network(self._filled(flow, facts, where), ends)

    def _is_unread(self, selector: Selector) -> bool:
        plural = "virtualmachineinstances" if selector.is_vm else "pods"
        return f"{selector.namespace}/{plural}" in self.unread


def _present(ends: list[_End], known: ClusterNetworks, said: str | None) -> ScenarioFact:
    """The attachment that is in use: of virtual machines, if there is one; of ends with several
    networks it is not told which the flow uses."""
    judged = [end for end in ends if end.selector.is_vm] or ends
    ways = {
        tuple(known.attached(one, end.selector.namespace)) for end in judged for one in end.members
    }
    seen = sorted({kind or "one that is not known here" for way in ways for kind in way})
    told = ", ".join(seen) or "no network"
    if said in seen or any(len(way) != 1 or "" in way for way in ways) or len(ways) > 1:
        value = said if said in seen else None if said is None else told
        why = f"its ends have {told}; say which of them the flow uses"
        return ScenarioFact("present", value, why)
    return ScenarioFact("present", told, "how its ends are attached")


def _with_network(flow: TrafficFlow, ends: list[_End]) -> TrafficFlow:
    """With the namespace, and the object that is attached, for manifests."""
    end = next((each for each in ends if each.selector.is_vm), ends[0])
    owners = {one.owner for one in end.members}
    own = owners.pop() if len(owners) == 1 else ""
    network = flow.network or FlowNetwork()
    network = replace(
        network,
        namespace=network.namespace or end.selector.namespace,
        workload=network.workload or (own if own.partition("/")[0] in _CHANGED else None),
    )
    return replace(flow, network=network)


def _placement(ends: list[_End]) -> Iterator[ScenarioFact]:
    """Where the ends are, as it is seen now."""
    on = [Counter(one.node for one in end.members) for end in ends]
    both = sum(on, Counter[str]())
    if both[""]:
        yield ScenarioFact("nodes", None, "some of its pods are on no node yet")
        return
    yield ScenarioFact("pods_per_node", max(both.values()), "the most on one node now")
    if len(on) > 1:
        apart = not on[0].keys() & on[1].keys()
        nodes = "same" if len(both) == 1 else "cross" if apart else None
        seen = f"now on {_names([*on[0]])} and on {_names([*on[1]])}"
        asked = '; say "either" if that is open' if nodes else ': say "same", "cross" or "either"'
        yield ScenarioFact("nodes", nodes, f"{seen}{asked}")


def _guest_facts(ends: list[_End]) -> Iterator[ScenarioFact]:
    guests = [one for end in ends if end.selector.is_vm for one in end.members]
    for name in ("vcpus", "queues"):
        values = {getattr(one, name) for one in guests}
        if len(values) == 1 and (value := values.pop()):
            yield ScenarioFact(name, value, "the running instance")


def _names(nodes: list[str]) -> str:
    return first_names([*map(plain, sorted(nodes))])


def _text_of(selector: Selector) -> str:
    rest = "=".join(selector.label) if selector.label else selector.name
    return plain(f"{'vm/' * selector.is_vm}{selector.namespace}/{rest}")


def _toml(value: object) -> str:
    if isinstance(value, str):
        return f'"{plain(value)}"'
    return str(value).lower() if isinstance(value, bool) else str(value)
