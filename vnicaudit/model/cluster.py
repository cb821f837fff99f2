"""Facts of a cluster about its virtual machines: the objects beside them, the revisions that they
recorded, and the instances that they run as.

The objects are read from a live cluster or from files that hold them
(:mod:`vnicaudit.platforms.kubevirt.cluster`), and judged by rules of the scopes ``cluster`` and
``guest``.

None: this source cannot tell, because the list was not read or the object does not say. An empty
text, tuple or dict: it was read, and there is none. Secrets of a VM (``userData``, access
credentials) have no field here.
"""

from __future__ import annotations

from functools import cached_property

import msgspec

from vnicaudit.model.finding import Location, NamedDescription
from vnicaudit.model.nic import Nic

KVM = "devices.kubevirt.io/kvm"
VHOST_NET = "devices.kubevirt.io/vhost-net"
"""Resources that virt-handler offers on its node."""
SRIOV_RESOURCE = "k8s.v1.cni.cncf.io/resourceName"
"""Annotation of a network: the resource that its devices are."""
POD_NETWORKS = "k8s.v1.cni.cncf.io/networks"
NETWORK_STATUS = "k8s.v1.cni.cncf.io/network-status"
"""Annotations of a pod: networks that it is to be attached to, and those that it is (Multus)."""


class _ClusterRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A record of this module: fields are named, and those without a value are left out of JSON."""


# Objects of the cluster.


class ObjectOwner(_ClusterRecord, frozen=True):
    """The owner of an object, by its marks: see :mod:`vnicaudit.knowledge.kube_owners`."""

    name: str
    """``Argo CD``, ``Helm``, ``HyperConverged``…"""
    mark: str
    """The label, annotation or reference that says so."""
    of: str = ""
    """Its object: the release, the pool…"""


class OwnedObject(_ClusterRecord, frozen=True, kw_only=True):
    """An object that can be changed, and who else may change it."""

    uid: str = ""
    owners: tuple[ObjectOwner, ...] = ()
    """All that its marks name, the strongest first."""
    marks: tuple[str, ...] = ()
    """The names of its labels and annotations."""

    @property
    def owner(self) -> ObjectOwner | None:
        """The strongest owner; None: nobody but who created it."""
        return self.owners[0] if self.owners else None


class ClusterNode(_ClusterRecord, frozen=True):
    """One node."""

    name: str
    location: Location
    schedulable: bool = False
    """virt-handler runs there (label ``kubevirt.io/schedulable``)."""
    cordoned: bool = False
    arch: str | None = None
    """In Kubernetes' words: ``amd64``."""
    allocatable: dict[str, int] | None = None
    """The devices among its allocatable resources: those with a slash in their name."""

    def offers(self, resource: str) -> int | None:
        """How many of a resource it offers; None if it does not say what it offers."""
        return None if self.allocatable is None else self.allocatable.get(resource, 0)


class CniPlugin(_ClusterRecord, frozen=True):
    """One plugin of a network's CNI configuration. Of the fields with a value, those that decide
    what is on the wire are kept as text."""

    type: str | None = None
    settings: dict[str, str] = {}
    """``topology``, ``mtu``, ``subnets``, ``netAttachDefName``…, as text; lists as JSON."""
    has_ipam: bool = False


class Attachment(OwnedObject, frozen=True):
    """A NetworkAttachmentDefinition."""

    name: str
    namespace: str
    location: Location
    fault: str = ""
    """Why its ``spec.config`` cannot be read; empty: it can, or there is none."""
    is_empty: bool = False
    """It has no configuration: Multus reads a file of the node."""
    is_certain: bool = True
    """False: its configuration is decided by a template, or too long to be read."""
    network: str = ""
    """``name`` of the configuration."""
    plugins: tuple[CniPlugin, ...] = ()
    resource: str = ""
    """:data:`SRIOV_RESOURCE`."""
    config: str = ""
    """The text of its configuration; empty: it has none, or a long one."""

    @property
    def path(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"

    @property
    def type(self) -> str | None:
        """The type of its first plugin."""
        return self.plugins[0].type if self.plugins else None


OVN = "ovn-k8s-cni-overlay"
"""CNI type of OVN-Kubernetes."""
_WIRE = ("bridge", "master", "device", "vlan", "vlanID")
"""Settings by which two networks of one name and type may be different wires."""


def _layer2(attachment: Attachment) -> tuple[str, ...] | None:
    """The layer-2 network of an attachment: the same for those that are one network; None: it is
    none, as OVN-Kubernetes routes between nodes."""
    plugin = attachment.plugins[0] if attachment.plugins else CniPlugin()
    topology = plugin.settings.get("topology")
    if not attachment.network or (plugin.type == OVN and topology is None):
        return (attachment.path,)
    if plugin.type == OVN:
        return None if topology == "layer3" else (OVN, attachment.network)
    wire = (plugin.settings.get(each, "") for each in _WIRE)
    return (plugin.type or "", attachment.network, *wire)


class UserNetwork(_ClusterRecord, frozen=True):
    """A UserDefinedNetwork, or a ClusterUserDefinedNetwork (whose ``namespace`` is empty)."""

    name: str
    namespace: str = ""
    ready: bool | None = None
    """Its condition ``NetworkCreated``; None: it has none."""


class ClusterPod(_ClusterRecord, frozen=True):
    """A pod that has not ended, and the attachments that it asks for: one for each time."""

    name: str
    namespace: str
    node: str = ""
    """Empty: it is on none yet."""
    networks: tuple[str, ...] = ()
    unread: str = ""
    """The annotation on its networks that is too long to be read; empty: none is."""


class KubeVirtSettings(OwnedObject, frozen=True):
    """The settings in a KubeVirt object."""

    name: str
    namespace: str
    location: Location
    version: str | None = None
    """``status.observedKubeVirtVersion``."""
    emulation: bool = False
    """``developerConfiguration.useEmulation``."""
    gates: frozenset[str] = frozenset()
    """``developerConfiguration.featureGates``."""
    bindings: dict[str, bool] = {}
    """Binding plugins that it registers, and if they have ``migration``."""
    rollout: str | None = None
    """``vmRolloutStrategy``; None: the default of the version."""
    eviction: str | None = None
    """``evictionStrategy``, for VMs that name none."""


class ClusterFacts(NamedDescription, frozen=True, dict=True):
    """One cluster. ``name``: its context, or the file that holds its objects; ``server``: the URL
    of its API server, empty for a file."""

    scope = "cluster"
    described_for = "kubevirt"

    server: str = ""
    kubevirt: KubeVirtSettings | None = None
    nodes: tuple[ClusterNode, ...] | None = None
    attachments: tuple[Attachment, ...] | None = None
    user_networks: tuple[UserNetwork, ...] | None = None
    plugins: dict[str, bool] | None = None
    """Each ``Plugin`` of plugin.kubevirt.io with hooks that rewrite the domains of VMs, and if
    conditions (in CEL) decide whose."""
    pods: tuple[ClusterPod, ...] | None = None
    """Those that ask for attachments; None: not all pods were read (on request only)."""
    preferences: dict[str, OwnedObject] = msgspec.field(default_factory=dict)
    """Kind and name of each preference, and who may change it."""
    migrations: dict[str, bool] = msgspec.field(default_factory=dict)
    """UIDs of Forklift's migrations that were read, and if they have begun and not ended. Others
    may be in another namespace, or in the cluster from which they are directed."""
    requests: dict[str, int] = msgspec.field(default_factory=dict)
    """Resource of SR-IOV -> how many interfaces of the instances that were read ask for it."""
    complete: frozenset[tuple[str, str]] = frozenset()
    """Lists that were read to their end: the resource's plural name, and the namespace (empty: of
    all). A file never shows that it holds all objects of a kind."""
    places: dict[str, Location] = msgspec.field(default_factory=dict)
    """Field of a problem (``node/worker1``, ``network/demo/vlan10``) -> where it is."""

    @property
    def version(self) -> str | None:
        """The version of KubeVirt; None: unknown."""
        return None if self.kubevirt is None else self.kubevirt.version

    @property
    def is_live(self) -> bool:
        """True if its lists were read, so that its objects can be changed: those in a file cannot,
        beyond what is written in manifests."""
        return bool(self.complete)

    @property
    def is_of_one_namespace(self) -> bool:
        """True if some of its lists are those of one namespace."""
        return any(namespace for _plural, namespace in self.complete)

    @cached_property
    def attachments_by_path(self) -> dict[str, Attachment]:
        """The networks by namespace and name."""
        return {each.path: each for each in self.attachments or ()}

    @cached_property
    def layer2(self) -> dict[str, str]:
        """Attachment -> its layer-2 network in words, which are the same for each attachment of it;
        empty: frames do not pass there."""
        alike: dict[tuple[str, ...], list[str]] = {}
        for path, each in sorted(self.attachments_by_path.items()):
            if (network := _layer2(each)) is not None:
                alike.setdefault(network, []).append(path)
        words = dict.fromkeys(self.attachments_by_path, "")
        for paths in alike.values():
            more = f" and {len(paths) - 2} more" if len(paths) > 2 else ""
            one = f"{', '.join(paths[:2])}{more}, one network" if len(paths) > 1 else paths[0]
            words.update(dict.fromkeys(paths, one))
        return words

    def primary_network(self, namespace: str) -> str | None:
        """The attachment of the primary user-defined network of a namespace, which OVN-Kubernetes
        makes; None: it has none, or they were not read."""
        own = (each for each in self.attachments or () if each.namespace == namespace)
        primary = (
            each.path for each in own
            if each.plugins and each.plugins[0].settings.get("role") == "primary"
        )  # fmt: skip
        return next(primary, None)

    @cached_property
    def offered(self) -> dict[str, int] | None:
        """Resource -> how many all nodes together offer; None if one does not say."""
        total: dict[str, int] = {}
        for node in self.nodes or ():
            if node.allocatable is None:
                return None
            for resource, count in node.allocatable.items():
                total[resource] = total.get(resource, 0) + count
        return total

    def place(self, field: str | None) -> Location:
        """Where the object of a problem is."""
        return self.places.get(field or "", self.location)

    def first_line(self) -> int | None:
        """None: its objects are all over the file."""
        return None

    def has_all(self, resource: str, namespace: str = "") -> bool:
        """True if all objects of a resource were read: what is not among them does not exist."""
        return (resource, "") in self.complete or (resource, namespace) in self.complete


# One VM.


class NicSpec(_ClusterRecord, frozen=True):
    """One interface of a spec, and the network of its name. None: not set, or unknown where
    KubeVirt would choose a value."""

    model: str | None = None
    binding: str | None = None
    """``bridge``, ``masquerade``, ``sriov``…; a plugin's name."""
    is_plugin: bool = False
    mac: str | None = None
    pci: str | None = None
    acpi_index: int | None = None
    network: str | None = None
    """``pod``, or namespace and name of the attachment; None: neither."""
    state: str | None = None
    claim: bool = False
    """Its device comes from a ResourceClaim (DRA)."""


class NicStatus(_ClusterRecord, frozen=True):
    """One interface in the status of an instance."""

    mac: str | None = None
    queues: int | None = None
    """``queueCount``; None: nobody says (0 means that, too)."""
    sources: frozenset[str] = frozenset()
    """``infoSource``: domain, guest-agent, multus-status."""


class ClusterNic(_ClusterRecord, frozen=True):
    """One interface of a VM, by its name."""

    name: str
    template: NicSpec | None = None
    """As the VM has it, with what it recorded of its preference; None: the VM has no such one."""
    has: NicSpec | None = None
    """As its instance has it."""
    status: NicStatus | None = None
    mtu: int | None = None
    """Of its interface in the launcher's pod."""


class LaunchedDomain(_ClusterRecord, frozen=True):
    """The domain of a running VM, read in its launcher on request. ``unread``: why it was not;
    empty: it was."""

    unread: str = ""
    without_qemu: str = ""
    """Why the arguments of its QEMU are not known; empty: they are."""
    kvm: bool = False
    nics: tuple[Nic, ...] = ()
    """As libvirt has them, and QEMU if it was started with them. ``alias``: the interface's name in
    the specification; empty: none there is it."""


class Topology(_ClusterRecord, frozen=True):
    """vCPUs."""

    sockets: int = 1
    cores: int = 1
    threads: int = 1

    @property
    def count(self) -> int:
        """All of them."""
        return self.sockets * self.cores * self.threads


class VmSettings(_ClusterRecord, frozen=True):
    """Settings of a spec for all NICs. In that of a VM, None is unknown where a default of virt-api
    or something that was not read decides."""

    multiqueue: bool | None = None
    transitional: bool = False
    """``useVirtioTransitional``."""
    cpu: Topology | None = None
    max_sockets: int | None = None
    eviction: str | None = None
    arch: str | None = None
    """In Kubernetes' words."""


class Condition(_ClusterRecord, frozen=True):
    """A condition of a VM or its instance."""

    type: str
    on: bool | None = None
    reason: str = ""
    age: int | None = None
    """Seconds since it last changed, when it was read; None: read from a file."""


class RecordedReference(_ClusterRecord, frozen=True):
    """A preference, or an instance type, that a VM refers to. ``then`` and ``now``: its fields that
    the VM leaves to it, as the VM recorded them, and as they are today; None: not read."""

    kind: str
    name: str
    revision: str = ""
    """Name of the ControllerRevision; empty: nothing is recorded."""
    then: dict[str, str] | None = None
    now: dict[str, str] | None = None


class ClusterGuest(OwnedObject, frozen=True):
    """A VM and its instance, joined by UID, as a rule sees them."""

    cluster: ClusterFacts
    name: str
    namespace: str
    has_vm: bool = False
    """False: an instance without a VM, or with another owner."""
    run_strategy: str = ""
    """``Always``, ``Once``…; empty: unknown."""
    runs: bool = False
    """Its instance was read, and is running."""
    deleting: bool = False
    migrating: bool = False
    """Its instance is being migrated to another node."""
    node: str | None = None
    age: int | None = None
    """Seconds since the instance was created, when it was read; None: read from a file."""
    template: VmSettings | None = None
    has: VmSettings | None = None
    """Of its instance."""
    current: Topology | None = None
    """``status.currentCPUTopology`` of the instance."""
    nics: tuple[ClusterNic, ...] = ()
    conditions: tuple[Condition, ...] = ()
    """Of the VM, then of the instance."""
    preference: RecordedReference | None = None
    instancetype: RecordedReference | None = None
    launcher: str = ""
    """The name of the pod in which its instance runs; empty: unknown."""
    vhost: bool | None = None
    """That pod has ``/dev/vhost-net``; None: unknown, or it has no KVM."""
    launched: LaunchedDomain | None = None
    """None: nobody asked for it."""
    hooks: bool = False
    """Annotation ``hooks.kubevirt.io/hookSidecars``."""
    bridge_may_migrate: bool = False
    """Annotation ``kubevirt.io/allow-pod-bridge-network-live-migration``."""
    busy: tuple[str, ...] = ()
    """What is being done with the VM, so that KubeVirt does not let it be changed now."""
    unsettled: str = ""
    """Its state, in which it is not restarted; empty: none of these."""
    imported_by: str = ""
    """UID of Forklift's migration that created it; empty: none did."""
    groups: tuple[str, ...] = ()
    """Selectors of the pods that its launcher pod keeps away from (``podAntiAffinity``)."""

    @property
    def maker(self) -> ObjectOwner | None:
        """The replica set or pool that makes it from its template, or the VM of an instance whose
        VM was not read; None: none does."""
        made = self.owner is not None and self.owner.name.startswith("VirtualMachine")
        return self.owner if made else None

    @property
    def rewriter(self) -> str:
        """The hook that rewrites its domain before it starts, so that its specification is not the
        last word; empty: none is known."""
        if self.hooks:
            return "a hook sidecar rewrites"
        settings, plugins = self.cluster.kubevirt, self.cluster.plugins or {}
        if settings is None or "Plugins" not in settings.gates or not plugins:
            return ""
        conditional, first = min((conditional, name) for name, conditional in plugins.items())
        return f"Plugin {first[:60]} {'may rewrite' if conditional else 'rewrites'}"

    @property
    def launcher_told(self) -> bool:
        """True if its launcher was asked, and showed what runs."""
        return self.launched is not None and not self.launched.unread

    @property
    def is_doubtful(self) -> bool:
        """True if a hook rewrites its domain, and nobody looked at what runs."""
        return bool(self.rewriter) and not self.launcher_told

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type; None: it has none."""
        return next((each for each in self.conditions if each.type == kind), None)
