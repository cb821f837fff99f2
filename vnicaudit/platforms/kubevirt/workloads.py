"""The ends of a flow in a cluster: which pods, or which virtual machine, where they run, and how
they are attached.

Sources: ``getNewReplicaSet`` in pkg/controller/deployment/sync.go of Kubernetes (the name of a
ReplicaSet is that of its Deployment and the pods' ``pod-template-hash``); the types of CNI plugins
are the names of their programs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from vnicaudit.errors import UsageError
from vnicaudit.model.cluster import OVN, Attachment, VmSettings
from vnicaudit.platforms.kubevirt.cluster_guests import instance_of
from vnicaudit.platforms.kubevirt.cluster_objects import ENDED, metadata_of, pod_of
from vnicaudit.platforms.kubevirt.objects import Object, boolean_at

_FORMS = 'write "NAMESPACE/NAME", "NAMESPACE/KEY=VALUE" (a label) or "vm/NAMESPACE/NAME"'
_NAMESPACE = r"(?P<namespace>[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)"
_NAME = r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?"
_WORD = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
_LABEL = rf"(?P<key>({_NAME}/)?{_WORD})=(?P<value>({_WORD})?)"
_OF_PODS = re.compile(rf"{_NAMESPACE}/({_LABEL}|(?P<name>{_NAME}))")
_OF_VM = re.compile(rf"vm/{_NAMESPACE}/(?P<name>{_NAME})")
_HASH = "pod-template-hash"
_DEFAULT = "v1.multus-cni.io/default-network"
"""Annotation of a pod with another network in the place of the default one (Multus)."""


class Selector(NamedTuple):
    """The end of a flow. ``label``: key and value; else ``name`` is that of a virtual machine, a
    pod, or what controls pods."""

    namespace: str
    name: str = ""
    label: tuple[str, str] | None = None
    is_vm: bool = False


def selector_of(text: str, field: str) -> Selector:
    """The selector that a flow has in a field. Raises UsageError."""
    if found := _OF_PODS.fullmatch(text):
        label = (found["key"], found["value"]) if found["key"] else None
        return Selector(found["namespace"], found["name"] or "", label)
    if found := _OF_VM.fullmatch(text):
        return Selector(found["namespace"], found["name"], is_vm=True)
    raise UsageError(f"{field}: {text!r} selects nothing in a cluster: {_FORMS}")


class Member(NamedTuple):
    """A pod, or the instance of a virtual machine. ``networks``: the network of each of its NICs
    with its binding, that of a pod's being empty; network None: that of pods by default; empty:
    not told. ``owner``: kind and name of what is attached."""

    node: str
    networks: tuple[tuple[str | None, str], ...]
    owner: str
    vcpus: int | None = None
    queues: int | None = None
    host_network: bool = False


def pod_among(found: Object, selectors: Iterable[Selector]) -> tuple[Member, list[Selector]] | None:
    """A Pod, and those that select it; None: it has ended, or is that of a virtual machine."""
    pod, marks = pod_of(found), metadata_of(found.place)
    if pod is None or marks.labels.get("kubevirt.io") == "virt-launcher":
        return None
    owner = next((one for one in marks.references if one.controls), None)
    kind, name = ("Pod", pod.name) if owner is None else (owner.kind, owner.name)
    names = {pod.name, name}
    suffix = f"-{marks.labels.get(_HASH)}"
    if kind == "ReplicaSet" and name.endswith(suffix):
        kind, name = "Deployment", name.removesuffix(suffix)
        names.add(name)
    first = "" if _DEFAULT in marks.annotations else None
    member = Member(
        node=pod.node,
        networks=((first, ""), *((one, "") for one in pod.networks)),
        owner=f"{kind}/{name}",
        host_network=bool(boolean_at(found.place, "spec", "hostNetwork")),
    )
    return member, [
        one for one in selectors
        if one.namespace == pod.namespace and not one.is_vm and _selects(one, names, marks.labels)
    ]  # fmt: skip


def _selects(one: Selector, names: Collection[str], labels: Mapping[str, str]) -> bool:
    if one.label is None:
        return one.name in names
    return labels.get(one.label[0]) == one.label[1]


def instance_member(found: Object) -> Member | None:
    """A VirtualMachineInstance; None: it has ended, or is being deleted."""
    instance = instance_of(found, None)
    if instance.deleting or instance.phase in ENDED:
        return None
    cpu = instance.current or (instance.settings or VmSettings()).cpu
    queues = [one.queues for one in instance.status.values() if one.queues]
    return Member(
        node=instance.node or "",
        networks=tuple(
            (None if one.network == "pod" else one.network or "", one.binding or "?")
            for one in instance.specs.values()
        ),
        owner=f"VirtualMachine/{found.name}",
        vcpus=None if cpu is None else cpu.count,
        queues=max(queues, default=None),
    )


# How they are attached.

_TYPES = {
    "ipvlan": "ipvlan-l2", "macvlan": "macvlan", "host-device": "host-device",
    "bridge": "linux-bridge", "cnv-bridge": "linux-bridge",
}  # fmt: skip
"""Type of a CNI plugin -> the attachment."""
_BINDINGS = {"masquerade": "masquerade", "bridge": "pod-bridge"}
"""Binding of a virtual machine's NIC in the network of pods -> the attachment."""
_PRIMARY = ("l2bridge", "primary-udn")
"""The plug-in that connects a virtual machine with a primary user-defined network."""
_DRIVERS = {"netdevice": "sriov-netdev", "vfio-pci": "sriov-vfio"}
"""``deviceType`` of a pool of virtual functions -> the attachment."""


class ClusterNetworks(NamedTuple):
    """Definitions of attachments, and of pools of virtual functions. ``attachments`` None: they
    were not read. ``pools``: resource name -> ``deviceType``."""

    attachments: Mapping[str, Attachment] | None
    pools: Mapping[str, str]

    def attached(self, member: Member, namespace: str) -> list[str]:
        """The attachment of each NIC of a pod or a virtual machine; empty: none that is known."""
        if member.host_network:
            return ["host-network"]
        return [self._attached(*each, namespace) for each in member.networks]

    def _attached(self, network: str | None, binding: str, namespace: str) -> str:
        if network is None:
            own = self._of_pods(namespace)
            is_own = not binding or (binding, own) == _PRIMARY
            return own if is_own else _BINDINGS.get(binding, "")
        kind = self._kind((self.attachments or {}).get(network))
        return binding if binding == "passt" else kind

    def _of_pods(self, namespace: str) -> str:
        """The network of pods by default, or the user-defined one that is primary."""
        if self.attachments is None:
            return ""
        own = (one for one in self.attachments.values() if one.namespace == namespace)
        return "primary-udn" if any(self._kind(one) == "primary-udn" for one in own) else "default"

    def _kind(self, found: Attachment | None) -> str:
        plugin = found.plugins[0] if found is not None and found.plugins else None
        if found is None or plugin is None or plugin.type is None:
            return ""
        if plugin.type == OVN:
            is_primary = plugin.settings.get("role") == "primary"
            is_localnet = plugin.settings.get("topology") == "localnet"
            return "primary-udn" if is_primary else "ovn-localnet" if is_localnet else ""
        if plugin.type == "sriov":
            return _DRIVERS.get(self.pools.get(found.resource.rpartition("/")[2], ""), "")
        if plugin.type == "ipvlan" and plugin.settings.get("mode", "l2") != "l2":
            return ""
        return _TYPES.get(plugin.type, "")
