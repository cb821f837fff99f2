"""A cluster as generator pods need it: what is asked there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from vnicaudit.model.decoding import text_at

MANAGED_BY = ("app.kubernetes.io/managed-by", "vnicaudit")
RUN = "vnicaudit/run"
"""Label of a namespace of ours: the id of the run; and annotations beside it."""
OWNER, UNTIL = "vnicaudit/owner", "vnicaudit/until"
"""Who runs it, and when its pods end by themselves, at the latest."""

ApiObject = Mapping[str, object]


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


def name_of(found: ApiObject) -> str:
    """The name of an object."""
    return text_at(found, "/metadata/name")


def is_going(found: ApiObject) -> bool:
    """True for an object that is being deleted."""
    return bool(text_at(found, "/metadata/deletionTimestamp"))
