"""The plan of a measurement over a cluster: what is started there, and the paths between that."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import product
from typing import NamedTuple
from urllib.parse import quote

from vnicaudit.base.wording import plain
from vnicaudit.bench.endpoints.opening import parse
from vnicaudit.bench.pods.cluster import MANAGED_BY, OWNER, RUN, UNTIL, ApiObject, PodCluster
from vnicaudit.bench.pods.nodes import Node, NodeChoice, chosen_nodes, node_of
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.cluster import POD_NETWORKS
from vnicaudit.model.decoding import objects_at, text_at, texts_at
from vnicaudit.reaching.opening import transport_to
from vnicaudit.text.targets import cluster_parts

KINDS = ("host", "hostnetwork", "pod-same", "pod-cross", "vm-same", "vm-cross")
NAD = "nad:"
FORMS = ", ".join((*KINDS, f"{NAD}NS/NAME"))
CONTAINER = "generator"
CPU, MEMORY = "500m", "128Mi"
"""A pod asks its node for so much. It has no limits, which would throttle it."""
_OBJECT = r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"
_NETWORK = re.compile(rf"{NAD}({_OBJECT})/({_OBJECT})")
_MACHINE = re.compile(rf"(?:([A-Za-z0-9_][A-Za-z0-9_.-]*)@)?({_OBJECT})/({_OBJECT})")
_OPENSHIFT = "security.openshift.io"
"""This admission gives pods a user of their namespace's own range, and refuses others
(SecurityContextConstraints restricted-v2)."""
_NOBODY = 65534
_NAME_MOST = 40
"""Characters of a path's name (``bench/endpoints/opening.py``)."""
_GRACE = 5
_COMMAND = "trap 'exit 0' TERM INT; sleep \"$0\" & wait"
"""Ends by itself and at once when it is asked to; the shell collects what programs leave behind."""


class ClusterRequest(NamedTuple):
    """The options: paths, the image of generator pods, and nodes and a virtual machine, if they are
    named."""

    paths: tuple[str, ...]
    image: str
    nodes: tuple[str, ...] = ()
    machine: str = ""


class GeneratorPod(NamedTuple):
    """A pod that is started. ``node``: by its name. ``network``: the NAD that it is attached to, as
    NS/NAME."""

    name: str
    node: str
    network: str = ""
    is_host: bool = False


class KnownEnd(NamedTuple):
    """An end that is there already. ``words``: for the plan."""

    url: str
    words: str
    node: str


End = GeneratorPod | KnownEnd


class PlannedPath(NamedTuple):
    """A path, by its name among the arms."""

    name: str
    target: End
    peer: End


def own_namespaces(run: str) -> tuple[str, str]:
    """The names that namespaces of a run have: of its pods, and of those with the network of their
    nodes, which need another one."""
    return f"vnicaudit-bench-{run}", f"vnicaudit-bench-{run}-host"


class PodPlan(NamedTuple):
    """Everything that is to be started, measured and removed. ``seconds``: after which pods end."""

    run: str
    target: str
    image: str
    choice: NodeChoice
    paths: tuple[PlannedPath, ...]
    context: str
    own_user: bool
    """The cluster gives pods a user."""

    @property
    def pods(self) -> tuple[GeneratorPod, ...]:
        """The pods that are started."""
        ends = (end for path in self.paths for end in (path.target, path.peer))
        return tuple({end.name: end for end in ends if isinstance(end, GeneratorPod)}.values())

    @property
    def namespaces(self) -> dict[str, str]:
        """The namespaces that are created, and the level of their pod security."""
        levels = {self.namespace_of(pod): "privileged" if pod.is_host else "restricted"
                  for pod in self.pods}  # fmt: skip
        return dict(sorted(levels.items()))

    def namespace_of(self, pod: GeneratorPod) -> str:
        """The namespace of a pod."""
        return own_namespaces(self.run)[pod.is_host]

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the measurement: where the ends of each path are."""
        ends = {f"path.{path.name}": f"{path.target.node} from {path.peer.node}"
                for path in self.paths}  # fmt: skip
        networks = ", ".join(dict.fromkeys(pod.network for pod in self.pods if pod.network))
        image = {"image": self.image} if self.pods else {}
        return {**image, **({"networks": networks} if networks else {}), **ends}

    def texts(self, addresses: Mapping[str, str]) -> tuple[str, ...]:
        """The paths as on the command line; ``addresses``: of pods, by their names."""
        return tuple(
            f"{path.name}={self._url(path.target, addresses)},{self._url(path.peer, addresses)}"
            for path in self.paths
        )

    def _url(self, end: End, addresses: Mapping[str, str]) -> str:
        if isinstance(end, KnownEnd):
            return end.url
        options = {
            "namespace": self.namespace_of(end), "container": CONTAINER, "context": self.context,
            "kubeconfig": cluster_parts(self.target)[1], "address": addresses.get(end.name, ""),
        }  # fmt: skip
        given = (f"{key}={quote(text, safe='/:@')}" for key, text in options.items() if text)
        return f"kubectl://{end.name}?{'&'.join(given)}"


def plan_of(cluster: PodCluster, request: ClusterRequest, run: str) -> PodPlan:
    """The plan; nothing is started. Raises UsageError, EndpointError, TargetError."""
    _check(request)
    for path in request.paths:
        if (found := _NETWORK.fullmatch(path)) and cluster.network(found[1], found[2]) is None:
            raise EndpointError(
                f"--paths {path}: there is no NetworkAttachmentDefinition {found[1]}/{found[2]}"
            )
    machine = _machine_of(cluster, request.machine) if request.machine else None
    needed = 2 if _far(request) else 1
    nodes = [node_of(each) for each in cluster.nodes()]
    first = machine.node if machine else ""
    choice = chosen_nodes(nodes, request.nodes, needed, first)
    paths = tuple(
        _planned(path, number, choice.nodes, machine)
        for number, path in enumerate(request.paths, 1)
    )
    plan = PodPlan(run, cluster.target, request.image, choice, paths, cluster.context,
                   cluster.serves(_OPENSHIFT))  # fmt: skip
    if plan.pods and not cluster.may_remove():
        raise EndpointError(
            f"{cluster.target}: you may not delete namespaces, so that generator pods could not be "
            "removed: nothing is created; docs/how-to/clusters/bench-role.yaml has the rights that "
            "are needed"
        )
    for text in plan.texts({}):
        for url in text.partition("=")[2].split(","):
            transport_to(parse(url)).close()  # of a form that its program takes
    return plan


def _check(request: ClusterRequest) -> None:
    for path in request.paths:
        if path not in KINDS and _NETWORK.fullmatch(path) is None:
            raise UsageError(f"--paths: {path!r} is not a path of a cluster; known: {FORMS}")
        if request.paths.count(path) > 1:
            raise UsageError(f"--paths: {path} is listed twice")
    of_machine = next((path for path in request.paths if path.startswith("vm-")), "")
    if of_machine and not request.machine:
        raise UsageError(f"{of_machine} needs --vm NS/NAME")
    if request.machine and not of_machine:
        raise UsageError("--vm is used by vm-same and vm-cross only: add one to --paths")
    far, nodes = _far(request), request.nodes
    if nodes and (len(nodes) != len(set(nodes)) or len(nodes) != (2 if far else 1)):
        needs = f"{far} needs two nodes: --nodes A,B" if far else "one node is enough: --nodes A"
        raise UsageError(f"--nodes {','.join(nodes)}: {needs}")
    if not request.image and set(request.paths) != {"host"}:
        raise UsageError(
            "name an --image for the generator pods, with the programs of the profile: there is "
            "no default"
        )


def _far(request: ClusterRequest) -> str:
    """The first path between two nodes; empty: all are on one."""
    return next((path for path in request.paths if path not in ("pod-same", "vm-same")), "")


def _machine_of(cluster: PodCluster, text: str) -> KnownEnd:
    found = _MACHINE.fullmatch(text)
    if found is None:
        raise UsageError(f"--vm {text!r}: expected [USER@]NAMESPACE/NAME")
    user, namespace, name = found.groups()
    instance = cluster.instance(namespace, name)
    if instance is None:
        raise EndpointError(f"--vm: no virtual machine {namespace}/{name} is running")
    address, why = _pod_address(instance), ""
    phase, node = text_at(instance, "/status/phase"), text_at(instance, "/status/nodeName")
    moves = texts_at(instance, "/status/migrationState")
    if phase != "Running" or not node:
        why = f"is {phase or 'without a phase'}, not Running on a node"
    elif moves.get("startTimestamp") and not moves.get("endTimestamp"):
        why = "is being migrated: its node changes; measure afterwards"
    elif not address:
        why = "has no address in the pod network, by which pods reach it"
    if why:
        raise EndpointError(f"--vm: {namespace}/{name} {plain(why)}")
    login = f"{user}@" if user else ""
    url = f"ssh://{login}{_in_url(address)}"
    return KnownEnd(f"{url}?address={address}", f"VM {namespace}/{name}, {url}", node)


def _pod_address(instance: ApiObject) -> str:
    """The first address in the pod network that is valid beyond one link; empty: there is none."""
    networks = objects_at(instance, "/spec/networks")
    of_pods = {one.get("name") for one in networks if one.get("pod") is not None}
    for one in objects_at(instance, "/status/interfaces"):
        further = one.get("ipAddresses")
        for address in (one.get("ipAddress"), *(further if isinstance(further, list) else [])):
            if one.get("name") in of_pods and address and not _parsed(str(address)).is_link_local:
                return str(address)
    return ""


def _planned(
    path: str, number: int, nodes: Sequence[Node], machine: KnownEnd | None
) -> PlannedPath:
    """The path of that name, between the nodes; a virtual machine is on the first."""
    first, last = nodes[0], nodes[-1]
    if path == "host":
        return PlannedPath(path, *_hosts(first, last))
    if path == "hostnetwork":
        ends = (GeneratorPod("host-a", first.name, is_host=True),
                GeneratorPod("host-b", last.name, is_host=True))  # fmt: skip
        return PlannedPath(path, *ends)
    if path.startswith(NAD):
        network = path.removeprefix(NAD)
        name = f"nad-{network.replace('/', '.')}"
        if len(name) > _NAME_MOST:  # others may begin alike
            mark = sha256(network.encode()).hexdigest()[:6]
            name = f"{name[: _NAME_MOST - len(mark) - 1]}-{mark}"
        pods = (GeneratorPod(f"net{number}-{end}", node, network)
                for end, node in (("a", first.name), ("b", last.name)))  # fmt: skip
        return PlannedPath(name, *pods)
    here, beside, away = (GeneratorPod(name, node.name) for name, node in (
        ("a1", first), ("a2", first), ("b1", last)))  # fmt: skip
    if machine and path.startswith("vm-"):
        return PlannedPath(path, machine, here if path == "vm-same" else away)
    return PlannedPath(path, here, beside if path == "pod-same" else away)


def _hosts(first: Node, last: Node) -> tuple[KnownEnd, KnownEnd]:
    """Two nodes, by their first addresses of one version."""
    for node in (first, last):
        if not node.addresses:
            raise EndpointError(f"node {node.name} has no InternalIP, by which ssh could reach it")
    for here, there in product(first.addresses, last.addresses):
        if _parsed(here).version == _parsed(there).version:
            return _host(first, here), _host(last, there)
    raise EndpointError(
        f"nodes {first.name} and {last.name}: one has InternalIPs of version 4 only, the other of "
        "version 6"
    )


def _host(node: Node, address: str) -> KnownEnd:
    url = f"ssh://{_in_url(address)}"
    return KnownEnd(f"{url}?address={address}", url, node.name)


def _in_url(address: str) -> str:
    return f"[{address}]" if _parsed(address).version == 6 else address


def _parsed(address: str) -> IPv4Address | IPv6Address:
    try:
        return ip_address(address)
    except ValueError:
        raise EndpointError(f"{address!r} in the cluster is not an address") from None


# What is sent to the API server.


def namespace_manifest(plan: PodPlan, name: str, owner: str, until: str) -> ApiObject:
    """A namespace of the run."""
    key, value = MANAGED_BY
    labels = {key: value, RUN: plan.run,
              "pod-security.kubernetes.io/enforce": plan.namespaces[name]}  # fmt: skip
    annotations = {OWNER: owner, UNTIL: until}
    return {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
    }  # fmt: skip


def pod_manifest(plan: PodPlan, pod: GeneratorPod, seconds: int) -> ApiObject:
    """A generator pod, which ends by itself after ``seconds``. It does nothing: what is measured
    is started in it."""
    key, value = MANAGED_BY
    user = {} if plan.own_user else {"runAsUser": _NOBODY}
    container = {
        "name": CONTAINER, "image": plan.image, "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", _COMMAND, str(seconds)],
        "resources": {"requests": {"cpu": CPU, "memory": MEMORY}},
        "securityContext": {
            "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],  # noqa: S108
    }  # fmt: skip
    spec = {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchFields": [
                {"key": "metadata.name", "operator": "In", "values": [pod.node]},
            ]}],
        }}},
        "activeDeadlineSeconds": seconds, "terminationGracePeriodSeconds": _GRACE,
        "restartPolicy": "Never", "automountServiceAccountToken": False,
        "enableServiceLinks": False, "hostNetwork": pod.is_host,
        "securityContext": {
            "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}, **user,
        },
        "containers": [container], "volumes": [{"name": "tmp", "emptyDir": {}}],
    }  # fmt: skip
    networks = {"annotations": {POD_NETWORKS: pod.network}} if pod.network else {}
    return {
        "apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": pod.name, "labels": {key: value, RUN: plan.run}, **networks},
    }  # fmt: skip
