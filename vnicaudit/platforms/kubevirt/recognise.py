"""Recognise files of KubeVirt manifests by ``apiVersion``, never by their names."""

from __future__ import annotations

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE

_UTF16 = (BOM_UTF16_LE, BOM_UTF16_BE)
_GROUPS = r"(?:kubevirt|instancetype\.kubevirt|pool\.kubevirt|k8s\.cni\.cncf)\.io/"
# no line break before the key: each blank line would start another search through all of them
_OWN = re.compile(rf"""^[ \t{{,\-]*"?apiVersion"?\s*:\s*["']?{_GROUPS}""", re.MULTILINE)
# YAML refuses a document that begins with "@" or a backquote (in prose, code ends with another)
_STRAY = re.compile(rf"^[`@]{{1,3}}[ \t]*apiVersion\s*:\s*{_GROUPS}\w+[ \t\r]*$", re.MULTILINE)
PREFIXED = re.compile(
    r"^(?:-|(?:[^\w\s{\"'#`@-]|[ \t]{0,9}\d{1,6}\t"
    r"|(?:\d{4}-\d\d-\d\d|\w{3} [ \d]\d \d\d:\d\d:\d\d )[^\n]{1,300}[ ])[ \t]*)"
    rf"(?:(apiVersion)\s*:\s*{_GROUPS}\w+|(kind)\s*:\s*VirtualMachine\w*)[ \t\r]*$",
    re.MULTILINE,
)
"""A key that decides what an object is behind a log's prefix, the sign of a diff, or a character
that a chat or an editor put in: YAML takes all of it for another key."""
_IN_JSON = re.compile(rf'"apiVersion"\s*:\s*"{_GROUPS}')
_OF_CLUSTER = re.compile(
    r'"kind"\s*:\s*"(?:Node|ControllerRevision|(?:Cluster)?UserDefinedNetwork)"', re.ASCII
)
_ANY = re.compile(r"""^(?:- )?["']?apiVersion["']?\s*:\s*["']?[\w./-]+["']?\s*$""", re.MULTILINE)
_OWN_IN_TEXT = re.compile(rb"^[ \t]*[\"']?apiVersion[\"']?\s*:\s*[\"']?kubevirt\.io/", re.MULTILINE)
_MACHINE = re.compile(
    r"""^[ \t{,]*"?kind"?[ \t]*:[ \t]*["']?"""
    r"""VirtualMachine(?:Instance|InstanceReplicaSet|Pool)?(?:["',\s]|\Z)""",
    re.MULTILINE,
)
_SPEC = re.compile(r"""["']?spec["']?[ \t]*:""")
_HEAD = 64 * 1024


def looks_like(head: bytes) -> bool:
    """True if a file that begins with ``head`` (some kilobytes) holds objects of KubeVirt, or
    NetworkAttachmentDefinitions.

    Only the head of a large file is seen, so one with Kubernetes objects counts, because the rest
    may hold such objects. UTF-16 counts too: the reader reports that it is not supported.
    """
    if head.startswith(_UTF16):
        return is_wanted(head.decode("utf-16", "replace"))
    if b"apiVersion" not in head or b"\0" in head:
        return False
    text = head.removeprefix(BOM_UTF8).decode("latin-1")  # the expressions are ASCII
    return is_wanted(text) or (len(head) >= _HEAD and _ANY.search(text) is not None)


def is_wanted(document: str) -> bool:
    """True if one document holds objects of KubeVirt or NetworkAttachmentDefinitions. UTF-16 that
    was decoded as UTF-8 counts, too."""
    return any(pattern.search(document) for pattern in (_OWN, _IN_JSON, _STRAY)) or "\0" in document


_OBJECT = re.compile(
    rb"""(?:^[ \t\-]*kind:[ \t]*["']?|"kind"[ \t]*:[ \t]*")"""
    rb"""(?:KubeVirt|VirtualMachine(?:Instance)?)["'\s]""",
    re.MULTILINE,
)
_UID = re.compile(rb"""^[ \t]*uid:|"uid"[ \t]*:""", re.MULTILINE)


def is_of_cluster(data: bytes) -> bool:
    """True if a file holds network attachments, or a KubeVirt object, VMs or instances as a cluster
    has them: with UIDs."""
    return b"NetworkAttachmentDefinition" in data or (
        _OBJECT.search(data) is not None and _UID.search(data) is not None
    )


def is_wanted_item(item: str) -> bool:
    """True if an object of a list in JSON is one of these, or tells something about the cluster."""
    return is_wanted(item) or _OF_CLUSTER.search(item) is not None


def first_machine(data: bytes) -> int | None:
    """Position of the first virtual machine in a file of another kind; None if there is none."""
    found = _OWN_IN_TEXT.search(data) if b"kubevirt.io/" in data else None
    if found is None or not is_machine(data[found.start() :].decode("utf-8", "replace")):
        return None
    return found.start()


def is_machine(text: str) -> bool:
    """True if a text defines a virtual machine, rather than just referring to one."""
    return _MACHINE.search(text) is not None and _SPEC.search(text) is not None
