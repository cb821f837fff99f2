"""A cluster as generator pods need it: what is asked there, and the parts of its objects that are
used. Sources: Kubernetes v1.36 (core/v1); types.go of network-attachment-definition-client
2245129a."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from vnicaudit.errors import EndpointError
from vnicaudit.model.decoding import converted

MANAGED_BY = ("app.kubernetes.io/managed-by", "vnicaudit")
RUN = "vnicaudit/run"
"""Label of a namespace of ours: the id of the run; and annotations beside it."""
OWNER, UNTIL = "vnicaudit/owner", "vnicaudit/until"
"""Who runs it, and when its pods end by themselves, at the latest."""

ApiObject = Mapping[str, object]
T = TypeVar("T")


class PodCluster(Protocol):
    """One cluster. Methods raise TargetError with the server's words."""

    target: str
    server: str
    """The URL of the API server."""
    context: str
    """The context in the kubeconfig; empty: the account of this pod."""

    def serves(self, group: str) -> bool:
        """True if the cluster has this API group."""

    def may_remove(self) -> bool:
        """False if this user may not delete namespaces."""

    def nodes(self) -> Sequence[ApiObject]:
        """All nodes."""

    def namespaces(self, selector: str) -> Sequence[ApiObject]:
        """The namespaces with these labels."""

    def pods(self, namespace: str) -> Sequence[ApiObject]:
        """The pods in a namespace; none if there is no such namespace."""

    def warnings(self, namespace: str) -> Sequence[ApiObject]:
        """The warnings in a namespace, as events; none if this user may not list them."""

    def network(self, namespace: str, name: str) -> ApiObject | None:
        """A NetworkAttachmentDefinition; None: there is none."""

    def instance(self, namespace: str, name: str) -> ApiObject | None:
        """The instance of a virtual machine; None: it does not run."""

    def create_namespace(self, body: ApiObject) -> None:
        """Create one."""

    def create_pod(self, namespace: str, body: ApiObject) -> None:
        """Create one."""

    def delete_namespace(self, name: str) -> None:
        """Have it deleted, unless it is gone. Returns at once."""

    def delete_pod(self, namespace: str, name: str, grace: int | None = None) -> None:
        """Have it deleted, unless it is gone, after ``grace`` seconds instead of the pod's own; 0:
        from the API at once, whatever its node does. Returns at once."""


class Meta(msgspec.Struct, frozen=True, rename="camel"):
    """Metadata of an object."""

    name: str
    namespace: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    deletion_timestamp: str = ""


class ObjectCondition(msgspec.Struct, frozen=True):
    """A condition in a status."""

    type: str
    status: str
    reason: str = ""
    message: str = ""


class Taint(msgspec.Struct, frozen=True):
    """A taint of a node."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}{f'={self.value}' if self.value else ''}:{self.effect}"


class NodeSpec(msgspec.Struct, frozen=True):
    """The settings of a node that keep pods away."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeAddress(msgspec.Struct, frozen=True):
    """An address of a node."""

    type: str
    address: str


class NodeStatus(msgspec.Struct, frozen=True):
    """The state of a node."""

    conditions: tuple[ObjectCondition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()


class Node(msgspec.Struct, frozen=True):
    """A node."""

    metadata: Meta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        """The name of the node."""
        return self.metadata.name

    @property
    def architecture(self) -> str:
        """``amd64``, ``s390x``; empty: unknown."""
        return self.metadata.labels.get("kubernetes.io/arch", "")

    @property
    def addresses(self) -> list[str]:
        """The internal addresses."""
        return [one.address for one in self.status.addresses if one.type == "InternalIP"]


class StateReason(msgspec.Struct, frozen=True):
    """The reason why a container does not run."""

    reason: str = ""
    message: str = ""


class ContainerState(msgspec.Struct, frozen=True):
    """The state of a container: one of these, or neither, while it runs."""

    waiting: StateReason | None = None
    terminated: StateReason | None = None


class ContainerStatus(msgspec.Struct, frozen=True):
    """The status of a container."""

    state: ContainerState = ContainerState()


class PodStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    pod_ip: str = msgspec.field(name="podIP", default="")
    conditions: tuple[ObjectCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    """The settings of a pod."""

    node_name: str = ""


class PodObject(msgspec.Struct, frozen=True):
    """A pod."""

    metadata: Meta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Namespace(msgspec.Struct, frozen=True):
    """A namespace."""

    metadata: Meta


class InstanceInterface(msgspec.Struct, frozen=True, rename="camel"):
    """A NIC of a virtual machine that runs. ``name``: of its network."""

    name: str = ""
    ip_address: str = ""
    ip_addresses: tuple[str, ...] = ()


class InstanceNetwork(msgspec.Struct, frozen=True):
    """A network of a virtual machine. ``pod``: it is that of pods."""

    name: str
    pod: dict[str, object] | None = None


class InstanceSpec(msgspec.Struct, frozen=True):
    """The settings of a virtual machine that runs."""

    networks: tuple[InstanceNetwork, ...] = ()


class Migration(msgspec.Struct, frozen=True, rename="camel"):
    """The last migration of a virtual machine."""

    start_timestamp: str | None = None
    end_timestamp: str | None = None


class InstanceStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The state of a virtual machine that runs."""

    phase: str = ""
    node_name: str = ""
    interfaces: tuple[InstanceInterface, ...] = ()
    migration_state: Migration = Migration()


class MachineInstance(msgspec.Struct, frozen=True):
    """A virtual machine that runs."""

    spec: InstanceSpec = InstanceSpec()
    status: InstanceStatus = InstanceStatus()


class Involved(msgspec.Struct, frozen=True):
    """The object of an event."""

    name: str = ""


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """A warning."""

    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""


class NetworkStatus(msgspec.Struct, frozen=True):
    """A network of a pod, in its annotation."""

    name: str
    ips: tuple[str, ...] = ()
    default: bool = False


def as_records(objects: Sequence[ApiObject], kind: type[T]) -> list[T]:
    """The objects as records. Raises EndpointError if one is not as the API describes it."""
    try:
        return [converted(each, kind) for each in objects]
    except msgspec.ValidationError as error:
        name = kind.__name__
        raise EndpointError(f"a {name} of the cluster cannot be understood: {error}") from None
