"""Parts of a file in forms that no reader supports: a nova.conf in a string of a manifest, a NIC
for ``virsh attach-device`` in a script, a QEMU command as the value of a key. Each is reported with
advice on how to get it judged; none is judged."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterator
from itertools import chain, islice

from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.domain_xml.recognise import OPENING, is_foreign, root_name, spans
from vnicaudit.platforms.kubevirt.objects import first_machine
from vnicaudit.platforms.nova_conf.recognise import is_own
from vnicaudit.platforms.qemu.read import unread_commands
from vnicaudit.text.beginning import (
    PROMPT,
    is_own_report,
    is_script,
    like_hcl,
    like_yaml,
    quotes_others,
)

_FILE = "save it as a file of its own"
_NOVA = f"holds a nova.conf inside a string: not judged, {_FILE}"
_QUOTED_XML = f"holds domain XML inside a quoted string: not judged, {_FILE}"
_ENCODED_XML = f"holds domain XML in base64: not judged, {_FILE}"
_MANIFEST = f"holds a KubeVirt manifest inside a string: not judged, {_FILE}"
_COMMAND = f"holds a QEMU command line in a form that is not read: not judged, {_FILE}"
_ATTACHED = (
    "holds an <interface> outside of a domain (virsh attach-device): not judged, give the "
    "definition of the domain that it is attached to (virsh dumpxml)"
)
_IMAGE = (
    "holds a command that makes or changes an image or a flavor: not judged, save it as a "
    "script of its own"
)
BARE = (
    "an <interface> as virsh attach-device takes it, one NIC without its domain: not judged, give "
    "the definition of the domain that it is attached to (virsh dumpxml)"
)
_MADE = {
    b"virt-install": "holds a guest that virt-install makes: not judged, give its definition "
    "(virt-install --print-xml)",
    b"virsh": "holds a NIC that virsh attach-interface adds: not judged, give the definition "
    "of its domain (virsh dumpxml)",
}

_MOST = 1_000
"""Maximum number of reported parts of one kind in one file."""
_MORE = "may also hold more than is listed: not judged, save each part as a file of its own"

_WORDS = (b"[DEFAULT]", b"[libvirt]", b"[pci]", b"kubevirt.io/")
"""Quick check: most files of a folder contain none of these."""
_SECTION = re.compile(rb"^[ \t]*\[(?:DEFAULT|libvirt|pci)\][ \t]*\r?$", re.MULTILINE)
_QUOTED_SECTION = re.compile(rb"\[(?:DEFAULT|libvirt|pci)\](?:\\r)?\\n")
_OPTIONS = re.compile(rb"[ \t]*(?:[#;\[]|\{[%{#]|[\w.-]{1,100}[ \t]*[=:]|\r?(?=\n|\Z))")
"""A line of a configuration: an option, a section, a comment, a template tag, or an empty line."""
_LONGEST_QUOTED = 20_000
_DOMAIN = re.compile(
    rb"[\"'](?:(?:<|\\u003[cC])\?xml[^<\n]{0,200}?(?:>|\\u003[eE])(?:\\[rn]|\s){0,9})?"
    rb"(?:<|\\u003[cC])domain(?=[\s>]|\\u003[eE])"
    rb"|<!\[CDATA\[\s{0,9}(?:<\?xml[^<>\n]{0,200}>\s{0,9})?<domain(?=[\s>])"
    rb"|&lt;domain(?=\s|&gt;)"
)
"""In quotes (Go writes ``<`` as ``\\u003c`` in JSON), in CDATA, or escaped in XML."""
_NICS = (b"<interface", b"\\u003cinterface", b"\\u003Cinterface", b"&lt;interface")
_BASE64 = re.compile(rb"(?<![A-Za-z0-9+/])(?:PGRvbWFpb[ij]|PD94bWwg)[A-Za-z0-9+/]{40,}")
"""``<domain`` or ``<?xml`` in base64, as Kubernetes stores secrets."""
_PROSE = frozenset({
    "html", "body", "book", "article", "chapter", "section", "sect1", "refentry", "appendix",
    "part", "para", "topic", "concept", "task", "reference", "rss", "feed", "page", "doc",
    "document",
})  # fmt: skip
"""Roots of pages for people: XML in them is an example."""
_REMARKS = re.compile(rb"^[ \t]*(?:#|//)[^\n]*", re.MULTILINE)
_QEMU = re.compile(rb"(?<![\w.-])(?:qemu-system-[a-z0-9_]+|qemu-kvm)(?=[\s\"',\\])")
_NIC_OPTION = re.compile(rb"(?<![\w-])-(?:device|netdev|nic|net)(?=[\s\"',=])")
_WINDOW = 4_000
"""Number of bytes of a command within which its NIC options must follow."""
_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n")
_BY_OTHERS = re.compile(
    rb"^[ \t]*(?:-[ \t]+)?(?:[\w.]{1,60}:[ \t]+[\"']?)?(?:sudo[ \t]+)?"
    rb"(?:(virt-install)[ \t]|(virsh)[ \t][^\n]{0,200}?\battach-interface[ \t])",
    re.MULTILINE,
)
_OF_IMAGES = re.compile(
    rb"(?<![\w-])(?:openstack[ \t]+(?:image|flavor)[ \t]+(?:create|set)"
    rb"|glance[ \t]+image-(?:create|update))[ \t]"
)
_PROMPT = re.compile(rf"\A\s*{PROMPT}(?:sudo[ \t]+)?virsh[ \t][^\n]*".encode())
_INTERFACE = re.compile(rb"<interface(?=\s)([^<>]{0,400})>")
_OF_A_GUEST = re.compile(
    rb"\btype\s*=\s*[\"'](?:network|bridge|direct|user|ethernet|vhostuser|vdpa|hostdev|internal"
    rb"|udp|mcast|server|client|null|vds)[\"']"
)
_OF_A_HOST = re.compile(rb"\bname\s*=")
_LONGEST_INTERFACE = 20_000


def beside(
    data: bytes, path: str, read: Collection[int], *, manifest: bool, listing: bool
) -> Iterator[NotJudged]:
    """The parts of a file in forms that no reader supports, by line, beside the parts that were
    read. ``read``: the lines that were read; ``manifest``: a KubeVirt manifest would have been
    read; ``listing``: the file consists of QEMU's command lines, whose reader reports what it does
    not understand."""
    if b"\0" in data or is_foreign(data):
        return
    line_of = _Lines(data)
    kinds = [_configurations(data), _quoted_domains(data), _interfaces(data), _by_others(data)]
    kinds += [_commands_in_hcl(data), _encoded_domains(data)]
    if not listing:
        kinds.append((at, _COMMAND) for at in _commands(data) if line_of(at) not in read)
    if not manifest:
        kinds.append(_manifests(data))
    found = sorted(chain.from_iterable(islice(kind, _MOST) for kind in kinds))
    for at, message in found:
        yield NotJudged(f"also {message}", path, line_of(at))
    if len(found) >= _MOST:
        yield NotJudged(_MORE, path, line_of(found[-1][0]))


def alone(data: bytes, path: str) -> Iterator[NotJudged]:
    """The relevant parts of a file in a folder of which nothing is read: a NIC without its domain,
    a nova.conf in YAML or a script. Pages that show one as an example are left out."""
    if is_bare_interface(data):
        yield NotJudged(BARE, path, 1)
        return

    if b"\0" in data or is_own_report(data):
        return
    if b"qemu-" in data:
        yield from unread_commands(data, path)
    if any(word in data for word in (*_WORDS, *_NICS, b"PG", b"PD94")):
        line_of = _Lines(data)
        for at, message in _brought_by_code(data):
            yield NotJudged(message, path, line_of(at))


def is_bare_interface(data: bytes) -> bool:
    """True if a file is an ``<interface>`` of a guest (not of a host, and not within a domain), or
    a piece of a template that inserts one into a domain."""
    data = _PROMPT.sub(b"", data, count=1)
    if b"<interface" not in data or not data.lstrip().startswith((b"<", b"{%", b"{#", b"{{")):
        return False
    if root_name(data) != "interface":
        return False
    return next(_interfaces(data), None) is not None


def _brought_by_code(data: bytes) -> Iterator[tuple[int, str]]:
    """The position and message of each part that YAML, a script or infrastructure code installs."""
    if quotes_others(data):
        return
    code = is_script(data) or like_hcl(data)
    if code or like_yaml(data):
        yield from _configurations(data)
    if code or like_yaml(data) or _is_data(data):
        last = max(data.rfind(nic) for nic in _NICS)
        yield from (found for found in _quoted_domains(data) if found[0] < last)
        yield from _encoded_domains(data)
    if code:
        yield from _manifests(data)


class _Lines:
    """The 1-based line of a position; positions may come in any order."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._known = (0, 1)

    def __call__(self, position: int) -> int:
        at, line = self._known if self._known[0] <= position else (0, 1)
        line += self._data.count(b"\n", at, position)
        self._known = (position, line)
        return line


def _configurations(data: bytes) -> Iterator[tuple[int, str]]:
    """Texts with an option that only Nova has, in its section."""
    if not any(word in data for word in _WORDS):
        return
    yield from _plain_configurations(data)
    yield from _quoted_configurations(data)


def _plain_configurations(data: bytes) -> Iterator[tuple[int, str]]:
    end = 0
    for match in _SECTION.finditer(data):
        if match.start() >= end:
            end, is_novas = _lines_of(data, match.start())
            if is_novas:
                yield match.start(), _NOVA


def _lines_of(data: bytes, start: int) -> tuple[int, bool]:
    """The end of the configuration that begins at ``start``, and True if it has an option that only
    Nova has."""
    is_novas, section = False, ""
    while start < len(data) and _OPTIONS.match(data, start) is not None:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        line = data[start:end].strip().decode("utf-8", "replace")
        if line.startswith("["):
            section = line.strip("[]")
        is_novas = is_novas or is_own(section, line)
        start = end + 1
    return start, is_novas


def _quoted_configurations(data: bytes) -> Iterator[tuple[int, str]]:
    """Configurations in a string, with ``\\n`` between their lines."""
    end = 0
    for match in _QUOTED_SECTION.finditer(data):
        if match.start() < end:
            continue
        end = data.find(b'"', match.end(), match.start() + _LONGEST_QUOTED)
        end = match.start() + _LONGEST_QUOTED if end < 0 else end
        text = re.sub(rb"(?:\\r)?\\n", b"\n", data[match.start() : end])
        if any(True for _one in _configurations(text)):
            yield match.start(), _NOVA


def _quoted_domains(data: bytes) -> Iterator[tuple[int, str]]:
    for match in _DOMAIN.finditer(data):
        yield match.start(), _QUOTED_XML


def _encoded_domains(data: bytes) -> Iterator[tuple[int, str]]:
    for match in _BASE64.finditer(data):
        text = match.group()
        plain = base64.b64decode(text[: len(text) // 4 * 4])
        if OPENING.search(plain) is not None and b"<interface" in plain:
            yield match.start(), _ENCODED_XML


def _is_data(data: bytes) -> bool:
    """True for XML that is not a page for people."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return False
    root = root_name(data)
    return root is not None and root.lower() not in _PROSE


def _commands(data: bytes) -> Iterator[int]:
    """Positions at which QEMU is named, followed by options for NICs."""
    if b"qemu-" not in data:
        return
    text = _REMARKS.sub(_blank, data)
    found = [match.start() for match in _QEMU.finditer(text)]
    for at, following in zip(found, [*found[1:], len(text)], strict=False):
        end = min(following, at + _WINDOW)
        gap = _BLANK_LINE.search(text, at, end)
        if _NIC_OPTION.search(text, at, end if gap is None else gap.start()):
            yield at


def _by_others(data: bytes) -> Iterator[tuple[int, str]]:
    if b"virt-install" in data or b"attach-interface" in data:
        for match in _BY_OTHERS.finditer(data):
            program = match[1] or match[2]
            yield match.start(1 if match[1] else 2), _MADE[program]


def _commands_in_hcl(data: bytes) -> Iterator[tuple[int, str]]:
    """Commands of OpenStack's clients in provisioners; those in scripts and tasks are read."""
    if (b"openstack" in data or b"glance" in data) and like_hcl(data):
        for match in _OF_IMAGES.finditer(_REMARKS.sub(_blank, data)):
            yield match.start(), _IMAGE


def _manifests(data: bytes) -> Iterator[tuple[int, str]]:
    if (at := first_machine(data)) is not None:
        yield at, _MANIFEST


def _interfaces(data: bytes) -> Iterator[tuple[int, str]]:
    """NICs of guests outside of any domain."""
    if b"<interface" not in data:
        return
    text = _without_remarks(_without_domains(data))
    end = 0
    for match in _INTERFACE.finditer(text):
        if _OF_A_GUEST.search(match[1]) is None or _OF_A_HOST.search(match[1]) is not None:
            continue
        if 0 <= end < match.end():
            end = text.find(b"</interface>", match.end())
        if match[1].endswith(b"/") or match.end() <= end <= match.end() + _LONGEST_INTERFACE:
            yield match.start(), _ATTACHED


def _without_domains(data: bytes) -> bytes:
    """Return the text with all domains blanked, however far they are indented."""
    if OPENING.search(data) is None:
        return data
    parts, position = [], 0
    for span in spans(data):
        parts += [data[position : span.start], _blanked(data[span.start : span.end])]
        position = span.end
    return b"".join([*parts, data[position:]])


def _without_remarks(data: bytes) -> bytes:
    parts, position = [], 0
    while (start := data.find(b"<!--", position)) >= 0:
        end = data.find(b"-->", start)
        end = len(data) if end < 0 else end
        parts += [data[position:start], _blanked(data[start:end])]
        position = end
    return b"".join([*parts, data[position:]]) if parts else data


def _blanked(data: bytes) -> bytes:
    return re.sub(rb"[^\r\n]", b" ", data)


def _blank(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())
