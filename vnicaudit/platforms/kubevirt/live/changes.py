"""Objects of a cluster, changed: read again one by one, patched, and virtual machines restarted.

Sources: RestartVMRequestHandler in pkg/virt-api/rest/lifecycle.go of KubeVirt 1.9.0-rc.2 (202 and
an empty body; 409 for a virtual machine that is halted, or whose restart is under way).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from vnicaudit.base.wording import plain
from vnicaudit.errors import ActionError, GoneError, NoResponseError, RefusedError
from vnicaudit.model.cluster import OwnedObject
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.cluster_guests import is_migrating
from vnicaudit.platforms.kubevirt.cluster_objects import ownership_of
from vnicaudit.platforms.kubevirt.live.client import ApiCall, ApiError, ApiRequest, Cluster, Object
from vnicaudit.platforms.kubevirt.live.lists import BY_KIND, path_of, pruned
from vnicaudit.text.json_items import decoded_place

_KINDS = {
    "kube-vm": "VirtualMachine",
    "kube-nad": "NetworkAttachmentDefinition",
    "kube-config": "KubeVirt",
}
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
"""RFC 7234, 5.5, as Kubernetes writes it (staging/src/k8s.io/apimachinery/pkg/util/net/http.go)."""
_REFUSALS = (400, 403, 409, 422)
_WEBHOOK = "failed calling webhook"
"""In the answer 500 to one object, of whose kind others may be changed: ErrCallingWebhook in
staging/src/k8s.io/apiserver/pkg/util/webhook/error.go."""
_MANAGER = "vnicaudit"
_JSON_PATCH = "application/json-patch+json"
_SUBRESOURCES = "subresources.kubevirt.io"


class ClusterPlace:
    """One cluster. Raises TargetError if it cannot be reached."""

    def __init__(self, target: str, deadline: float) -> None:
        self._cluster = Cluster(target, LiveOptions(deadline=deadline, cloud=float("inf")))
        self._served = self._cluster.groups()

    def identity(self) -> str:
        """The URL of its API server."""
        return self._cluster.server

    def virtctl(self, words: str) -> str:
        """A command of virtctl for this cluster."""
        return f"virtctl{self._cluster.kubectl.removeprefix('kubectl')} {words}"

    def get(self, kind: str, namespace: str, name: str) -> Object:
        """An object as it is now, without what may be secret."""
        return pruned(self._answer_to(ApiCall(self._path(_kind(kind, namespace), namespace, name))))

    def instance(self, namespace: str, name: str) -> Object | None:
        """The instance of a virtual machine; None: there is none."""
        call = ApiCall(self._path("VirtualMachineInstance", namespace, name))
        try:
            return pruned(self._answer_to(call))
        except GoneError:
            return None

    def ownership(self, found: Mapping[str, object]) -> OwnedObject:
        """Who may change an object."""
        return OwnedObject(**ownership_of(decoded_place(found, "")))

    def is_migrating(self, instance: Mapping[str, object]) -> bool:
        """True while an instance is being migrated to another node."""
        return is_migrating(decoded_place(instance, ""))

    def patch(
        self, kind: str, namespace: str, name: str, patch: Sequence[Mapping[str, object]],
        *, dry_run: bool = False,
    ) -> tuple[Object, tuple[str, ...]]:  # fmt: skip
        """Make a JSON patch, all of it or nothing."""
        query = {"fieldManager": _MANAGER, "fieldValidation": "Strict"}
        if dry_run:
            query["dryRun"] = "All"
        path = self._path(_kind(kind, namespace), namespace, name)
        request = self._cluster.ask(ApiCall(path, query, "PATCH", patch, _JSON_PATCH))
        found = pruned(_result(request))
        return found, tuple(map(_unquoted, _WARNING.findall(request.warning)))

    def restart(self, namespace: str, name: str, *, dry_run: bool = False) -> None:
        """Ask for a new instance of a virtual machine. Returns at once."""
        if _SUBRESOURCES not in self._served:
            raise RefusedError(f"the cluster does not serve {_SUBRESOURCES}: is virt-api down?")
        body = {"dryRun": ["All"]} if dry_run else {}
        root = f"/apis/{_SUBRESOURCES}/v1/namespaces/{quote(namespace, safe='')}"
        path = f"{root}/virtualmachines/{quote(name, safe='')}/restart"
        self._answer_to(ApiCall(path, method="PUT", body=body))

    def _path(self, kind: str, namespace: str, name: str) -> str:
        found = BY_KIND[kind]
        versions = self._served.get(found.group)
        if not versions:
            raise RefusedError(f"the cluster does not serve {found.name}")
        return f"{path_of(found, versions[0], namespace)}/{quote(name, safe='')}"

    def _answer_to(self, call: ApiCall) -> Object:
        return _result(self._cluster.ask(call))


def _result(request: ApiRequest) -> Object:
    """The answer to a request. Raises what an error of it means."""
    try:
        return request.result()
    except ApiError as error:
        raise _meaning(error) from None


def _kind(kind: str, namespace: str) -> str:
    if kind == "kube-preference":
        return f"VirtualMachine{'' if namespace else 'Cluster'}Preference"
    return _KINDS[kind]


def _meaning(error: ApiError) -> ActionError | RefusedError:
    if error.status == 404:
        return GoneError(error.message)
    if error.status in _REFUSALS or (error.status == 500 and _WEBHOOK in error.message):
        return RefusedError(error.message)
    if error.status is None or error.status in (401, 429) or error.status >= 500:
        return NoResponseError(error.message)
    return ActionError(error.message)


def _unquoted(text: str) -> str:
    return plain(re.sub(r"\\(.)", r"\1", text))
