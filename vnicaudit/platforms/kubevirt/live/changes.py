"""Objects of a cluster, changed: read again one by one, patched, and virtual machines restarted.

Sources: RestartVMRequestHandler in pkg/virt-api/rest/lifecycle.go of KubeVirt 1.9.0-rc.2 (202 and
an empty body; 409 for a virtual machine that is halted, or whose restart is under way).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from copy import copy

from vnicaudit.base.wording import plain
from vnicaudit.errors import ActionError, GoneError, NoResponseError, RefusedError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.platforms.kubevirt.live.client import (
    ApiError,
    ApiResponse,
    Call,
    Cluster,
    Object,
    api,
)
from vnicaudit.platforms.kubevirt.live.lists import RESOURCES, pruned

_KINDS = {
    "kube-vm": "VirtualMachine",
    "kube-nad": "NetworkAttachmentDefinition",
    "kube-config": "KubeVirt",
}
_LISTS = {one.kind: one for one in RESOURCES}
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
"""RFC 7234, 5.5, as Kubernetes writes it (staging/src/k8s.io/apimachinery/pkg/util/net/http.go)."""
_REFUSALS = (400, 403, 409, 422)
_MANAGER = "vnicaudit"
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
        where = self._place(_kind(kind, namespace), namespace)

        def call(to: api.ApiClient, how: Object) -> ApiResponse:
            custom = api.CustomObjectsApi(to)
            if namespace:
                return custom.get_namespaced_custom_object(*where, name, **how)
            return custom.get_cluster_custom_object(*where, name, **how)

        return pruned(self._answer_to(call))

    def instance(self, namespace: str, name: str) -> Object | None:
        """The instance of a virtual machine; None: there is none."""
        where = self._place("VirtualMachineInstance", namespace)

        def call(to: api.ApiClient, how: Object) -> ApiResponse:
            return api.CustomObjectsApi(to).get_namespaced_custom_object(*where, name, **how)

        try:
            return pruned(self._answer_to(call))
        except GoneError:
            return None

    def patch(
        self, kind: str, namespace: str, name: str, patch: Sequence[Mapping[str, object]],
        *, dry_run: bool = False,
    ) -> tuple[Object, tuple[str, ...]]:  # fmt: skip
        """Make a JSON patch, all of it or nothing."""
        where = self._place(_kind(kind, namespace), namespace)
        warnings: list[str] = []
        options: Object = {"field_manager": _MANAGER, "field_validation": "Strict"}
        if dry_run:
            options["dry_run"] = "All"

        def call(to: api.ApiClient, how: Object) -> ApiResponse:
            own = api.ApiClient(to.configuration)
            # its own choice for custom objects is a merge patch
            own.set_default_header("Content-Type", "application/json-patch+json")
            custom, how = api.CustomObjectsApi(own), options | how
            if namespace:
                found = custom.patch_namespaced_custom_object(*where, name, [*patch], **how)
            else:
                found = custom.patch_cluster_custom_object(*where, name, [*patch], **how)
            warnings[:] = [
                _unquoted(one) for one in _WARNING.findall(found.headers.get("Warning") or "")
            ]
            return found

        found = pruned(self._answer_to(call))
        return found, tuple(warnings)

    def restart(self, namespace: str, name: str, *, dry_run: bool = False) -> None:
        """Ask for a new instance of a virtual machine. Returns at once."""
        if _SUBRESOURCES not in self._served:
            raise RefusedError(f"the cluster does not serve {_SUBRESOURCES}: is virt-api down?")
        body = {"dryRun": ["All"]} if dry_run else {}
        where = (_SUBRESOURCES, "v1", namespace, "virtualmachines", f"{name}/restart")

        def call(to: api.ApiClient, how: Object) -> ApiResponse:
            configuration = copy(to.configuration)
            configuration.safe_chars_for_path_param = "/"  # the client knows no such subresource
            custom = api.CustomObjectsApi(api.ApiClient(configuration))
            return _MayBeEmpty(custom.replace_namespaced_custom_object(*where, body, **how))

        self._answer_to(call)

    def close(self) -> None:
        """Nothing is kept open."""

    def _place(self, kind: str, namespace: str) -> tuple[str, ...]:
        """Group, version, namespace if it is in one, and plural of a kind."""
        found = _LISTS[kind]
        versions = self._served.get(found.group)
        if not versions:
            raise RefusedError(f"the cluster does not serve {found.name}")
        return (found.group, versions[0], *([namespace] if namespace else []), found.plural)

    def _answer_to(self, call: Call) -> Object:
        """The answer to a request. Raises what an error of it means."""
        try:
            return self._cluster.ask(call).result()
        except ApiError as error:
            raise _meaning(error) from None


def _kind(kind: str, namespace: str) -> str:
    if kind == "kube-preference":
        return f"VirtualMachine{'' if namespace else 'Cluster'}Preference"
    return _KINDS[kind]


def _meaning(error: ApiError) -> ActionError | RefusedError:
    if error.status == 404:
        return GoneError(error.message)
    if error.status in _REFUSALS:
        return RefusedError(error.message)
    if error.status is None or error.status in (401, 429) or error.status >= 500:
        return NoResponseError(error.message)
    return ActionError(error.message)


def _unquoted(text: str) -> str:
    return plain(re.sub(r"\\(.)", r"\1", text))


class _MayBeEmpty:
    """An answer of which nothing is expected: an empty one is an empty object."""

    def __init__(self, response: ApiResponse) -> None:
        self._response = response
        self._rest = b"{}"

    def read(self, amt: int, /) -> bytes:
        """The next part; empty at the end."""
        found, rest = self._response.read(amt), self._rest
        self._rest = b""
        return found or rest

    def close(self) -> None:
        """Drop the rest, with the connection."""
        self._response.close()
