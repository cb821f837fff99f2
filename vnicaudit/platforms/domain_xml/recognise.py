"""Recognise domain XML by the first kilobytes; nothing is parsed, and lxml is not loaded."""

from __future__ import annotations

import re

ROOTS = ("domain", "domstatus", "domainsnapshot", "domainbackup", "domaincheckpoint")
"""Roots that contain a domain definition."""

OPENING = re.compile(rb"<(%s)(?=[\s>/])" % "|".join(ROOTS).encode())

OTHER_ROOTS = (
    "network", "networkport", "pool", "volume", "secret", "filter", "capabilities", "nodedevice",
    "domainCapabilities", "interface", "filterbinding", "cpu",
)  # fmt: skip
"""Other libvirt documents: known, and ignored when found in a directory."""

SAVE_MAGIC = (b"LibvirtQemudSave", b"LibvirtQemudPart")
"""The first bytes of a libvirt save image, finished and unfinished."""

EBCDIC = b"\x4c\x6f\xa7\x94"
"""``<?xm`` in EBCDIC: letters are the same in all its code pages."""

_BEGINS = rb"(?m)(?:^|>|[}%%#]\})[ \t\r]*<(?:%s)(?=[\s>/])" % "|".join(ROOTS).encode()
"""A root at the beginning of a line, or after another tag or a template tag; in a sentence or a
string it is only quoted."""

_MARKS = b"\xff\xfe\xef\xbb\xbf"
"""Bytes of byte order marks."""

_LOG_LINES = 10
"""Maximum number of lines before the first root, such as virsh's log lines. With more it is a text
with an example."""
_IN_YAML = re.compile(rb"[-:][ \t]+[|>][-+\d]{0,2}[ \t]*(?:#[^\n]*)?\r?\n\s*\Z")
"""Text before a definition in a YAML block: it counts, however far down it is."""
_LAST = 256
"""Number of bytes before a definition in which the key of its text is searched."""
_FENCE = rb"(?m)^[ \t]*(?:```|~~~)"

_HEAD = rb"<([A-Za-z_][\w.-]*)(?=[\s>/])"


def looks_like_xml(head: bytes) -> bool:
    """True if a file that begins with ``head`` (some kilobytes) may hold domain XML: a libvirt root
    element, in any encoding that lxml reads, perhaps after some log lines. False for prose and
    programs that quote such an element."""
    if head.startswith(SAVE_MAGIC) or OPENING.match(head) is not None:
        return True
    text = _roughly_ascii(head).lstrip(_MARKS)
    if b"<dom" not in text:  # all roots begin like this; most files have none
        return False
    found = re.search(_BEGINS, text)
    if found is None:
        return False
    before = text[: found.start()].lstrip()
    if not before or before.startswith(b"<"):
        return True
    if before.count(b"\n") >= _LOG_LINES and not _IN_YAML.search(text[: found.start()][-_LAST:]):
        return False
    return re.search(_FENCE, before) is None


def holds_document(data: bytes) -> bool:
    """True if a file of another kind contains a complete definition that begins at the start of a
    line, or at the start of a string in it."""
    if b"<domain" not in data and b"<domstatus" not in data:
        return False
    found = None if b"\0" in data else re.search(_BEGINS, data)
    return found is not None and b"</domain>" in data[found.end() :]


def root_name(head: bytes) -> str | None:
    """The name of the first element in ``head``; None if there is none."""
    match = re.search(_HEAD, _roughly_ascii(head))
    return None if match is None else match.group(1).decode()


def is_foreign(data: bytes) -> bool:
    """True for UTF-16 or UTF-32, by byte order mark or by zero bytes around the first ``<``, and
    for EBCDIC."""
    return data.startswith((b"\xff\xfe", b"\xfe\xff", EBCDIC)) or b"\0" in data[:4]


def _roughly_ascii(head: bytes) -> bytes:
    """``head`` as approximate ASCII, good enough to look for tags."""
    if head.startswith(EBCDIC):
        return head.decode("cp037").replace("\x85", "\n").encode("ascii", "replace")
    return head.replace(b"\0", b"") if is_foreign(head) else head
