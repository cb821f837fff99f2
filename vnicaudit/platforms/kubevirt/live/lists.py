"""The lists that are read of a cluster, page by page: no object is asked for by its name, nothing
is watched, and the next page is fetched while one is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import quote

from vnicaudit.knowledge.kube_owners import APPLIED
from vnicaudit.platforms.kubevirt.live.client import (
    ApiCall,
    ApiError,
    ApiRequest,
    Cluster,
    Object,
    part,
    parts,
)


class ClusterList(NamedTuple):
    """One list. ``selector``: the label that its objects have."""

    kind: str
    group: str
    plural: str
    namespaced: bool = True
    selector: str = ""

    @property
    def name(self) -> str:
        """``virtualmachines.kubevirt.io``, as ``kubectl`` accepts it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_TYPES, _OVN = "instancetype.kubevirt.io", "k8s.ovn.org"

RESOURCES = (
    ClusterList("KubeVirt", "kubevirt.io", "kubevirts"),
    ClusterList("Node", "", "nodes", namespaced=False),
    ClusterList("NetworkAttachmentDefinition", "k8s.cni.cncf.io",
                "network-attachment-definitions"),
    ClusterList("UserDefinedNetwork", _OVN, "userdefinednetworks"),
    ClusterList("ClusterUserDefinedNetwork", _OVN, "clusteruserdefinednetworks", namespaced=False),
    ClusterList("VirtualMachineInstancetype", _TYPES, "virtualmachineinstancetypes"),
    ClusterList("VirtualMachineClusterInstancetype", _TYPES, "virtualmachineclusterinstancetypes",
                namespaced=False),
    ClusterList("VirtualMachinePreference", _TYPES, "virtualmachinepreferences"),
    ClusterList("VirtualMachineClusterPreference", _TYPES, "virtualmachineclusterpreferences",
                namespaced=False),
    # KubeVirt labels those of instance types and preferences from 1.1 on
    # (pkg/instancetype/instancetype.go); those of a VM's start hold its whole template
    ClusterList("ControllerRevision", "apps", "controllerrevisions",
                selector="instancetype.kubevirt.io/object-kind"),
    ClusterList("Plugin", "plugin.kubevirt.io", "plugins", namespaced=False),
    ClusterList("Migration", "forklift.konveyor.io", "migrations"),
    ClusterList("VirtualMachineInstance", "kubevirt.io", "virtualmachineinstances"),
    ClusterList("VirtualMachineInstanceReplicaSet", "kubevirt.io",
                "virtualmachineinstancereplicasets"),
    ClusterList("VirtualMachinePool", "pool.kubevirt.io", "virtualmachinepools"),
    ClusterList("VirtualMachine", "kubevirt.io", "virtualmachines"),
)  # fmt: skip
"""In the order in which they are read: virtual machines last, so that whatever they are judged by
is known when the first page of them comes."""

_LIMITS = (500, 50, 5, 1)
"""Objects of one page: fewer where an answer would be too large."""
_SECRET = frozenset({
    "accessCredentials", "cloudInitConfigDrive", "cloudInitNoCloud", "sysprep", "userData",
    "userDataBase64", "networkData", "networkDataBase64", "env",
})  # fmt: skip
"""Parts of objects that may hold passwords and keys: only that they are there is kept."""

_NO_RULES = "rules that need it are skipped"
_WITHOUT = {
    "VirtualMachine": "no virtual machine is judged",
    "VirtualMachineInstance": "what virtual machines run with is not judged",
    "Migration": "a plan cannot tell which migrations into the cluster still run",
}
"""Kind -> what follows if this user may not list it."""


class Lists:
    """The lists of one cluster. ``pages`` can be iterated once; meanwhile ``read`` grows by the
    plural of each list that was read completely (one that the cluster does not serve is empty),
    ``unread`` by those that were not, with the reason, and ``notes`` by what else matters."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.read: list[str] = []
        self.unread: dict[str, str] = {}
        self.notes: list[str] = []
        self.pages: Iterator[tuple[str, list[Object]]] = self._pages()
        """Kind and objects of each page. Raises TargetError if there is no answer."""

    def _pages(self) -> Iterator[tuple[str, list[Object]]]:
        served = self._cluster.groups()
        for resource in RESOURCES:
            versions = served.get(resource.group, [] if resource.group else ["v1"])
            try:
                for page in self._list(resource, versions):
                    yield resource.kind, page
                self.read.append(resource.plural)
            except ApiError as error:
                if error.status is None:
                    raise  # the next one would fail as well
                self.unread[resource.plural] = self._reason(resource, error)

    def _list(self, resource: ClusterList, versions: list[str]) -> Iterator[list[Object]]:
        """The pages of one list, by the first version that serves it."""
        for version in versions:
            try:
                yield from _ListPages(self, self._cluster, resource, version)
            except ApiError as error:
                if error.status == 404:
                    continue
                raise
            return

    def _reason(self, resource: ClusterList, error: ApiError) -> str:
        if error.status != 403:
            return f"{resource.name}: {error.message}"
        return (
            f"no right to list {resource.name}: {_WITHOUT.get(resource.kind, _NO_RULES)}. Grant it "
            "(docs/how-to/clusters/clusterrole.yaml), then check it: "
            + can_list(self._cluster, resource)
        )


def namespace_of(resource: ClusterList, cluster: Cluster) -> str:
    """The namespace in which it is listed; empty: all. The KubeVirt object is in a namespace of its
    own, and the settings of the whole cluster are in it."""
    return cluster.namespace if resource.namespaced and resource.kind != "KubeVirt" else ""


def can_list(cluster: Cluster, resource: ClusterList) -> str:
    """The command that tells whether this user may list a resource."""
    space = namespace_of(resource, cluster)
    where = f"-n {space}" if space else "-A"
    flag = f" {where}" if resource.namespaced else ""
    return f"{cluster.kubectl} auth can-i list {resource.name}{flag}"


class _ListPages:
    """The pages of one list. A list that expires goes on with the token that the server answers
    with, from a later moment; if that expires too, it starts over once."""

    def __init__(self, lists: Lists, cluster: Cluster, resource: ClusterList, version: str) -> None:
        self._lists = lists
        self._cluster = cluster
        self._resource = resource
        self._version = version
        self._limits = list(_LIMITS)
        self._expired = 0
        self._seen: set[str] = set()
        """UIDs of objects that were handed on."""

    def __iter__(self) -> Iterator[list[Object]]:
        request, token = self._ask(""), ""
        while True:
            try:
                answer = request.result()
            except ApiError as error:
                token = self._token_after(error, token)
                request = self._ask(token)
                continue
            token = str(part(answer, "metadata").get("continue") or "")
            if token and self._cluster.is_over():
                raise self._cluster.error("the time for one cluster is over", "deadline")
            if token:
                request = self._ask(token)
            yield [*map(pruned, self._new(answer))]
            if not token:
                return

    def _token_after(self, error: ApiError, token: str) -> str:
        """The token with which to go on after an error. Raises it if there is no way on."""
        if error.too_large and len(self._limits) > 1:
            self._limits.pop(0)
            return token
        if error.status != 410 or self._expired > 1:
            raise error
        self._expired += 1
        if self._expired == 1:
            self._lists.notes.append(
                f"the list of {self._resource.name} expired while it was read: it is of two "
                "moments, and what was created or deleted in between may be missing or gone"
            )
            if error.token:
                return error.token
        self._expired = 2
        return ""

    def _new(self, answer: Object) -> Iterator[Object]:
        """The objects that were not handed on before."""
        for item in parts(answer, "items"):
            uid = part(item, "metadata").get("uid")
            if isinstance(uid, str) and uid not in self._seen:
                self._seen.add(uid)
                # an item of a list of the core group names neither
                yield {"apiVersion": self._api_version, "kind": self._resource.kind, **item}

    @property
    def _api_version(self) -> str:
        group = self._resource.group
        return f"{group}/{self._version}" if group else self._version

    def _ask(self, token: str) -> ApiRequest:
        query = {"limit": str(self._limits[0])}
        if token:
            query["continue"] = token
        if self._resource.selector:
            query["labelSelector"] = self._resource.selector
        space = namespace_of(self._resource, self._cluster)
        return self._cluster.ask(ApiCall(path_of(self._resource, self._version, space), query))


def path_of(resource: ClusterList, version: str, namespace: str) -> str:
    """The path of a resource in the API; ``namespace`` empty: of all of them."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}/{version}{where}/{resource.plural}"


def pruned(item: Object) -> Object:
    """The object without what is not needed: who wrote which field (two fifths of it), and what may
    be secret."""
    metadata = part(item, "metadata")
    metadata.pop("managedFields", None)
    annotations = metadata.get("annotations")
    if isinstance(annotations, dict) and APPLIED in annotations:
        annotations[APPLIED] = ""
    pending: list[object] = [item]
    while pending:
        place = pending.pop()
        if isinstance(place, list):
            pending += place
        elif isinstance(place, dict):
            for key in _SECRET & place.keys():
                place[key] = {}
            pending += place.values()
    return item


# Which of these lists a user may read.


class Right(NamedTuple):
    """``allowed``: this user may read a list; None: the server does not tell."""

    resource: ClusterList
    allowed: bool | None


def rights(cluster: Cluster) -> Iterator[Right]:
    """The right to each list that the cluster serves. Raises TargetError if it does not answer."""
    served = cluster.groups()
    wanted = [one for one in RESOURCES if not one.group or one.group in served]
    asked = [(one, cluster.ask(_review(one, cluster))) for one in wanted]
    for resource, request in asked:
        try:
            status = part(request.result(), "status")
        except ApiError as error:
            if error.status is None:
                raise
            status = {}
        allowed = status.get("allowed")
        yield Right(resource, allowed if isinstance(allowed, bool) else None)


def _review(resource: ClusterList, cluster: Cluster) -> ApiCall:
    wanted = {
        "group": resource.group, "resource": resource.plural, "verb": "list",
        "namespace": namespace_of(resource, cluster),
    }  # fmt: skip
    body = {"spec": {"resourceAttributes": wanted}}
    return ApiCall(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", method="POST", body=body
    )
