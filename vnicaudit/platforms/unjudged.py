"""Parts of a file in forms that no reader supports: a nova.conf in a string of a manifest, a NIC
for ``virsh attach-device`` in a script, a QEMU command as the value of a key. Each is reported with
advice on how to get it judged; none is judged. See
:class:`vnicaudit.model.file_kind.Unjudged`."""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator
from heapq import merge

from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.domain_xml.recognise import OPENING, is_foreign, lone_interfaces, root_name
from vnicaudit.platforms.kubevirt.recognise import first_machine
from vnicaudit.platforms.nova_conf.recognise import SECTIONS, configurations_in
from vnicaudit.text.beginning import (
    PROMPT,
    blanked,
    is_script,
    like_hcl,
    like_yaml,
    quotes_others,
    without_remarks,
)

_FILE = "save it as a file of its own"
_NOVA = f"holds a nova.conf inside a string: not judged, {_FILE}"
_QUOTED_XML = f"holds domain XML inside a quoted string: not judged, {_FILE}"
_ENCODED_XML = f"holds domain XML in base64: not judged, decode it (base64 -d) and {_FILE}"
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
_FLAVOR_KEY = (
    "holds a flavor that nova flavor-key sets: not judged, give the flavor (openstack flavor show "
    "-f json)"
)
_MADE = (
    "holds a guest that virt-install makes: not judged, give its definition (virt-install "
    "--print-xml)"
)
_PROXMOX = (
    "holds NICs of a guest of Proxmox VE (qm config): not judged, give its QEMU command (qm "
    "showcmd ID --pretty)"
)
_OPENNEBULA = (
    "holds a NIC of OpenNebula (MODEL in a template): not judged, give the definition of a VM that "
    "has it (virsh dumpxml one-ID on its host)"
)
_VAGRANT = (
    "holds the NIC model of guests of vagrant-libvirt: not judged, give their definitions (virsh "
    "dumpxml)"
)
_HELM = (
    "holds options of Nova for OpenStack-Helm on a command line (--set conf.nova…): not judged, "
    "keep them in a file of values"
)
_ADDED = (
    "holds a NIC that virsh attach-interface adds: not judged, give the definition of its domain "
    "(virsh dumpxml)"
)
_NAMED = (
    "names Nova's NIC options in a form that is not read: audit the nova.conf, image or flavor "
    "made of it"
)

_MOST = 1_000
"""Maximum number of reported parts of one file."""
_MORE = "may also hold more than is listed: not judged, save each part as a file of its own"

_WORDS = (*SECTIONS, b"kubevirt.io/")
"""Quick check: most files of a folder contain none of these."""
_DOMAIN = re.compile(
    rb"[\"'](?:[\w .-]{0,80}[.:][ ])?"
    rb"(?:(?:<|\\u003[cC])\?xml[^<\n]{0,200}?(?:>|\\u003[eE])(?:\\[rn]|\s){0,9})?"
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
_QEMU = re.compile(rb"(?<![\w.-])(?:qemu-system-[a-z0-9_]+|qemu-kvm)(?=[\s\"',\\])")
_NIC_OPTION = re.compile(rb"(?<![\w-])-(?:device|netdev|nic|net)(?=[\s\"',=])")
_WINDOW = 4_000
"""Number of bytes of a command within which its NIC options must follow."""
_BLANK_LINE = re.compile(rb"\n[ \t]*\r?\n")
_RUN = (
    rb"(?:^[ \t]*(?!#)|\A)(?:\d{1,6}\*?[ \t]+)?(?:-[ \t]+|\+{1,9}[ \t]+|" + PROMPT.encode() + rb")?"
    rb"(?:[\w.]{1,60}:[ \t]+[\"']?)?(?:sudo[ \t]+)?"
)  # fmt: skip
"""The beginning of a line that runs a program: in a script, a list or a value, in a shell's
history, behind a prompt or in a trace. Behind ``#`` it is a comment, but for the first line."""
_VIRT_INSTALL = re.compile(_RUN + rb"(virt-install)[ \t]", re.MULTILINE)
_ATTACH = re.compile(_RUN + rb"(virsh)[ \t][^\n]{0,200}?\battach-interface[ \t]", re.MULTILINE)
_FORMS = (
    (b"virt-install", _VIRT_INSTALL, _MADE),
    (b"attach-interface", _ATTACH, _ADDED),
    (
        b"conf.nova.",
        re.compile(
            rb"^(?![ \t]*#)[^\n]{0,400}?--set(?:-string|-json|-literal|-file)?[ =][\"']?"
            rb"(?:[^\s\"']{1,400},)?conf\.nova\.\w",
            re.MULTILINE,
        ),
        _HELM,
    ),
    (
        b"flavor-key",
        re.compile(
            rb"^(?![ \t]*#)[^\n]{0,600}?[ \t](flavor-key)[ \t]+\S{1,255}[ \t]+set[ \t]",
            re.MULTILINE,
        ),
        _FLAVOR_KEY,
    ),
    (
        b"net",
        re.compile(
            rb"^[ \t]*net\d{1,2}:[ \t]+(?:model=)?(?:virtio|e1000[\w-]{0,20}|rtl8139|vmxnet3|pcnet"
            rb"|ne2k_\w{3}|i82\w{3,7})(?:=[0-9A-Fa-f:]{17})?(?:,|[ \t\r]*$)",
            re.MULTILINE,
        ),
        _PROXMOX,
    ),
    (
        b"NIC",
        re.compile(
            rb"^[ \t]*NIC(?:_DEFAULT)?[ \t]*=[ \t]*\[[^\]]{0,2000}?\b(?:MODEL|NETWORK|NETWORK_ID)"
            rb"[ \t]*=|<NIC>(?=[^\0]{0,2000}?<(?:MODEL|NETWORK|BRIDGE)>)",
            re.MULTILINE,
        ),
        _OPENNEBULA,
    ),
    (
        b"libvirt",
        re.compile(
            rb"^[^#\n]{0,200}?\b(?:nic_model_type|libvirt__model_type|model_type)[ \t]*(?:=>?|:)"
            rb"[ \t]*[\"':]",
            re.MULTILINE,
        ),
        _VAGRANT,
    ),
)
"""Word, pattern and message of forms that say with what command to get them judged. Sources:
Proxmox VE's qm.conf(5); OpenNebula's *Virtual Machine Template*; vagrant-libvirt's configuration
(``nic_model_type``, ``model_type``)."""
_OF_IMAGES = re.compile(
    rb"(?<![\w-])(?:openstack[ \t]+(?:image|flavor)[ \t]+(?:create|set)"
    rb"|glance[ \t]+image-(?:create|update))[ \t]"
)
_NAMES = (
    b"use_virtio_for_bridges", b"x_queue_size", b"max_queues", b"xQueueSize", b"MaxQueues",
    b"hw_vif_", b"vif_multiqueue_enabled", b"x-queue-size",
)  # fmt: skip
"""Quick check: most files contain none of these."""
_NAME = re.compile(
    rb"\b(?:use_virtio_for_bridges|Nova\w{0,40}(?:[RT]xQueueSize|MaxQueues)|hw_vif_model"
    rb"|(?:hw_|hw:)vif_multiqueue_enabled|virtio-net-[rt]x-queue-size)\b"
    rb"|(?:(?<![\w.-])|(?<=\\n))(?:[rt]x_queue_size|max_queues)\b"
)
"""Nova's options (nova/conf/libvirt.py of 2026.1), the parameters of tripleo-heat-templates and of
charm-nova-compute for them, and properties of images and flavors."""
_NOVA_WORD = re.compile(rb"(?i)nova")
_ABOUT_OPTIONS = (
    ".adoc", ".c", ".go", ".h", ".html", ".java", ".js", ".md", ".po", ".pot", ".py", ".rs", ".rst",
    ".ts", "_spec.rb",
)  # fmt: skip
"""Endings of source code and documentation: they explain the options, and set none."""
_DECLARES = re.compile(rb"(?:\s|#[^\n]*\n|---\n){0,200}(?:heat_template_version|options):")
"""The beginning of a template of Heat and of a charm's config.yaml, which declare parameters."""
_NOTES = re.compile(r"(?:^|/)releasenotes/")
"""Where OpenStack's projects keep their release notes (reno), which are YAML."""


_Part = tuple[int, str]
"""Where a part begins, and the message about it."""


def beside(
    data: bytes, path: str, read: Collection[int], *, manifest: bool, listing: bool
) -> Iterator[NotJudged]:
    """The parts of a file in forms that no reader supports, by line, beside the parts that were
    read."""
    if b"\0" in data or is_foreign(data):
        return
    kinds = [_quoted_domains(data), _encoded_domains(data), _interfaces(data)]
    kinds += [_commands_in_hcl(data), *_forms(data)]
    if not like_yaml(data):
        kinds.append(_configurations(data))
    if not listing:
        kinds.append(_commands(data))
    if not manifest:
        kinds.append(_manifests(data))
    for message, line in _by_line(data, kinds, read):
        yield NotJudged(message if message == _MORE else f"also {message}", path, line)


def alone(data: bytes, path: str) -> Iterator[NotJudged]:
    """The relevant parts of a file of which nothing is read: a nova.conf in YAML or a script. Pages
    that show one as an example are left out."""
    if b"\0" in data:
        return
    told = False
    for part in _unread(data, path):
        told = True
        yield part
    if not told and (at := _named_option(data, path)) is not None:
        yield NotJudged(_NAMED, path, data.count(b"\n", 0, at) + 1)


def _unread(data: bytes, path: str) -> Iterator[NotJudged]:
    if b"qemu-" in data:
        from vnicaudit.platforms.qemu.read import unread_commands

        yield from unread_commands(data, path)
    if not (path and (path.endswith(_ABOUT_OPTIONS) or quotes_others(data))):
        for message, line in _by_line(data, _forms(data)):
            yield NotJudged(message, path, line)
    if any(word in data for word in (*_WORDS, *_NICS, b"PG", b"PD94")):
        for message, line in _by_line(data, _brought_by_code(data)):
            yield NotJudged(message, path, line)


def _forms(data: bytes) -> list[Iterator[_Part]]:
    """NICs in the forms of other tools."""
    return [_matches(pattern, data, message) for word, pattern, message in _FORMS if word in data]


def _named_option(data: bytes, path: str) -> int | None:
    """Where a file that is neither documentation nor source code first names an option of Nova for
    NICs, outside of comments."""
    is_about = path.endswith(_ABOUT_OPTIONS) or _NOTES.search(path) or quotes_others(data)
    if is_about or _DECLARES.match(data) or not any(name in data for name in _NAMES):
        return None
    if not _NOVA_WORD.search(data):
        from vnicaudit.platforms.nova_conf.siblings import merge_order

        if not merge_order(path):  # Kolla's global.conf goes into every nova.conf as well
            return None
    found = _NAME.search(without_remarks(data))
    return None if found is None else found.start()


def _by_line(
    data: bytes, kinds: Iterable[Iterator[_Part]], read: Collection[int] = ()
) -> Iterator[tuple[str, int]]:
    """The message and the 1-based line of each part, in order, but for commands, NICs and domains
    in lines that were read."""
    count, at, line = 0, 0, 1
    for position, message in merge(*kinds):
        line += data.count(b"\n", at, position)
        at = position
        if message in (_COMMAND, _ATTACHED, _QUOTED_XML) and line in read:
            continue
        yield message, line
        count += 1
        if count == _MOST:
            yield _MORE, line
            return


def _brought_by_code(data: bytes) -> Iterator[Iterator[_Part]]:
    """The parts that YAML, a script or infrastructure code installs, kind by kind."""
    if quotes_others(data):
        return
    code = is_script(data) or like_hcl(data)
    if code:
        yield _configurations(data)
    if code or like_yaml(data) or _is_data(data):
        last = max(data.rfind(nic) for nic in _NICS)
        yield (found for found in _quoted_domains(data) if found[0] < last)
        yield _encoded_domains(data)
    if code:
        yield _manifests(data)


def _matches(pattern: re.Pattern[bytes], data: bytes, message: str) -> Iterator[_Part]:
    """Each match of a pattern, at its last group if it has one."""
    return ((match.start(match.lastindex or 0), message) for match in pattern.finditer(data))


def _configurations(data: bytes) -> Iterator[_Part]:
    """Configurations in strings; those in YAML and in here-documents are read."""
    if b"<<" in data and is_script(data):
        from vnicaudit.platforms.nova_homes.commands import written_documents

        pieces, position = list[bytes](), 0
        for one in written_documents(data.decode("latin-1")):
            pieces += data[position : one.start], blanked(data[one.start : one.end])
            position = one.end
        data = b"".join((*pieces, data[position:]))
    return ((at, _NOVA) for at in configurations_in(data))


def _quoted_domains(data: bytes) -> Iterator[_Part]:
    return _matches(_DOMAIN, data, _QUOTED_XML)


def _encoded_domains(data: bytes) -> Iterator[_Part]:
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


def _commands(data: bytes) -> Iterator[_Part]:
    """QEMU's name, followed by options for NICs."""
    if b"qemu-" not in data:
        return
    text = without_remarks(data)
    found = [match.start() for match in _QEMU.finditer(text)]
    for at, following in zip(found, [*found[1:], len(text)], strict=False):
        end = min(following, at + _WINDOW)
        gap = _BLANK_LINE.search(text, at, end)
        if _NIC_OPTION.search(text, at, end if gap is None else gap.start()):
            yield at, _COMMAND


def _commands_in_hcl(data: bytes) -> Iterator[_Part]:
    """Commands of OpenStack's clients in provisioners; those in scripts and tasks are read."""
    if (b"openstack" in data or b"glance" in data) and like_hcl(data):
        yield from _matches(_OF_IMAGES, without_remarks(data), _IMAGE)


def _manifests(data: bytes) -> Iterator[_Part]:
    if (at := first_machine(data)) is not None:
        yield at, _MANIFEST


def _interfaces(data: bytes) -> Iterator[_Part]:
    """NICs of guests outside of any domain."""
    return ((one.start, _ATTACHED) for one in lone_interfaces(data) if not one.is_cut)
