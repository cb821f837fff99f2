"""The lists that are read of a cluster, page by page: no object is asked for by its name, nothing
is watched, and the next page is fetched while one is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from vnicaudit.base.wording import first_names, plain
from vnicaudit.knowledge.kube_owners import APPLIED
from vnicaudit.model.decoding import objects_at, text_at, value_at
from vnicaudit.platforms.kubevirt.live.client import ApiCall, ApiError, ApiRequest, Cluster, Object
from vnicaudit.platforms.kubevirt.objects import VMI_SPEC


class ClusterList(NamedTuple):
    """One list. ``selector``: the label that its objects have. ``namespace``: of it only, whatever
    the target names."""

    kind: str
    group: str
    plural: str
    namespaced: bool = True
    selector: str = ""
    namespace: str = ""

    @property
    def name(self) -> str:
        """``virtualmachines.kubevirt.io``, as ``kubectl`` accepts it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def key(self) -> str:
        """The plural, after the namespace that the list is of."""
        return f"{self.namespace}/{self.plural}" if self.namespace else self.plural


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
    ClusterList("Pod", "", "pods", selector="kubevirt.io=virt-launcher"),
    ClusterList("VirtualMachineInstance", "kubevirt.io", "virtualmachineinstances"),
    ClusterList("VirtualMachineInstanceReplicaSet", "kubevirt.io",
                "virtualmachineinstancereplicasets"),
    ClusterList("VirtualMachinePool", "pool.kubevirt.io", "virtualmachinepools"),
    ClusterList("VirtualMachine", "kubevirt.io", "virtualmachines"),
)  # fmt: skip
"""In the order in which they are read: virtual machines last, so that whatever they are judged by
is known when the first page of them comes."""
BY_KIND = {one.kind: one for one in RESOURCES}

_JUDGED_AT_ONCE = tuple(kind for kind in VMI_SPEC if kind != "VirtualMachineInstance")
_LIMITS = (500, 50, 5, 1)
"""Objects of one page: fewer where an answer would be too large."""
_SECRET = frozenset({
    "accessCredentials", "cloudInitConfigDrive", "cloudInitNoCloud", "sysprep", "userData",
    "userDataBase64", "networkData", "networkDataBase64", "env",
})  # fmt: skip
"""Parts of objects that may hold passwords and keys: only that they are there is kept."""


class ListSet(NamedTuple):
    """Lists that are read together, in this order. ``role``: the file of ours that has the right to
    them. ``without``: key or kind of a list -> what follows if this user may not read it;
    ``otherwise``: for any other."""

    resources: Sequence[ClusterList]
    role: str
    without: Mapping[str, str]
    otherwise: str


AUDITED = ListSet(
    RESOURCES,
    "docs/how-to/clusters/clusterrole.yaml",
    {
        "VirtualMachine": "no virtual machine is judged",
        "VirtualMachineInstance": "what virtual machines run with is not judged",
        "Migration": "a plan cannot tell which migrations into the cluster still run",
    },
    "rules that need it are skipped",
)
"""Those of an audit."""


class Lists:
    """The lists of one cluster. ``pages`` can be iterated once; meanwhile ``read`` grows by the key
    of each list that was read completely (one that the cluster does not serve is empty),
    ``unread`` by those that were not, with the reason, and ``notes`` by what else matters.
    ``all_pods``: not only launchers."""

    def __init__(
        self, cluster: Cluster, wanted: ListSet = AUDITED, *, all_pods: bool = False
    ) -> None:
        self._cluster = cluster
        self._wanted = wanted
        self._resources = [
            one._replace(selector="") if all_pods and one.kind == "Pod" else one
            for one in wanted.resources
        ]
        self.read: list[str] = []
        self.unread: dict[str, str] = {}
        self.notes: list[str] = []
        self.pages: Iterator[tuple[str, list[Object]]] = self._pages()
        """Kind and objects of each page. Raises TargetError if there is no answer."""

    def _pages(self) -> Iterator[tuple[str, list[Object]]]:
        served = self._cluster.groups()
        lists = (
            _ListPages(self, self._cluster, one, served.get(one.group, [] if one.group else ["v1"]))
            for one in self._resources
        )
        ahead = next(lists, None)
        while ahead is not None:  # the next list is under way while this one is judged
            pages, ahead = ahead, next(lists, None)
            resource = pages.resource
            try:
                for page in pages:
                    yield resource.kind, page
                self.read.append(resource.key)
            except ApiError as error:
                if error.status is None:
                    raise  # the next one would fail as well
                self.unread[resource.key] = self._reason(resource, error)

    def _reason(self, resource: ClusterList, error: ApiError) -> str:
        if error.status != 403:
            return f"{resource.name}: {error.message}"
        wanted = self._wanted
        by_kind = wanted.without.get(resource.kind, wanted.otherwise)
        follows = wanted.without.get(resource.key, by_kind)
        return (
            f"no right to list {resource.name}: {follows}. Grant it ({wanted.role}), then check "
            f"it: {can_list(self._cluster, resource)}"
        )


def namespace_of(resource: ClusterList, cluster: Cluster) -> str:
    """The namespace in which it is listed; empty: all. The KubeVirt object is in a namespace of its
    own, and the settings of the whole cluster are in it."""
    if resource.namespace:
        return resource.namespace
    return cluster.namespace if resource.namespaced and resource.kind != "KubeVirt" else ""


def can_list(cluster: Cluster, resource: ClusterList) -> str:
    """The command that tells whether this user may list a resource."""
    space = namespace_of(resource, cluster)
    where = f"-n {space}" if space else "-A"
    flag = f" {where}" if resource.namespaced else ""
    return f"{cluster.kubectl} auth can-i list {resource.name}{flag}"


class _ListPages:
    """The pages of one list, by the first version that serves it; the first page is asked for at
    once. A list that expires goes on with the token that the server answers with, from a later
    moment, and is then read again for what changed in between; if it expires a second time, it
    starts over once."""

    def __init__(
        self, lists: Lists, cluster: Cluster, resource: ClusterList, versions: list[str]
    ) -> None:
        self.resource = resource
        self._lists = lists
        self._cluster = cluster
        self._versions = list(versions)
        self._limits = list(_LIMITS)
        self._expired = 0
        self._seen: dict[str, tuple[object, str]] = {}
        """UID -> resourceVersion and name of each object that was handed on."""
        self._again: set[str] | None = None
        """UIDs that the list has since it started over."""
        self._changed: list[str] = []
        self._first = self._ask("") if versions else None

    def __iter__(self) -> Iterator[list[Object]]:
        request, token = self._first, ""
        while request is not None:
            try:
                answer = request.result()
            except ApiError as error:
                token = self._token_after(error, token)
                request = self._ask(token) if self._versions else None
                continue
            token = text_at(answer, "/metadata/continue")
            starts_over = not token and self._expired > 0 and self._again is None
            if (token or starts_over) and self._cluster.is_over():
                raise self._cluster.error("the time for one cluster is over", "deadline")
            request = self._ask(token) if token or starts_over else None
            yield [*map(pruned, self._new(answer))]
            if starts_over:
                self._again = set()
        if self._expired:
            self._lists.notes.append(self._note())

    def _token_after(self, error: ApiError, token: str) -> str:
        """The token with which to go on after an error. Raises it if there is no way on."""
        if error.too_large and len(self._limits) > 1:
            self._limits.pop(0)
            return token
        if error.status == 404:  # this version does not serve it
            self._versions.pop(0)
            return ""
        if error.status != 410 or self._expired > 1:
            raise error
        self._expired += 1
        if self._expired == 1 and error.token:
            return error.token
        if self._expired == 2 and self._again is not None:  # all of it was read once
            self._again = None
            self._versions.clear()
            return ""
        self._expired, self._again = 2, set()
        return ""

    def _new(self, answer: Object) -> Iterator[Object]:
        """The objects that were not handed on before, and those that changed since; guests are
        judged at once, so that a changed one is only noted."""
        for item in objects_at(answer, "/items"):
            uid, version = (text_at(item, f"/metadata/{key}") for key in ("uid", "resourceVersion"))
            if not uid:
                continue
            if self._again is not None:
                self._again.add(uid)
            before, name = self._seen.get(uid, (version, ""))
            if name and (before == version or self.resource.kind in _JUDGED_AT_ONCE):
                self._changed += [] if before == version else [name]
                continue
            self._seen[uid] = (
                version,
                "/".join(text_at(item, f"/metadata/{key}") for key in ("namespace", "name")),
            )
            # an item of a list of the core group names neither
            group, version = self.resource.group, self._versions[0]
            api_version = f"{group}/{version}" if group else version
            yield {"apiVersion": api_version, "kind": self.resource.kind, **item}

    def _note(self) -> str:
        """The note that a list is of two moments, with what changed in between."""
        told = [f"the list of {self.resource.name} expired while it was read: it is of two moments"]
        if self._again is None:
            told.append("expired again, so that what changed in between is not known")
        if self._changed:
            told.append(f"changed in between, and judged as before: {_first_names(self._changed)}")
        uids = self._seen.keys() if self._again is None else self._again
        if gone := [name for uid, (_version, name) in self._seen.items() if uid not in uids]:
            told.append(f"deleted in between: {_first_names(gone)}")
        return "; ".join(told)

    def _ask(self, token: str) -> ApiRequest:
        query = {"limit": str(self._limits[0])}
        if token:
            query["continue"] = token
        if self.resource.selector:
            query["labelSelector"] = self.resource.selector
        space = namespace_of(self.resource, self._cluster)
        return self._cluster.ask(ApiCall(path_of(self.resource, self._versions[0], space), query))


def _first_names(names: list[str]) -> str:
    return first_names([plain(name.removeprefix("/")) for name in names])


def path_of(resource: ClusterList, version: str, namespace: str) -> str:
    """The path of a resource in the API; ``namespace`` empty: of all of them."""
    root = f"/apis/{resource.group}" if resource.group else "/api"
    where = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
    return f"{root}/{version}{where}/{resource.plural}"


def pruned(item: Object) -> Object:
    """The object without what is not needed: who wrote which field (two fifths of it), and what may
    be secret."""
    metadata, annotations = item.get("metadata"), value_at(item, "/metadata/annotations")
    if isinstance(metadata, dict):
        metadata.pop("managedFields", None)
    if isinstance(annotations, dict) and APPLIED in annotations:
        annotations[APPLIED] = ""
    pending: list[Object | list[object]] = [item]
    while pending:
        place = pending.pop()
        if isinstance(place, dict):
            for key in _SECRET & place.keys():
                place[key] = {}
        inner = place.values() if isinstance(place, dict) else place
        pending += [each for each in inner if isinstance(each, dict | list)]
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
    asked = [
        (one, cluster.ask(access_review("list", one, namespace_of(one, cluster)))) for one in wanted
    ]
    for resource, request in asked:
        yield Right(resource, is_allowed(request))


def access_review(verb: str, resource: ClusterList, namespace: str) -> ApiCall:
    """The question whether this user may do something with a resource, which any user may ask."""
    wanted = {
        "group": resource.group, "resource": resource.plural, "verb": verb, "namespace": namespace,
    }  # fmt: skip
    return ApiCall(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        method="POST", body={"spec": {"resourceAttributes": wanted}},
    )  # fmt: skip


def is_allowed(review: ApiRequest) -> bool | None:
    """The answer to that question; None: the server does not tell. Raises TargetError if it does
    not answer."""
    try:
        allowed = value_at(review.result(), "/status/allowed")
    except ApiError as error:
        if error.status is None:
            raise
        return None
    return allowed if isinstance(allowed, bool) else None
