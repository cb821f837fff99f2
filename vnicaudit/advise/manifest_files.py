"""Files that an advised attachment needs, and how each is applied and undone.

Sources: NetConf of the plugins bridge, host-device, ipvlan, macvlan and static
(containernetworking/plugins at 3d27709f); multus-cni at 95a09323, examples/macvlan-pod.yml (``ips``
of the annotation go to plugins with that capability); types.NetConf of ovn-kubernetes at 6c366bb4;
kubernetes-nmstate at c9752755, docs/examples, and docs/content/user-guide/102-configuration.md (a
policy that is deleted leaves what it made); sriov-network-operator at 249e2001, doc/quickstart.md
(namespaces), pkg/webhook/validate.go (names of resources) and pkg/daemon/daemon.go (nodes may be
drained and restarted); ovn-kubernetes at 8871cd9c, CRD of UserDefinedNetwork; openshift-docs,
virt-creating-udn-namespace-cli.adoc (the label of namespaces) and
virt-connecting-vm-to-primary-udn.adoc (binding l2bridge of the pod network); docs/okeps of
ovn-kubernetes on localnet (MTU 1400, allowPersistentIPs); KubeVirt v1.9.0, fields of interfaces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple

from vnicaudit.advise.network_facts import VM, NetworkFacts, ip_of
from vnicaudit.errors import UsageError
from vnicaudit.model.cluster import POD_NETWORKS
from vnicaudit.model.scenario import AttachmentKind, ScenarioPlatform

Document = Mapping[str, object]

_ON_WORKERS = {"node-role.kubernetes.io/worker": ""}
_PRIMARY = "k8s.ovn.org/primary-user-defined-network"


CREATE, IF_CREATED = "kubectl create -f {file}", "only if `create` made it"
"""An object of that name that is there is somebody else's: it is neither changed nor removed."""
_ONLY_OURS = "Only if `create` made network {}/{}: one that was there is another"


class ManifestFile(NamedTuple):
    """One file before it is text. ``mind``: what it does beside its purpose. ``first``: the command
    that shows what it replaces. ``place``: what several flows change together. ``claims``: things
    and their uses; a thing has one use in all files. ``matter``: the part of the advice that it is
    made of. ``missing``: facts that it lacks."""

    name: str
    document: Document
    apply: str = CREATE
    undo: str = f"{IF_CREATED}, and once nothing uses it: kubectl delete -f {{file}}"
    mind: str = ""
    first: str = ""
    place: str = ""
    claims: tuple[tuple[str, str], ...] = ()
    matter: Literal["attachment", "placement"] = "attachment"
    missing: tuple[str, ...] = ()


MakeFile = Callable[[NetworkFacts], ManifestFile]


def joined(patches: Sequence[Document]) -> Document:
    """Several patches in one."""
    keys = dict.fromkeys(key for one in patches for key in one)
    return {key: _joined_parts([one[key] for one in patches if key in one]) for key in keys}


def _joined_parts(parts: Sequence[object]) -> object:
    """One part of several patches: an object, a list, or a list as JSON."""
    if objects := [one for one in parts if isinstance(one, Mapping)]:
        return joined(objects)
    if texts := [one for one in parts if isinstance(one, str)]:
        return json.dumps(_joined_parts([*map(json.loads, texts)]))
    items = (each for one in parts if isinstance(one, list) for each in one)
    return [*{json.dumps(each): each for each in items}.values()]


def makers_of(attachment: AttachmentKind, *, for_vm: bool) -> list[MakeFile]:
    """Makers of the files of an attachment; none: it needs no object, or there is none for it."""
    makers = [*_FILES.get(attachment, ())]
    if for_vm and attachment in _BINDINGS:
        makers.append(partial(_interface, attachment=attachment))
    return makers


def _object(kind: str, name: str, spec: Document, namespace: str = "") -> Document:
    """One of an operator's kinds, as ``group/version Kind``."""
    version, _space, word = kind.partition(" ")
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": version, "kind": word, "metadata": metadata, "spec": spec}


# Networks of pods.

_STATIC = {"capabilities": {"ips": True}, "ipam": {"type": "static"}}
"""The address is the pod's to say: host-local would give the same ones on every node."""


def _attachment(
    facts: NetworkFacts, config: Document, mind: str = "", *claims: tuple[str, str]
) -> ManifestFile:
    """A NetworkAttachmentDefinition, called after the flow."""
    text = json.dumps({"cniVersion": "0.3.1", "name": facts.name, **config}, indent=2)
    kind = "k8s.cni.cncf.io/v1 NetworkAttachmentDefinition"
    document = _object(kind, facts.name, {"config": text}, facts.text("namespace"))
    return ManifestFile(f"{facts.name}-network.yaml", document, mind=mind, claims=claims)


def _ipvlan(facts: NetworkFacts) -> ManifestFile:
    device = facts.text("device")
    config = {"type": "ipvlan", "master": device, "mode": "l2"} | _STATIC
    return _attachment(facts, config, "", (f"NIC {device}", "parent of IPVLAN"))


def _macvlan(facts: NetworkFacts) -> ManifestFile:
    device = facts.text("device")
    config = {"type": "macvlan", "master": device, "mode": "bridge"} | _STATIC
    return _attachment(facts, config, "", (f"NIC {device}", "parent of macvlan"))


def _host_device(facts: NetworkFacts) -> ManifestFile:
    mind = (
        "the NIC leaves its node for the pod, and comes back when the pod ends: it must not be the "
        "node's own way to the network, and one pod of a node can have it"
    )
    device, workload = facts.text("device"), facts.or_else("workload", facts.name)
    config = {"type": "host-device", "device": device} | _STATIC
    return _attachment(
        facts, config, mind, (f"NIC {device}", "given to a pod"),
        (f"VFs of NIC {device}", "with the NIC in a pod"),
        (f"NIC {device} in {workload}", f"network {facts.name}"),
    )  # fmt: skip


def _bridge(facts: NetworkFacts) -> ManifestFile:
    config = {
        "type": "bridge", "bridge": facts.text("bridge"), **_vlan(facts, "vlan"),
        "preserveDefaultVlan": False,
    }  # fmt: skip
    mind = "a plugin that does not know preserveDefaultVlan (1.1.1) sends its VLAN 1 there as well"
    return _attachment(facts, config, mind)


def _localnet(facts: NetworkFacts) -> ManifestFile:
    config: Document = {
        "type": "ovn-k8s-cni-overlay", "topology": "localnet",
        "physicalNetworkName": facts.or_else("physical_network", facts.name),
        "netAttachDefName": f"{facts.text('namespace')}/{facts.name}", **_vlan(facts, "vlanID"),
    }  # fmt: skip
    if facts.flow.fixed_ip:
        config = {**config, "subnets": facts.text("subnet"), "allowPersistentIPs": True}
    if facts.platform.mtu:
        return _attachment(facts, {**config, "mtu": facts.platform.mtu})
    return _attachment(
        facts, config, "without mtu, OVN-Kubernetes takes 1400, whatever the NIC has"
    )


def _vlan(facts: NetworkFacts, key: str) -> Document:
    """The VLAN; 0 is said of what is untagged."""
    number = facts.number("vlan")
    return {key: number} if number else {}


def _user_network(facts: NetworkFacts) -> ManifestFile:
    layer = {
        "role": "Primary",
        "subnets": [facts.text("subnet")],
        "ipam": {"lifecycle": "Persistent"},
    }
    spec = {"topology": "Layer2", "layer2": layer}
    kind = "k8s.ovn.org/v1 UserDefinedNetwork"
    mind = (
        f"the namespace must have had the label {_PRIMARY} when it was created, and no pods yet: "
        "their primary network is this one, apart from those of other namespaces"
    )
    space = facts.text("namespace")
    document = _object(kind, facts.name, spec, space)
    claim = (f"the primary network of namespace {space}", facts.name)
    return ManifestFile(f"{facts.name}-network.yaml", document, mind=mind, claims=(claim,))


# Settings of nodes.

_ON_NODES = (
    "it is for nodes with the label node-role.kubernetes.io/worker: change nodeSelector if yours "
    "are others"
)
_LEFT = (
    f"{IF_CREATED}: change `state` in it to absent, kubectl replace -f {{file}}, wait until the "
    "policy is Available, then kubectl delete -f {file}: deleting the policy alone leaves what it "
    "made"
)


def _policy(name: str, state: Document, mind: str, *claims: tuple[str, str]) -> ManifestFile:
    kind = "nmstate.io/v1 NodeNetworkConfigurationPolicy"
    document = _object(kind, name, {"nodeSelector": _ON_WORKERS, "desiredState": state})
    return ManifestFile(f"nodes-{name}.yaml", document, undo=_LEFT, mind=mind, claims=claims)


def _as_name(text: str) -> str:
    """A device or a resource in the name of an object."""
    return re.sub("[^a-z0-9]+", "-", text.lower()).strip("-") or "unnamed"


def _bridge_policy(facts: NetworkFacts) -> ManifestFile:
    bridge, device = facts.text("bridge"), facts.text("device")
    body = {"options": {"stp": {"enabled": False}}, "port": [{"name": device}]}
    interface = {
        "name": bridge, "type": "linux-bridge", "state": "up", "ipv4": {"enabled": False},
        "bridge": body,
    }  # fmt: skip
    mind = (
        "the NIC becomes a port of the bridge, which has no address: it must not be the node's own "
        f"way to the network. In addition, {_ON_NODES}"
    )
    claims = (f"NIC {device}", f"port of {bridge}"), (f"bridge {bridge}", f"with port {device}")
    return _policy(f"bridge-{_as_name(bridge)}", {"interfaces": [interface]}, mind, *claims)


def _mapping_policy(facts: NetworkFacts) -> ManifestFile:
    network = facts.or_else("physical_network", facts.name)
    bridge = facts.text("bridge")
    mapping = {"localnet": network, "bridge": bridge, "state": "present"}
    state = {"ovn": {"bridge-mappings": [mapping]}}
    claim = (f"physical network {network}", f"on {bridge}")
    return _policy(f"mapping-{_as_name(network)}", state, _ON_NODES, claim)


def _operator_of_vfs(facts: NetworkFacts) -> str:
    plain = "sriov-network-operator"
    return f"openshift-{plain}" if is_openshift(facts.platform) else plain


def is_openshift(platform: ScenarioPlatform) -> bool:
    """True if the cluster is one for all that was said."""
    return platform.openshift is not None or platform.sdn == "openshift-sdn"


def _vf_policy(kind: str) -> MakeFile:
    """VFs of a kind: containers need netdevice, virtual machines vfio-pci."""

    def policy_of(facts: NetworkFacts) -> ManifestFile:
        resource, device, vfs = facts.text("resource"), facts.text("device"), facts.number("vfs")
        spec = {
            "resourceName": resource, "nodeSelector": _ON_WORKERS, "numVfs": vfs,
            "nicSelector": {"pfNames": [device]}, "deviceType": kind,
        }  # fmt: skip
        name = f"sriov-{_as_name(resource)}"
        version = "sriovnetwork.openshift.io/v1 SriovNetworkNodePolicy"
        document = _object(version, name, spec, _operator_of_vfs(facts))
        mind = f"the operator may drain the nodes, and restart them. In addition, {_ON_NODES}"
        claims = (
            (f"VFs of NIC {device}", f"pool {resource}"),
            (f"pool {resource}", f"{vfs} VFs of {device} for {kind}"),
        )
        return ManifestFile(f"nodes-{name}.yaml", document, mind=mind, claims=claims)

    return policy_of


def _vf_network(facts: NetworkFacts) -> ManifestFile:
    spec: Document = {
        "resourceName": facts.text("resource"), "networkNamespace": facts.text("namespace"),
        **_vlan(facts, "vlan"),
    }  # fmt: skip
    if not facts.is_of_vm:
        spec = {**spec, **{key: json.dumps(part) for key, part in _STATIC.items()}}
    version = "sriovnetwork.openshift.io/v1 SriovNetwork"
    document = _object(version, facts.name, spec, _operator_of_vfs(facts))
    mind = "the operator makes the NetworkAttachmentDefinition of it, of the same name"
    return ManifestFile(f"{facts.name}-network.yaml", document, mind=mind)


# Workloads.


def _patched(
    facts: NetworkFacts, what: str, change: Document, part: tuple[str, str], mind: str
) -> ManifestFile:
    """A patch of the template of a workload's pods. ``part``: what it changes there, in words and
    as kubectl finds it. Flows of one workload have one: each patch replaces what others put
    there."""
    kind, _slash, name = facts.text("workload").partition("/")
    who = f"{kind.lower()} {name} -n {facts.text('namespace')}"
    words, path = part
    return ManifestFile(
        f"{facts.name}-{what}.yaml",
        {"spec": {"template": change}},
        apply=f"kubectl patch {who} --type merge --patch-file {{file}}",
        undo=f"put back what the first command printed; if that was nothing, remove {words}",
        mind=f"it replaces {words}: add what the first command prints to this file before. {mind}",
        first=f"kubectl get {who} -o jsonpath='{{.spec.template.{path}}}'",
        place=f"{what} of {who}",
    )


def _annotation(facts: NetworkFacts) -> ManifestFile:
    """The further interface of pods."""
    if facts.text("workload").startswith(VM):
        raise UsageError(f"flow {facts.name}: network.workload is a VM, the flow's ends are pods")
    space, addresses = facts.text("namespace"), facts.addresses()
    asked = [{"name": facts.name, "namespace": space, "ips": addresses}]
    annotations = {POD_NETWORKS: json.dumps(asked)}
    mind = (
        f"{_ONLY_OURS.format(space, facts.name)}. "
        'A bare NAME there is {"name": "NAME"} here. Its pods are started anew. The addresses are '
        "for one pod: each further one, as that of the flow's other end, needs its own, or an IPAM "
        "for the whole cluster in the network"
    )
    part = (
        f"the annotation {POD_NETWORKS}",
        "metadata.annotations." + POD_NETWORKS.replace(".", r"\."),
    )
    change = {"metadata": {"annotations": annotations}}
    claims = ((f"address {ip_of(each)}", f"in network {facts.name}") for each in addresses)
    return _patched(facts, "pod", change, part, mind)._replace(claims=(*claims,))


def _interface(facts: NetworkFacts, attachment: AttachmentKind) -> ManifestFile:
    """The interface of a virtual machine: on a network of its own, or (``name``) on that of
    pods."""
    binding = _BINDINGS[attachment]
    name, space, machine = binding.get("name", facts.name), facts.text("namespace"), facts.machine()
    network: Document = {"name": name, "multus": {"networkName": f"{space}/{facts.name}"}}
    how, place, mind = "to those it has", "", _ONLY_OURS.format(space, name)
    if "name" in binding:
        network = {"name": name, "pod": {}}
        how, mind = "in place of those on the pod network", ""
        place = f"the pod network of {VM}{machine} in {space}"
    spec = {
        "domain": {"devices": {"interfaces": [{"name": name, **binding}]}}, "networks": [network],
    }  # fmt: skip
    apply = (
        f"kubectl edit virtualmachine {machine} -n {space}: add the items of `interfaces` and "
        f"`networks` {how}, and restart it. Applied as it is, this would drop its other NICs"
    )
    undo = "put the items back as they were, and restart it"
    document = {"spec": {"template": {"spec": spec}}}
    claims = ((place, attachment),) * bool(place)
    file = f"{facts.name}-vm.yaml"
    return ManifestFile(file, document, apply, undo, mind, place=place, claims=claims)


def affinity(facts: NetworkFacts, *, together: bool) -> ManifestFile:
    """A wish to be placed beside pods with these labels, or apart from them: nothing stays
    unplaced for it."""
    term = {
        "labelSelector": {"matchLabels": facts.labels()},
        "topologyKey": "kubernetes.io/hostname",
    }
    wishes = [{"weight": 100, "podAffinityTerm": term}]
    kind = "podAffinity" if together else "podAntiAffinity"
    change = {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": wishes}}}
    mind = (
        "It is a wish: look where the pods are afterwards (kubectl get pods -o wide). Its pods are "
        "started anew (a VM's at its next start)"
    )
    part = "the wishes under affinity", "spec.affinity"
    file = _patched(facts, "placement", {"spec": change}, part, mind)
    claim = (f"{file.place}, pods {json.dumps(facts.labels())}", kind)
    return file._replace(claims=(claim,), matter="placement")


_FILES: Mapping[AttachmentKind, tuple[MakeFile, ...]] = {
    "ipvlan-l2": (_ipvlan, _annotation),
    "macvlan": (_macvlan, _annotation),
    "host-device": (_host_device, _annotation),
    "sriov-netdev": (_vf_policy("netdevice"), _vf_network, _annotation),
    "sriov-vfio": (_vf_policy("vfio-pci"), _vf_network),
    "linux-bridge": (_bridge_policy, _bridge),
    "ovn-localnet": (_mapping_policy, _localnet),
    "primary-udn": (_user_network,),
}
_BINDINGS: Mapping[AttachmentKind, Document] = {
    "sriov-vfio": {"sriov": {}},
    "linux-bridge": {"bridge": {}},
    "ovn-localnet": {"bridge": {}},
    "primary-udn": {"name": "default", "binding": {"name": "l2bridge"}},
    "masquerade": {"name": "default", "masquerade": {}},
}
"""Attachment -> how the interface of a virtual machine is bound to it."""
FOR_VMS = _BINDINGS.keys() - {"primary-udn"}
"""Attachments that have no address for a pod."""
