"""Recognise domain XML by the first kilobytes; nothing is parsed, and lxml is not loaded."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.text.beginning import FENCE, PROMPT, blanked

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
_LOGGED = (
    rb"(?m)(?:\bxml=|^\d{4}-\d\d-\d\d[ T][^\n<]{1,400})(?:<\?xml[^<>\n]{0,200}\?>\s*)?<domain[\s>]"
)
"""A definition in the log of nova-compute (``_get_guest_xml``, virt/libvirt/driver.py) or libvirtd
(``virDomainDefineXML``)."""

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
    if is_logged(text):
        return True
    found = re.search(_BEGINS, text)
    if found is None:
        return False
    before = text[: found.start()].lstrip()
    if not before or before.startswith(b"<"):
        return True
    if before.count(b"\n") >= _LOG_LINES and not _IN_YAML.search(text[: found.start()][-_LAST:]):
        return False
    return re.search(rf"(?m)^[ \t]*{FENCE}".encode(), before) is None


def is_logged(text: bytes) -> bool:
    """True for a log that quotes a definition."""
    return b"<domain" in text and re.search(_LOGGED, text) is not None


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
    """True for UTF-16 or UTF-32, by byte order mark or by zero bytes around the first ``<``."""
    return data.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in data[:4]


def _roughly_ascii(head: bytes) -> bytes:
    """``head`` as approximate ASCII, good enough to look for tags."""
    return head.replace(b"\0", b"") if is_foreign(head) else head


# Find where the documents of a blob begin and end, without parsing them.


DOCTYPE = re.compile(rb"<!DOCTYPE\b")

_DECLARATION = re.compile(rb"<\?xml\s[^<>]*\?>")
_AT_LINE_START = re.compile(rb"^[ \t]*(?=<(?:%s)[\s>/])" % "|".join(ROOTS).encode(), re.MULTILINE)

_TAG = re.compile(rb"<[A-Za-z_]")


class Span(NamedTuple):
    """Bytes ``start`` to ``end`` of one document, and the number of lines before it."""

    start: int
    end: int
    lines: int


def spans(data: bytes) -> Iterator[Span]:
    """The documents in order, each from its XML declaration (or its root) to its root's end tag.

    A document that never ends is cut where the next one begins on a line of its own, so that it
    does not swallow the rest of the file. Documents in comments do not count.
    """
    position = counted = lines = 0
    ends: dict[bytes, _Ends] = {}
    comments = _Comments(data)
    while (match := OPENING.search(data, position)) is not None:
        behind = comments.behind(match.start(), position)
        if behind:
            position = behind
            continue
        root = match.group(1)
        if root not in ends:
            ends[root] = _Ends(data, root)
        end = ends[root].of(match)
        prolog = None
        for found in _DECLARATION.finditer(data, position, match.start()):
            prolog = found
        if prolog is not None and comments.tag_within(prolog.end(), match.start()):
            prolog = None  # it belongs to the document around the domain
        prolog = prolog or DOCTYPE.search(data, position, match.start())
        start = match.start() if prolog is None else prolog.start()
        lines += data.count(b"\n", counted, start)
        counted = start
        yield Span(start, end, lines)
        position = end


class _Comments:
    """Finds the ends of comments; queries must come in order of positions."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._last = data.rfind(b"-->")

    def behind(self, place: int, since: int) -> int:
        """The end of the comment that contains a place, 0 if none does. ``since``: an earlier
        position outside of comments."""
        while since <= self._last and (start := self._data.find(b"<!--", since, place)) >= 0:
            end = self._data.find(b"-->", start + 4)
            if end < 0:
                return 0
            since = end + 3
            if since > place:
                return since
        return 0

    def tag_within(self, start: int, end: int) -> bool:
        """True if an element begins between two positions, ignoring comments; ``start`` and ``end``
        must be outside of comments."""
        while (tag := _TAG.search(self._data, start, end)) is not None:
            start = self.behind(tag.start(), start)
            if not start:
                return True
        return False


class _Ends:
    """Ends of the elements of one name, with nested elements of that name counted: found in one
    pass over the file, even if many of them never end."""

    def __init__(self, data: bytes, root: bytes) -> None:
        self._data = data
        self._starts: list[int] = []
        self._ends: list[int] = []
        """For each tag: the end of the element that it begins, or of the tag itself if it begins
        none; -1 if the element never ends."""
        still_open: list[int] = []
        tags = re.finditer(rb"<(/?)%s(?=[\s>/])[^<>]*?(/?)>" % root, data)
        for number, tag in enumerate(tags):
            self._starts.append(tag.start())
            self._ends.append(tag.end())
            if not tag.group(1) and not tag.group(2):
                self._ends[number] = -1
                still_open.append(number)
            elif tag.group(1) and still_open:
                self._ends[still_open.pop()] = tag.end()

    def of(self, opening: re.Match[bytes]) -> int:
        """The position behind the end tag of the element that ``opening`` begins."""
        number = bisect_left(self._starts, opening.start())
        if number < len(self._ends) and self._ends[number] >= 0:
            return self._ends[number]
        following = _AT_LINE_START.search(self._data, opening.end())
        return len(self._data) if following is None else following.start()


# Encodings in which ``<`` is not the byte 0x3C: UTF-16 and UTF-32.
#
# They are converted to UTF-8 first, so that there is only one way to find documents. libxml2
# decodes the others (UTF-8, ISO-8859-x, Shift_JIS …) by the XML declaration. XML 1.0, appendix F,
# describes how to tell them apart.


_DECLARED = re.compile(r"(<\?xml[^<>]*?)\sencoding\s*=\s*(?:'[^'<>]*'|\"[^\"<>]*\")")
_CODECS = (
    (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"),
    (b"\0\0\0", "utf-32-be"), (b"\0", "utf-16-be"),
)  # fmt: skip
"""The first bytes of a file -> Python's name of its encoding."""


def as_utf8(data: bytes, file: str) -> bytes:
    """The text as UTF-8, without the encoding in its XML declaration.

    Raises TargetError if it cannot be decoded.
    """
    by_zeros = "utf-32-le" if data[1:4] == b"\0\0\0" else "utf-16-le"
    codec = next((codec for mark, codec in _CODECS if data.startswith(mark)), by_zeros)
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        raise TargetError(f"not readable as XML: {error.reason}", file=file) from None
    return _DECLARED.sub(r"\1", text.lstrip("\ufeff"), count=1).encode("utf-8", "replace")


# ``<interface>`` elements outside of any domain: what ``virsh attach-device`` takes, or what was
# cut out of a definition.


_PROMPT = re.compile(rf"\A\s*{PROMPT}(?:sudo[ \t]+)?virsh[ \t][^\n]*".encode())
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_INTERFACE = re.compile(rb"<interface(?=\s)([^<>]{0,400})>")
_OF_A_GUEST = re.compile(
    rb"\btype\s*=\s*[\"'](?:network|bridge|direct|user|ethernet|vhostuser|vdpa|hostdev|internal"
    rb"|udp|mcast|server|client|null|vds)[\"']"
)
_OF_A_HOST = re.compile(rb"\bname\s*=")
_CLOSING = b"</interface>"
_LONGEST = 20_000
_ON_ITS_LINE = re.compile(rb"^[ \t]*<interface[ \t]", re.MULTILINE)


class LoneInterface(NamedTuple):
    """Bytes ``start`` to ``end`` of an ``<interface>``, and the number of lines before it;
    ``is_cut``: its end is missing."""

    start: int
    end: int
    lines: int
    is_cut: bool


def without_documents(data: bytes, *, indented: bool = False) -> bytes:
    """The file with the documents blanked that begin at the start of a line. Others belong to a
    text, and stay unless ``indented`` ones count as well."""
    parts, position = [], 0
    for span in spans(data):
        if indented or span.start == 0 or data[span.start - 1 : span.start] == b"\n":
            parts += [data[position : span.start], blanked(data[span.start : span.end])]
            position = span.end
    return b"".join([*parts, data[position:]])


def lone_interfaces(data: bytes) -> Iterator[LoneInterface]:
    """The NICs of guests outside of any domain, in order."""
    if b"<interface" not in data:
        return
    text = without_documents(data, indented=True) if OPENING.search(data) else data
    text = _COMMENT.sub(lambda match: blanked(match.group()), text)
    found = [
        match
        for match in _INTERFACE.finditer(text)
        if _OF_A_GUEST.search(match[1]) and not _OF_A_HOST.search(match[1])
    ]
    following = [match.start() for match in found[1:]]
    counted = lines = 0
    for match, limit in zip(found, [*following, len(text)], strict=False):
        lines += text.count(b"\n", counted, match.start())
        counted = match.start()
        end = match.end()
        if not match[1].endswith(b"/"):
            end = text.find(_CLOSING, end, min(limit, end + _LONGEST))
            end += len(_CLOSING) if end >= 0 else 0
        yield LoneInterface(match.start(), end, lines, end < 0)


def is_bare(data: bytes) -> bool:
    """True if a file is an ``<interface>`` of a guest (not of a host, and not within a domain), or
    a piece of a template that inserts one into a domain."""
    data = _PROMPT.sub(b"", data, count=1)
    if b"<interface" not in data or not data.lstrip().startswith((b"<", b"{%", b"{#", b"{{")):
        return False
    return root_name(data) == "interface" and next(lone_interfaces(data), None) is not None


def looks_lone(head: bytes) -> bool:
    """True if a text has such an element at the beginning of a line; in a sentence or a string it
    is only quoted."""
    if b"<interface" not in head or is_foreign(head) or b"\0" in head:
        return False
    found = _ON_ITS_LINE.search(head) is not None
    return found and next(lone_interfaces(head), None) is not None
