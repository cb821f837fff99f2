"""KubeVirt: manifests of virtual machines in files, and clusters (``live``).

They are read like in KubeVirt: interface, then preference, then default.

This module recognises files; whatever reads them is imported on first use.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.file_kind import Content, FileKind, Item
from vnicaudit.model.finding import AcceptingComment
from vnicaudit.platforms.kubevirt.recognise import is_of_cluster, is_wanted, looks_like
from vnicaudit.text.beginning import is_code, quotes_others


def _read_content(content: Content) -> Iterator[Item]:
    if is_of_cluster(content.data):
        from vnicaudit.platforms.kubevirt import cluster_files

        yield from cluster_files.read_bytes(content.data, target=content.target, file=content.path)
        return
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
