"""A cluster as a measurement needs it: nodes, and namespaces and pods of its own, which it creates
and deletes. Everything is asked for by list, so that the role needs few rights
(docs/how-to/clusters/bench-role.yaml)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import objects_at, text_at
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live.client import ApiCall, ApiError, Cluster, Object
from vnicaudit.platforms.kubevirt.live.lists import (
    BY_KIND,
    ClusterList,
    access_review,
    is_allowed,
    path_of,
)
from vnicaudit.text.targets import CLUSTER, IN_CLUSTER, cluster_parts

_PAGE = "500"
_NAMESPACES = ClusterList("Namespace", "", "namespaces", namespaced=False)
_ROLE = "; docs/how-to/clusters/bench-role.yaml has the rights that are needed"


class GeneratorCluster:
    """One cluster; ``target`` leads to it from any folder. Raises TargetError if it cannot be
    reached, UsageError for a target with a namespace, or with files that kubectl does not take."""

    def __init__(self, target: str, deadline: float) -> None:
        self._cluster = Cluster(target, LiveOptions(deadline=deadline, cloud=float("inf")))
        if self._cluster.namespace:
            raise UsageError(f"{target}: name the cluster alone: pods get a namespace of their own")
        self._served = self._cluster.groups()
        context, file = self._cluster.context, cluster_parts(target)[1]
        if os.pathsep in file:
            raise UsageError(f"{target}: kubectl takes one file: name several in KUBECONFIG")
        if not file and context != IN_CLUSTER:
            named = os.environ.get("KUBECONFIG", "")
            file = "" if os.pathsep in named else named
        self.context = "" if context == IN_CLUSTER else context
        path = quote(os.path.abspath(os.path.expanduser(file)), safe="/:@") if file else ""
        self.target = f"{CLUSTER}{context}{path and f'?kubeconfig={path}'}"
        self.server = self._cluster.server

    def serves(self, group: str) -> bool:
        """True if the cluster has this API group."""
        return group in self._served

    def may_remove(self) -> bool:
        """False if this user may not delete namespaces; a server that does not tell is tried."""
        review = access_review("delete", _NAMESPACES, "")
        return is_allowed(self._cluster.ask(review)) is not False

    def nodes(self) -> Sequence[Mapping[str, object]]:
        """All nodes."""
        return self._listed("/api/v1/nodes")

    def namespaces(self, selector: str) -> Sequence[Mapping[str, object]]:
        """The namespaces with these labels."""
        return self._listed("/api/v1/namespaces", labelSelector=selector)

    def pods(self, namespace: str) -> Sequence[Mapping[str, object]]:
        """The pods in a namespace; none if there is no such namespace."""
        return self._listed(_path(namespace, "pods"))

    def warnings(self, namespace: str) -> Sequence[Mapping[str, object]]:
        """The warnings in a namespace."""
        return self._listed(_path(namespace, "events"), fieldSelector="type=Warning")

    def network(self, namespace: str, name: str) -> Object | None:
        """A NetworkAttachmentDefinition; None: there is none."""
        return self._object("NetworkAttachmentDefinition", namespace, name)

    def instance(self, namespace: str, name: str) -> Object | None:
        """The instance of a virtual machine; None: there is none."""
        return self._object("VirtualMachineInstance", namespace, name)

    def create_namespace(self, body: Mapping[str, object]) -> None:
        """Create one."""
        self._create("/api/v1/namespaces", body)

    def create_pod(self, namespace: str, body: Mapping[str, object]) -> None:
        """Create one."""
        self._create(_path(namespace, "pods"), body)

    def delete_namespace(self, name: str) -> None:
        """Have it deleted, unless it is gone."""
        self._delete(f"/api/v1/namespaces/{quote(name, safe='')}")

    def delete_pod(self, namespace: str, name: str, grace: int | None = None) -> None:
        """Have it deleted, unless it is gone."""
        self._delete(f"{_path(namespace, 'pods')}/{quote(name, safe='')}", grace)

    def _listed(self, path: str, **query: str) -> list[Mapping[str, object]]:
        found: list[Mapping[str, object]] = []
        token = ""
        while True:
            more = {"continue": token} if token else {}
            answer = self._answer(ApiCall(path, {"limit": _PAGE, **query, **more}))
            found += objects_at(answer, "/items")
            token = text_at(answer, "/metadata/continue")
            if not token:
                return found

    def _object(self, kind: str, namespace: str, name: str) -> Object | None:
        resource = BY_KIND[kind]
        versions = self._served.get(resource.group)
        if not versions:
            return None
        path = path_of(resource, versions[0], namespace)
        try:
            return self._answer(ApiCall(f"{path}/{quote(name, safe='')}"))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def _create(self, path: str, body: Mapping[str, object]) -> None:
        """Names are of one run: an object that exists is that of a request whose answer was
        lost."""
        try:
            self._answer(ApiCall(path, method="POST", body=body))
        except ApiError as error:
            if error.status != 409 or "already exists" not in error.message:
                raise

    def _delete(self, path: str, grace: int | None = None) -> None:
        query = {} if grace is None else {"gracePeriodSeconds": str(grace)}
        try:
            self._answer(ApiCall(path, query, "DELETE"))
        except ApiError as error:
            # 409: a namespace that is being deleted already
            if error.status not in (404, 409):
                raise

    def _answer(self, call: ApiCall) -> Object:
        try:
            return self._cluster.ask(call).result()
        except ApiError as error:
            if error.status == 403 and " cannot " in error.message:
                refused = self._cluster.error(f"{error.message}{_ROLE}", "refused")
                refused.status = error.status
                raise refused from None
            raise


def _path(namespace: str, plural: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/{plural}"
