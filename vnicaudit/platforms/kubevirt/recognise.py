"""Is this a file of KubeVirt manifests? Told by ``apiVersion``, never by its name."""

from __future__ import annotations

import re

_GROUPS = r"(?:kubevirt|instancetype\.kubevirt|pool\.kubevirt|k8s\.cni\.cncf)\.io/"
_OWN = re.compile(rf"""^[\s{{,\-]*"?apiVersion"?\s*:\s*["']?{_GROUPS}""", re.MULTILINE)
_IN_JSON = re.compile(rf'"apiVersion"\s*:\s*"{_GROUPS}')
_OWN_BYTES = re.compile(_OWN.pattern.encode(), re.MULTILINE)
_IN_JSON_BYTES = re.compile(_IN_JSON.pattern.encode())
_ANY_BYTES = re.compile(
    rb"""^(?:- )?["']?apiVersion["']?\s*:\s*["']?[\w./-]+["']?\s*$""", re.MULTILINE
)
_HEAD = 64 * 1024


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with ``head`` (some kilobytes) holds objects of KubeVirt, or
    NetworkAttachmentDefinitions.

    Of a large file of Kubernetes objects only the head is seen: that is taken for one, because
    what follows may be.
    """
    if b"apiVersion" not in head or b"\0" in head:
        return False
    if _OWN_BYTES.search(head) or _IN_JSON_BYTES.search(head):
        return True
    return len(head) >= _HEAD and _ANY_BYTES.search(head) is not None


def is_wanted(document: str) -> bool:
    """Whether one document holds such objects."""
    return bool(_OWN.search(document) or _IN_JSON.search(document))
