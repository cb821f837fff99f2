"""A cluster read by its API: ``kube:CONTEXT``.

``client.py`` reads kubeconfig files and is the one place that sends requests; ``lists.py`` says
which lists are read, and follows their pages; ``read.py`` makes items of them.

This module recognises targets that are a cluster; whatever reads them needs the official client
(``kubernetes``), which is slow to load, and is imported on first use.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from vnicaudit.errors import TargetError, UsageError
from vnicaudit.text.targets import CLUSTER, cluster_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vnicaudit.model.file_kind import Item
    from vnicaudit.model.fleet import LiveOptions


NOT_PLANNED = (
    "changes in a cluster cannot be planned; fix the manifests where they are kept (vnicaudit "
    "audit FOLDER --fix)"
)


def cluster_of(name: str) -> str | None:
    """The target, if it is a cluster; None for any other. Raises UsageError for a parameter other
    than ``kubeconfig``."""
    if not name.startswith(CLUSTER):
        return None
    try:
        cluster_parts(name)
    except ValueError as error:
        raise UsageError(f"{name}: {error}; write kube:CONTEXT?kubeconfig=FILE") from None
    return name


def contexts(name: str, live: LiveOptions) -> list[str]:
    """The target with the name of the current context, where it names none. Without one, the
    target is unchanged: reading it reports the reason."""
    del live
    words, kubeconfig = cluster_parts(name)
    if words and not words.startswith("/"):
        return [name]
    from vnicaudit.platforms.kubevirt.live.client import current_context

    with suppress(TargetError):
        return [name.replace(CLUSTER, CLUSTER + current_context(kubeconfig), 1)]
    return [name]


def read_cluster(target: str, live: LiveOptions) -> Iterator[Item]:
    """Everything in a cluster that has to do with NICs. Raises TargetError."""
    from vnicaudit.platforms.kubevirt.live.read import read

    return read(target, live)


def waits(target: str) -> bool:
    """True: a cluster is another machine."""
    del target
    return True


def probe(target: str, live: LiveOptions) -> str:
    """The version of the API server. Raises TargetError."""
    from vnicaudit.platforms.kubevirt.live.client import Cluster

    return f"Kubernetes {Cluster(target, live).version()}"


def check() -> None:
    """Raises MissingExtraError if the client is missing."""
    import vnicaudit.platforms.kubevirt.live.client as binding

    del binding
