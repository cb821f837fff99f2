"""KubeVirt: manifests of virtual machines in files, and clusters (``live``).

They are read like in KubeVirt: interface, then preference, then default.

This module recognises files, and targets that are a cluster; whatever reads them is imported on
first use.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import AcceptingComment
from vnicaudit.platforms.kubevirt.recognise import is_wanted, looks_like
from vnicaudit.text.beginning import is_code, quotes_others
from vnicaudit.text.targets import CLUSTER, cluster_parts

if TYPE_CHECKING:
    from vnicaudit.model.fleet import LiveOptions


def _read_content(content: Content) -> Iterator[Item]:
    from vnicaudit.platforms.kubevirt.read import read_bytes

    yield from read_bytes(content.data, target=content.target, file=content.path)


def _comments(content: Content) -> tuple[AcceptingComment, ...]:
    from vnicaudit.text.yaml_nodes import yaml_comments

    entries = yaml_comments(content.data, content.path)
    return tuple(AcceptingComment(content.path, *one) for one in entries)


MANIFEST = FileKind(
    "KubeVirt manifest",
    "",  # network attachments and instance types alone are valid
    "yaml",
    lambda head: looks_like(head) and not is_code(head),
    _read_content,
    lambda data: is_wanted(data.decode("utf-8-sig", "replace")),
    among_others=lambda head: not quotes_others(head),
    comments=_comments,
)


# Clusters: ``kube:CONTEXT``.


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
