"""Scenarios: who talks to whom on which platform, and what they need of the network.

The keys of a scenario's TOML are these names, and so are the facts that the conditions of
``knowledge/attachments.toml`` ask for: ``platform.sdn``, ``needs.effort``, ``flow.nodes``. None is
*not said*, never *no*.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args, get_origin, get_type_hints

import msgspec

AttachmentKind = Literal[
    "default", "ipvlan-l2", "macvlan", "host-device", "sriov-netdev", "sriov-vfio", "linux-bridge",
    "ovn-localnet", "primary-udn", "vhost-vdpa", "masquerade",
    "pod-bridge", "passt", "host-network",
]  # fmt: skip
"""How a pod or VM is attached to a network. The last three are never advised, and advised against
where a row excludes them: the pod network by bridge binding, the passt binding for a secondary
network, and ``hostNetwork: true``."""

PlatformKind = Literal["z-vm", "z-kvm", "z-lpar", "x86", "other"]
Sdn = Literal["openshift-sdn", "ovn-kubernetes", "other"]
FlowEnd = Literal["pod", "vm", "external"]
Version = Annotated[str, msgspec.Meta(pattern=r"^v?\d{1,4}(\.\d{1,4}){1,2}([-+.].{0,60})?$")]
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Number = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]


class ScenarioPlatform(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Facts about the cluster."""

    kind: PlatformKind | None = None
    """Hypervisor or hardware of the nodes: guests of z/VM, of KVM on Z, LPARs, or x86."""
    sdn: Sdn | None = None
    """Plug-in of the default network."""
    openshift: Version | None = None
    kubevirt: Version | None = None
    cpu_headroom: Literal["low", "enough"] | None = None
    """Whether the nodes have CPU time to spare."""
    overcommit: bool | None = None
    """Whether the nodes have more virtual CPUs than there are real ones."""
    steal: bool | None = None
    """Whether the nodes show steal time."""
    nic_saturated: bool | None = None
    spare_nics: Number | None = None
    """NICs of each node that nothing uses."""
    nic_gbit: Count | None = None
    """Speed of the nodes' NICs, Gb/s."""
    mtu: Count | None = None
    adapter: Literal["osa", "roce", "hipersockets", "other"] | None = None
    """Kind of the nodes' network cards, on Z."""
    steering: Literal["rfs", "rps", "none"] | None = None
    """How received packets are spread over the CPUs of the nodes."""
    multus: bool | None = None
    may_create_nads: bool | None = None
    """Whether this user may create NetworkAttachmentDefinitions."""
    kernel_ipvlan: bool | None = None
    """Whether the kernel of the nodes has IPVLAN."""
    master_carrier: bool | None = None
    """Whether the NIC below a secondary network has carrier."""
    sriov: bool | None = None
    """Whether the nodes have SR-IOV NICs."""
    ovs: Literal["kernel", "dpdk"] | None = None
    vduse: bool | None = None
    """Whether OVS-DPDK offers VDUSE devices there (vhost-vDPA for VMs, virtio-vDPA for pods)."""
    pmd_sleep: bool | None = None
    """Whether ``pmd-sleep-max`` of OVS is set, or its setting is considered."""
    pmd_shares_cpus: bool | None = None
    """Whether PMD threads share CPUs with pods or interrupts."""
    node_bridge: Literal["ovs", "linux"] | None = None
    """The bridge on the nodes that leads to the VLANs of VMs."""
    routed_fabric: bool | None = None
    """Whether pod addresses can be routed by the fabric (bare metal, BGP)."""
    overlay_is_drop: bool | None = None
    """Whether a measurement shows that speed is lost in the overlay between nodes."""
    pods_below_nodes: bool | None = None
    """Whether nodes reach line rate and pods do not."""
    infra_pods_on_compute: bool | None = None
    """Whether router and monitoring pods run on compute nodes."""
    small_workers: bool | None = None
    """Whether there are many small workers rather than a few large ones."""
    other_guests: bool | None = None
    """Whether other services run in the same LPAR."""
    eckd: bool | None = None
    """Whether storage is on ECKD disks."""


class NetworkNeeds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Needs of the whole application."""

    network_policy: bool | None = None
    """Whether NetworkPolicy must hold for the traffic."""
    live_migration: bool | None = None
    effort: Literal["low", "any"] | None = None
    """Effort of configuration and maintenance that is acceptable."""
    load: Literal["low", "moderate", "high"] | None = None
    latency_critical: bool | None = None
    """Whether there are services to which latency is critical."""
    long_chains: bool | None = None
    """Whether a request passes through many services."""
    high_availability: bool | None = None
    """Whether pods must be spread over nodes or zones."""
    cost: bool | None = None
    """Whether cost weighs as much as performance."""


class FlowNetwork(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The network for which manifests are written; no advice depends on it."""

    namespace: Text | None = None
    workload: Text | None = None
    """Object that is attached: ``Deployment/frontend``, ``VirtualMachine/db``."""
    labels: dict[str, str] = {}
    """Of the pods that it is placed beside, or apart from."""
    device: Text | None = None
    """NIC of the node: ``enc2``."""
    rx_queues: Annotated[int, msgspec.Meta(ge=1, le=1024)] | None = None
    """Receive queues of that NIC."""
    bridge: Text | None = None
    """Bridge of the node: the Linux bridge that is made, or the one of Open vSwitch, ``br-ex``."""
    vlan: Annotated[int, msgspec.Meta(ge=0, le=4094)] | None = None
    """0: untagged."""
    subnet: Text | None = None
    addresses: Annotated[tuple[Text, ...], msgspec.Meta(max_length=1000)] = ()
    """Those of one pod on its further interface, each with its prefix."""
    physical_network: Text | None = None
    """Name in OVN-Kubernetes' bridge mappings."""
    resource: Text | None = None
    """Name of the pool of VFs, as the SR-IOV operator's ``resourceName``: ``mlxnics``."""
    vfs: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    """VFs of each NIC of that pool."""


class TrafficFlow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Traffic between two ends: the first one connects."""

    name: Text
    source: FlowEnd = msgspec.field(name="from")
    to: FlowEnd
    source_is: Text | None = None
    """With a cluster, the pods or the VM that ``from`` is: ``NAMESPACE/NAME`` (of a Deployment, a
    StatefulSet, a DaemonSet or a pod), ``NAMESPACE/KEY=VALUE`` (a label of pods) or
    ``vm/NAMESPACE/NAME``."""
    target_is: Text | None = None
    """The same of ``to``."""
    nodes: Literal["same", "cross", "either"] | None = None
    """Whether both ends are on one node; ``either``: placement is open."""
    connections: Count | None = None
    """Parallel connections."""
    pattern: Literal["rr", "streaming"] | None = None
    """Requests and responses, or a stream."""
    request: Number | None = None
    """Bytes of a request; of a stream, of a message."""
    response: Number | None = None
    """Bytes of a response."""
    pods_per_node: Count | None = None
    """Pods of one node that need the attachment."""
    priority: Literal["latency", "throughput", "efficiency"] | None = None
    frequent: bool | None = None
    """Whether the ends interact frequently."""
    protocol: Literal["tcp", "udp"] | None = None
    dpdk: bool | None = None
    """Whether the pod or VM runs DPDK."""
    vlan: bool | None = None
    """Whether the VM must be on a VLAN of the physical network."""
    fixed_ip: bool | None = None
    """Whether the VM must keep one IP address for life."""
    tenant_isolation: bool | None = None
    """Whether the VM's tenant needs a network of its own."""
    vcpus: Count | None = None
    queues: Count | None = None
    """Queue pairs of the VM's NIC."""
    ring: Count | None = None
    """Descriptors of the rings of the VM's NIC."""
    present: AttachmentKind | None = None
    """The attachment it has today, or that somebody proposes."""
    network: FlowNetwork | None = None


class Scenario(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A platform, the needs of an application, and its flows."""

    platform: ScenarioPlatform = msgspec.field(default_factory=ScenarioPlatform)
    needs: NetworkNeeds = msgspec.field(default_factory=NetworkNeeds)
    flows: Annotated[tuple[TrafficFlow, ...], msgspec.Meta(max_length=1000)] = msgspec.field(
        name="flow", default=()
    )


def words_of(kind: type[msgspec.Struct], key: str) -> list[str]:
    """The words that a key may have; none: it takes something else."""
    names = {field.encode_name: field.name for field in msgspec.structs.fields(kind)}
    hint = get_type_hints(kind).get(names.get(key, ""))
    literals = [part for part in (hint, *get_args(hint)) if get_origin(part) is Literal]
    return [word for part in literals for word in get_args(part)]
