"""Text of others, of which only what is known to be harmless may be shown.

A file may hold a secret in any place and under any name, so nothing of it is shown but what is
known to be harmless: tags, and the values of known options. Messages are sentences of this program
that quote a value or an address: in those, what has the name or the form of a secret is masked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vnicaudit.base.opening import read_regular

STARS = "***"
"""Stands for text that is not shown."""

_SECRET_NAME = re.compile(
    r"passw|pass_?phrase|pass_?code|secret|token|credential|cookie|private_?key|api_?key"
    r"|access_?key|admin_?pass|fixed_?key|hmac_?key|encryption_?key|auth_?blob|authorization"
    r"|chpasswd|user_?data|vendor_?data|network_?data|sysprep|unattend|ignition"
    r"|key_data$|(?:^|_)pass$|(?:^|_)psk$|pwd?$|(?:^|_)sig$|signature$"
)
"""Sources: Nova's options that are marked secret; fields that libvirt returns only with
VIR_DOMAIN_XML_SECURE; QEMU's ``-object secret``; signed URLs; cloud-init's user data, which may
hold anything."""
_ABOUT_A_SECRET = re.compile(
    r"_(?:valid_to|expir[a-z]*|ttl|timeout|time|files?|path|dir|type|uuid|length|size|enabled|ref)$"
)
"""Endings of names that describe a secret (how long it is valid, where it is stored) without
holding it."""
_HARMLESS = re.compile(
    r"""["']?(?:true|false|yes|no|on|off|none|null|~|\{\}|\[\]|)["']?[,;]?"""
    r"""|["']?\{\{[\s\w.]{0,99}\}\}["']?|["']?\$(?:\w{1,99}|\{\w{1,99}\})["']?""",
    re.IGNORECASE,
)
"""Values that are not secret: switches, empty values, and names of variables that stand for one."""


@lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """True for the name of an option, key or attribute whose value is secret in any kind of
    file."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)  # adminPass, admin-pass, admin.pass
    plain = re.sub(r"[-.:/ ]", "_", spaced).lower()
    return _SECRET_NAME.search(plain) is not None and _ABOUT_A_SECRET.search(plain) is None


def is_harmless(value: str) -> bool:
    """True for a value that cannot be a secret."""
    return _HARMLESS.fullmatch(value.strip()) is not None


# Lines of files.

_KNOWN = frozenset(
    """
    action address apiVersion arch ats autoport average bandwidth binding boot bootOrder bridge
    burst bus cache chassis check connected container_format controller cores cpu cpu_mode cpu_model
    csum currentMemory dev device disk_format domain driver ecn emulator enabled event_idx family
    feature file floor force_raw_images frames function gateway group gso guest heads
    heat_template_version host hotplug hw_machine_type hw_vif_model hw_vif_multiqueue_enabled id
    inbound index instanceid interfaceid io ioeventfd iommu isolated keymap kind libvirt_type
    libvirt_use_virtio_for_bridges listen mac macAddress machine macvtap managed managerid
    masquerade max max_queues memory mode model mrg_rxbuf mtu multifunction multus name namespace
    nativeMode network networkInterfaceMultiqueue networkName networks order outbound packed passt
    path pci pciAddress peak persistent placement pod port portgroup ports prefix primary profileid
    protocol queues ram reservation rom rss rss_hash_report runStrategy running rx rx_queue_size
    size slot sndbuf sockets source sriov state stp tag tap target threads trunk
    trustGuestRxFilters tso4 tso6 tx tx_queue_size txmode type typeid typeidversion ufo unit
    NovaLibvirtRxQueueSize NovaLibvirtTxQueueSize
    use_virtio_for_bridges uuid vcpu vcpus version vhost vhostuser virt_type
    virtio-net-rx-queue-size virtio-net-tx-queue-size vlan vram xmlns zone
    """.split()  # noqa: SIM905
)
"""Options whose values hold no secret, in definitions of guests, manifests and nova.conf."""
_PLAIN = re.compile(r"[\w.:/+ -]{0,200}")
"""Form of a value that is shown: neither a login nor a query of a URL has it."""
_NAME = re.compile(r"[a-z][A-Za-z_-]{0,40}(?::[A-Za-z_-]{1,40})?")
"""Form of the name of an unknown option; what has digits in it may be part of a secret."""
_WORDS = frozenset({
    "xml", "hvm", "DEFAULT", "libvirt", "---", STARS,
    "crudini", "iniset", "nova_config", "openstack-config", "set", "etc/nova/nova.conf",
})  # fmt: skip
_TOKEN = re.compile(
    r"(?P<comment>(?:(?<!\S)\#|<!--)(?=.*[^\s]).*)"
    r"|<(?P<element>[A-Za-z_][\w.:-]*)>(?P<text>[^<>]*)(?=</)"
    r"|(?P<tag></?[A-Za-z_][\w.:-]*(?=[\s/>]|$))"
    r"|(?P<set>(?:(?<!\S)libvirt[ \t]+|[\"']libvirt/)(?:[rt]x_queue_size|max_queues|virt_type"
    r"|use_virtio_for_bridges)(?:[\"'][ \t]*:[ \t]*value[ \t]*=>[ \t]*|[ \t]+)"
    r"(?P<around>[\"']?)[\w.-]{1,40}(?P=around)(?=[\s;,}]|$))"
    r"|(?P<quote>[\"']?)(?P<key>[A-Za-z_][\w.-]*(?:::?[\w.-]+)*)(?P=quote)"
    r"(?P<sep>:(?=[\s\"'{\[]|$)\s*|\s*=>?\s*)"
    r"(?P<value>\"(?:[^\"\\]|\\.)*(?:\"|$)|'[^']*(?:'|$)|[^\s,{}\[\]<>\"'()=]*)"
    r"|(?P<mark>(?:[\s,{}\[\]>/?!()|-]|<(?![A-Za-z_/]))+)"
    r"|(?P<other>\"(?:[^\"\\]|\\.)*(?:\"|$)|'[^']*(?:'|$)|[^\s,{}\[\]<>\"']+|.)",
    re.DOTALL,
)
_SEVERAL = re.compile(r"\*{3}(?:[ \t]*\*{3})+\**")


def masked(text: str) -> str:
    """The text of a file of any kind, with the same lines, and stars in place of everything that is
    not known to be harmless."""
    return "\n".join(map(masked_line, text.split("\n")))


@lru_cache(maxsize=1024)  # a plan shows the same lines around each of its steps
def masked_line(line: str) -> str:
    """A line of a file, with or without its line break, masked."""
    body = line.rstrip("\r\n")
    return _SEVERAL.sub(STARS, _TOKEN.sub(_token_shown, body)) + line[len(body) :]


def _token_shown(found: re.Match[str]) -> str:
    if found["comment"] is not None:
        return STARS
    if found["element"] is not None:
        shown = found["text"] if _is_plain(found["element"], found["text"]) else STARS
        return f"<{found['element']}>{shown}"
    if found["key"] is not None:
        return _shown_option(found)
    if found["set"] is not None:  # an option of Nova in a command, or in a manifest of Puppet
        return found[0]
    other = found["other"]
    return found[0] if other is None or other in _WORDS or is_harmless(other) else STARS


def _shown_option(found: re.Match[str]) -> str:
    key, value = found["key"], found["value"]
    if _is_plain(key, value) or value == STARS:
        return found[0]
    if _NAME.fullmatch(key) is None or (not value and "=" in found["sep"]):  # the end of Base64
        return STARS
    mark = value[:1] if value[:1] in ("'", '"') else ""
    hidden = value if is_harmless(value) or value.strip("'\"") == STARS else f"{mark}{STARS}{mark}"
    return f"{found['quote']}{key}{found['quote']}{found['sep']}{hidden}"


def _is_plain(key: str, value: str) -> bool:
    """True if the value of the option can be shown."""
    name = key.rpartition("::")[2]  # of a parameter of Puppet
    known = name in _KNOWN or key.startswith("xmlns:")
    return known and _PLAIN.fullmatch(value.strip("\"'")) is not None


# Messages.

_STRUCTURE = re.compile(r"\{|\[\s*[\"'{\[]")
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:(?:\\?/){1,3}")
"""Also with a slash too few or too many."""
_COLON = re.compile(r"(?i):|%3a")
_NO_LOGIN = re.compile(
    r"(?i)[\"'(]?(?:[a-z]:[\\/]"  # C:\\path
    r"|(?:(?:[\da-f]{2}:){5}[\da-f]{2}|(?:[\d-]+T)?\d\d:\d\d(?::\d\d)?)@)"  # a MAC, a time
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)[ \t]+[\w+/=.~\\-]{8,}")
_ASSIGNED = re.compile(
    r"(?:(?<!\S)--?(?P<option>[A-Za-z][\w-]*)[ \t]+"
    r"|(?P<key>(?<![\w./-])[\w./-]+)\\?[\"']?\s{0,9}(?:=>|[:=])\s{0,9})"
)
_VALUE = re.compile(
    r"\{\{[\s\w.]{0,99}\}\}|\$\{\w{1,99}\}"  # names of variables
    r"|\\?\"[^\"\\]*(?:\\.[^\"\\]*)*\"?|'[^']*'?|(?:[^\s,;&<>\"'}\]]|,,)+"
)
_FILE = re.compile(
    r"\.(?:xml|json|ya?ml|conf|cnf|cfg|ini|toml|tf|tfvars|hcl|txt|log|sh|args|pem|sarif|csv)$"
)
_LINE = re.compile(r"[\"']?:[ \t]?\d{1,9}(?::\d{1,9})?(?::|[ \t]|$)")
_SENTENCE = re.compile(rf"{_LINE.pattern}|[\"']?:[ \t]+(?:[A-Za-z][a-z]*|\d{{1,9}})[ \t]+[\w'\"]")
"""A line number; or a word and the next one."""
_SECOND = re.compile(r"[\"']?:[ \t]+[\"']?(?P<name>[A-Za-z][\w.-]*)[\"']?[ \t]*[:=]")
_VERB = re.compile(
    r"[\"']?:[ \t]+(?:not|no|cannot|could|is|are|has|must|needs|neither|nothing)[ \t]+\w"
)


def masked_message(text: str) -> str:
    """A message that may quote a file, a command line or an address, with stars in place of what
    has the name or the form of a secret. Of a quoted structure with such a name nothing is shown.
    What is said of a file that is called so stays."""
    quoted = _STRUCTURE.search(text)
    if quoted and any(map(is_secret_name, _IDENTIFIER.findall(text, quoted.start()))):
        text = text[: quoted.start()] + STARS
    if "@" in text:
        text = re.sub(r"\S+", _masked_login, text)
    return "".join(_masked_values(_BEARER.sub(rf"\1 {STARS}", text)))


def _masked_login(found: re.Match[str]) -> str:
    """A word without the password before its last ``@``: ``root:***@host``. A user name alone
    stays, except in an address of the web, where it may be a token."""
    word = found[0]
    at = word.rfind("@")
    if at < 0 or _NO_LOGIN.match(word):
        return word
    scheme = _SCHEME.search(word, 0, at)
    start = 0 if scheme is None else scheme.end()
    colon = _COLON.search(word, start, at)
    if colon is not None:
        start = colon.end()
    elif scheme is None or (scheme[0].endswith("//") and not scheme[0].startswith("http")):
        return word
    return f"{word[:start]}{STARS}{word[at:]}"


def _masked_values(text: str) -> Iterator[str]:
    """Pieces of the text, with the values of secrets masked: ``password=…``, ``--token …``."""
    at = 0
    while found := _ASSIGNED.search(text, at):
        yield text[at : found.end()]
        at = found.end()
        if not is_secret_name(found["option"] or found["key"]):
            continue
        if found["key"] is not None and _is_of_a_file(text, *found.span("key")):
            continue
        value = _VALUE.match(text, at)
        if value is None or is_harmless(value[0]) or STARS in value[0]:
            continue
        yield STARS
        at = value.end()
    yield text[at:]


def _is_of_a_file(text: str, start: int, end: int) -> bool:
    """True if the text from ``start`` to ``end`` names the file that the message is about. In doubt
    it names a secret."""
    name = text[start:end]
    if _VERB.match(text, end):
        return True
    is_path = name.startswith(("/", "./", "../")) or _FILE.search(name) is not None
    if not is_path and "/" not in name:
        return False
    second = _SECOND.match(text, end)
    if second is not None and is_secret_name(second["name"]):
        return True  # the value belongs to that name
    return (_SENTENCE if is_path else _LINE).match(text, end) is not None


# The line of a file that a finding is about, as a report may show it.


_MOST = 8 << 20
"""Maximum bytes of a file from which a line is shown."""
_LINES = 100
"""Lines of an ``<interface>`` in which an element is looked for."""
_WIDE = 300
"""Characters of a line, or of an element within a longer one, that are shown."""


class QuotedLine(NamedTuple):
    """A line with what may be secret masked. ``caret``: the column, from 0, of what is wrong in it;
    None: unknown, or it moved because something before it is masked."""

    number: int
    text: str
    caret: int | None


def quoted_line(file: str, line: int, column: int | None, xpath: str) -> QuotedLine | None:
    """The line; of a NIC in domain XML the one with the element that ``xpath`` names. None if the
    file cannot be read again, or has another form by now."""
    lines = _lines_of(file)
    if not 0 < line <= len(lines):
        return None
    at, start = line - 1, None if column is None else column - 1
    element = re.search(r"/interface(?:\[\d+\])?/(\w+)", xpath)
    if element is not None:
        tag = re.compile(rf"<{element[1]}(?=[\s/>])[^<>]*>?")
        for number in range(at, min(at + _LINES, len(lines))):
            found = tag.search(lines[number])
            if found is not None and len(lines[number]) > _WIDE:  # all on one line
                return QuotedLine(number + 1, masked_line(found[0])[:_WIDE], 0)
            if found is not None:
                at, start = number, found.start()
                break
            if "</interface" in lines[number]:
                break
    text = lines[at].rstrip("\r")
    if len(text) > _WIDE:
        return None
    shown = masked_line(text)
    indent = len(shown) - len(shown.lstrip())
    stays = start is not None and start >= indent and shown[:start] == text[:start]
    caret = start - indent if start is not None and stays else None
    return QuotedLine(at + 1, shown.strip(), caret)


@lru_cache(maxsize=1)  # the findings of a file follow each other
def _lines_of(file: str) -> tuple[str, ...]:
    """Empty if it is no text in UTF-8."""
    try:
        return tuple(read_regular(file, _MOST).decode("utf-8").split("\n"))
    except (OSError, UnicodeDecodeError):
        return ()
