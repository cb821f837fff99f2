"""A container in a pod of a Kubernetes cluster."""

from __future__ import annotations

from vnicaudit.bench.endpoints.hosts import Host
from vnicaudit.bench.endpoints.transport import Transport, Where

FORM = "kubectl://POD[?container=C&namespace=N&context=X]"
OPTIONS = ("container", "namespace", "context", "kubeconfig", "sudo", "sudo_user")


def connect(where: Where) -> Transport:
    """Programs in that container, by ``kubectl exec``."""
    return Host(where, FORM, r"\w[\w.-]*")
