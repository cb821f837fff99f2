"""Pseudonyms of single values: names, UUIDs, MAC and IP addresses, paths, targets.

Each is the beginning of a keyed BLAKE2b (RFC 7693: with a key it is a MAC, like HMAC) of the
normalised value. The kind of a name is a prefix of its pseudonym and is not hashed, so that a guest
``mail-01`` and its file ``mail-01.xml`` can be seen to belong together.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Literal
from uuid import UUID

from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.base.wording import ANY_UUID, bare_uuid
from vnicaudit.model.finding import NamedKind
from vnicaudit.model.names import STANDARD_INPUT

Prefix = Literal[
    "vm", "host", "site", "group", "project", NamedKind, "cloud", "cluster", "user", "dev",
    "id", "dir", "file", "name", "text",
]  # fmt: skip
"""Kinds of names, used as prefixes of pseudonyms."""

KEY_BYTES = 64
"""Maximum key length of BLAKE2b."""
_NAMED: dict[str, Prefix] = {"openstack": "cloud", "kube": "cluster"}
"""Beginning of a target that is followed by a name."""
_DIGITS = 10
"""Hexadecimal digits of a pseudonym. These are 40 bits: with 100,000 names, one site in two hundred
has two names with the same pseudonym. With ``dev-`` these are 14 characters, which is valid as a
Linux interface name."""
_PERSON = b"vnicaudit-redact"
_REMEMBERED = 65_536
_MAC = re.compile(r"[0-9a-f]{1,2}([:-])(?:[0-9a-f]{1,2}\1){4}[0-9a-f]{1,2}", re.ASCII | re.I)
_PART = re.compile(r"[^\s,:&!~@*?\[\]()|^$+{}\\]+")
"""Part of a name in a pattern."""
_EVERY_HOST = ("all", "ungrouped")
_NOT_IDENTIFYING = frozenset({"0.0.0.0", "127.0.0.1", "::", "::1"})  # noqa: S104
_DOCUMENTATION = int(ipaddress.IPv6Address("2001:db8::"))
_RESERVED = 240 << 24
"""240.0.0.0/4 is not used by anybody, so a pseudonym is never the address of a machine."""

_COMMON = frozenset(
    {
        "", ".", "..", "-", STANDARD_INPUT, "etc", "usr", "var", "lib", "run", "proc", "sys", "dev",
        "opt", "srv", "home", "root", "tmp", "log", "share", "libvirt", "qemu", "nova", "nova.conf",
        "ch", "system", "session", "default", "cmdline", "fd", "clouds.yaml", "vnicaudit.toml",
    }
)  # fmt: skip
"""Parts of paths that are the same on every machine."""
_SUFFIXES = frozenset(
    {
        "xml", "conf", "json", "yaml", "yml", "log", "txt", "tf", "tfvars", "hcl", "j2", "toml",
        "sh", "img", "qcow2", "sock", "socket", "ini", "d", "sarif", "csv", "prom",
    }
)  # fmt: skip


class Pseudonyms:
    """Pseudonyms by one key. Equal values have equal pseudonyms."""

    def __init__(self, key: bytes) -> None:
        self._key = key if len(key) <= KEY_BYTES else blake2b(key).digest()
        self._digest = lru_cache(_REMEMBERED)(self._computed)

    def name(self, prefix: Prefix, text: str) -> str:
        """``vm-3f9a1c04e2``; empty for an empty name."""
        return f"{prefix}-{self._digest(text).hex()[:_DIGITS]}" if text else ""

    def mark(self, text: str) -> str:
        """A digest that replaces a digest of the same length."""
        return self._digest(f"mark\0{text}").hex()[: len(text)] if text else ""

    def identity(self, text: str) -> str:
        """A UUID for a UUID, with or without hyphens; a name for any other id."""
        if ANY_UUID.fullmatch(text) is None:
            return self.name("id", text)
        made = str(UUID(bytes=self._digest(bare_uuid(text)), version=4))
        return made if "-" in text else made.replace("-", "")

    def mac(self, text: str) -> str:
        """A locally administered MAC address, unicast or multicast like ``text``; a name if
        ``text`` is not a MAC address."""
        found = _MAC.fullmatch(text)
        if found is None:
            return self.name("id", text)
        numbers = bytes(int(part, 16) for part in text.split(found[1]))
        made = bytearray(self._digest(numbers.hex())[:6])
        made[0] = made[0] & 0xFC | 0x02 | numbers[0] & 1
        return made.hex(found[1])

    def address(self, text: str) -> str | None:
        """An IPv4 address in 240.0.0.0/4, or an IPv6 address in 2001:db8::/32; None if ``text`` is
        not an address. Addresses that every machine has (127.0.0.1, ::1, 0.0.0.0) are unchanged."""
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            return None
        if str(address) in _NOT_IDENTIFYING:
            return text
        made = self._digest(str(address))
        if address.version == 4:
            return str(ipaddress.IPv4Address(_RESERVED + int.from_bytes(made[:3], "big")))
        return str(ipaddress.IPv6Address(_DOCUMENTATION + int.from_bytes(made[:12], "big")))

    def path(self, text: str) -> str:
        """A path with a pseudonym for each part that is not the same on every machine; suffixes
        that show the kind of file are kept."""
        *folders, last = text.split("/")
        parts = [part if part in _COMMON else self.name("dir", part) for part in folders]
        return "/".join([*parts, self._file(last)])

    def pointer(self, text: str, public: frozenset[str]) -> str:
        """An xpath or JSON pointer with a pseudonym for each part that is not in ``public``, and
        for the object that leads it in brackets."""
        name, bracket, rest = text.partition("]")
        if bracket and name[:1] == "[" and not name[1:].isdigit():
            return f"[{self.name('name', name[1:])}]{self.pointer(rest, public)}"
        return "/".join(self._step(part, public) for part in text.split("/"))

    def target(self, text: str) -> str:
        """A target as named by the user: a path, a libvirt URI, ``openstack:CLOUD``,
        ``kube:CONTEXT``, ``-``."""
        prefix, _colon, name = text.partition(":")
        if (kind := _NAMED.get(prefix)) is not None:
            return f"{prefix}:{self.name(kind, name)}"
        scheme, found, rest = text.partition("://")
        if not found:
            return " ".join(map(self.path, text.split(" ")))
        rest, _, query = rest.partition("?")
        authority, slash, path = rest.partition("/")
        shown = f"{self._authority(authority)}{slash}{self.path(path)}"
        return f"{scheme}://{shown}{self._query(query)}"

    def pattern(self, text: str) -> str:
        """A pattern of host and group names: everything that may be part of a name is replaced;
        ``all``, ``ungrouped``, numbers and operators are kept."""
        return _PART.sub(lambda part: self._part(part[0]), text)

    def _part(self, text: str) -> str:
        kept = text in _EVERY_HOST or not text.strip("0123456789-")
        return text if kept else self.name("name", text)

    def host(self, text: str) -> str:
        """A host by name or address; ``localhost`` is unchanged."""
        bare = text.strip("[]")
        made = self.address(bare)
        if made is None:
            return text if text in ("", "localhost") else self.name("host", text)
        return f"[{made}]" if bare != text else made

    def _authority(self, text: str) -> str:
        user, at, place = text.rpartition("@")
        name, colon, port = place.rpartition(":")
        if not (colon and port.isdigit()):
            name, colon, port = place, "", ""
        who = user if user in ("", "root") else self.name("user", user)
        return f"{who}{at}{self.host(name)}{colon}{port}"

    def _query(self, text: str) -> str:
        if not text:
            return ""
        made = []
        for pair in text.split("&"):
            key, equals, value = pair.partition("=")
            made.append(f"{key}{equals}{self.name('text', value)}")
        return "?" + "&".join(made)

    def _file(self, text: str) -> str:
        if text in _COMMON:
            return text
        stem, dot, suffix = text.rpartition(".")
        if dot and stem and suffix in _SUFFIXES:
            return f"{self.name('file', stem)}.{suffix}"
        return self.name("file", text)

    def _step(self, text: str, public: frozenset[str]) -> str:
        name, bracket, place = text.partition("[")
        if bracket and not place.removesuffix("]").isdigit():
            return self.name("name", text)
        known = not name or name.isdigit() or name.rpartition(":")[2].casefold() in public
        return text if known else f"{self.name('name', name)}{bracket}{place}"

    def _computed(self, text: str) -> bytes:
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, key=self._key, digest_size=16, person=_PERSON).digest()


# Words that are kept in a redacted text: those of the rules' own manuals, of this program's
# messages, and of errors of libvirt and ssh. Any other word of a message may be a name.


_ERRORS = """
a an and the of in on for this that it was were is are has have had not no be by from to at as with
failed to connect to the hypervisor cannot recv data ssh could not resolve hostname name or service
not known connection refused reset by peer timed out closed lost unable to connect to server host
permission denied publickey password host key verification authentication authorization libvirt
error internal domain not found no matching uuid operation valid unsupported configuration end of
file while reading input output temporary failure resolution try again certificate tls sasl no such
file or directory broken pipe network unreachable route rendered template helm kustomize annotation
bursts guest_ufo idle x86_64 aarch64 s390x ppc64le riscv64 i686 xen lxc spapr-vio more suppression
expired warning note history hosts are audited and reported but nothing is stored
"""
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
"""Examples, which have names."""
_PUBLIC = re.compile(r"(?!\d+$)[\w.:/+&-]+")
_EXAMPLES = re.compile(
    r"(?:br|vnet|tap|eth|kvm|web|mail|vm|cmp|ctl|prod|dev)-?\d.*|br-.*|.*@.*|//.*"
)
"""Names used in sentences of manuals, which may be real names elsewhere."""


_EXAMPLE = re.compile(r"``[^`]*``|\S*\d\S*")
_SPEAKING = ("audit", "knowledge", "model", "platforms", "remedy", "reports", "rules")
"""Folders of modules whose texts are messages, and names of options and releases."""


def _messages() -> Iterator[str]:
    """The texts in the functions of those modules, without loading them, and without what may be
    an example."""
    here = Path(__file__)
    for path in (path for one in _SPEAKING for path in (here.parents[1] / one).rglob("*.py")):
        code = SourceFileLoader(path.stem, str(path)).get_code(path.stem)
        if code is not None and path.name not in ("pseudonyms.py", "redaction.py"):
            yield from _texts_in(code)


def _texts_in(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield _EXAMPLE.sub("", constant)
        elif isinstance(constant, CodeType):
            yield from _texts_in(constant)


@cache
def public_words() -> frozenset[str]:
    """The words, in lower case."""
    rules = shipped_catalogue()
    manuals = (_FENCED.sub("", rules.info(rule).manual) for rule in rules.ids)
    texts = (*manuals, *_messages(), _ERRORS)
    found = {_core(word).casefold() for text in texts for word in _WORD.findall(text)}
    return frozenset(
        word for word in found if _PUBLIC.fullmatch(word) and not _EXAMPLES.fullmatch(word)
    )


# Removes from free text (messages, fixes, errors, notes) everything that identifies a site.
#
# A text is split into words. Names in the run's records are replaced everywhere, even if they are
# ordinary words. Of the other words, only numbers, versions and public words are kept; the rest is
# replaced, because names of a site's bridges, networks and options occur in messages without being
# in any field.


_EDGE = "\"'`()[]{}<>,;.:!?…"
_WORD = re.compile(r"[^\s\"'`()\[\]{}<>,;=|*]+")
_NUMBER = re.compile(
    r"[-+~≥≤±]?[0-9](?:[.,:%]{0,3}[0-9]){0,5}[.,:%]{0,3}[A-Za-z%]?|0x[0-9a-f]{1,6}|\W+"
)
"""A number of at most six digits: a longer one may be a MAC address without colons."""
_MACHINE = re.compile(
    r"(?:pc|q35|virt|pseries|s390-ccw-virtio|pc-i440fx|pc-q35)(?:-(?:rhel)?\d+(?:\.\d+){1,2})?"
)
ADAPTER = re.compile(
    r"lo|(?:eth|bond|team|ib)\d{1,4}(?:\.\d{1,4})?"
    r"|(?:en|ib)(?:o|s|[pP]\d{1,5}s)\d{1,5}(?:f\d{1,3})?(?:(?:d|np)\d{1,3})?(?:\.\d{1,4})?"
)
"""Names that identify no host and no guest: those that the kernel and systemd give to adapters
(systemd.net-naming-scheme(7)), and usual ones of bonds."""
_LINE = re.compile(r"(?P<place>.*?)(?P<line>(?::\d+){1,2})")
_RELEASE = re.compile(r"\d{1,4}(?:\.\d{1,3}){1,2}(?:~?rc\d+)?", re.ASCII)
_RULE_OR_DATE = re.compile(r"(?:VNIC|SUPP)\d{0,3}|\d{4}-\d\d-\d\d", re.ASCII)
"""The rule of a suppression, and its last day."""
_ANY_DIGITS = re.compile(r"\d+", re.ASCII)
MAX_NAMES = 1_000_000
"""Maximum names of a run that are recognised in texts (about 200 bytes each)."""


class TextRedactor:
    """Redacts texts, and learns the names of a run as its records pass."""

    def __init__(self, pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        self._public = public_words()
        self._known: dict[str, str] = {}
        self._begin: dict[str, list[str]] = {}

    def learn(self, name: str, pseudonym: str) -> None:
        """Recognise ``name`` in every text from now on. Names of digits only, or of one character,
        are not learned: every such number would be replaced."""
        if len(name) < 2 or name in self._known or _ANY_DIGITS.fullmatch(name):
            return
        first = _WORD.search(name)
        if first is None or len(self._known) >= MAX_NAMES:
            return
        self._known[name] = pseudonym
        self._begin.setdefault(_core(first[0]), []).append(name)
        if len(self._begin[_core(first[0])]) > 1:
            self._begin[_core(first[0])].sort(key=len, reverse=True)

    def redacted(self, text: str) -> str:
        """The text with a pseudonym for each name in it: known names wherever they are whole
        words, then every other word that is not public."""
        made: list[str] = []
        after = 0
        for word in _WORD.finditer(text):
            if word.start() < after:
                continue
            place = self._known_at(text, word[0], word.start(), after)
            if place is not None:
                begin, name = place
                made += [self._words(text[after:begin]), self._known[name]]
                after = begin + len(name)
        return "".join([*made, self._words(text[after:])])

    def _known_at(self, text: str, word: str, start: int, after: int) -> tuple[int, str] | None:
        core = _core(word)
        place = start + word.index(core)
        for name in self._begin.get(core, ()):
            begin = place - name.index(core)
            if begin >= after and text.startswith(name, begin) and _ends(text, begin + len(name)):
                return begin, name
        return None

    def _words(self, text: str) -> str:
        return _WORD.sub(lambda found: self._word(found[0]), text)

    def _word(self, word: str) -> str:
        core = _core(word)
        if not core or word.casefold() in self._public:
            return word
        before, _, after = word.partition(core)
        return f"{before}{self._replaced(core)}{after}"

    def _replaced(self, word: str) -> str:
        """Replace a word without its surrounding punctuation."""
        made = self._pseudonyms
        if word.casefold() in self._public or _RULE_OR_DATE.fullmatch(word):
            return word
        if ANY_UUID.fullmatch(word):
            return made.identity(word)
        if _MAC.fullmatch(word):
            return made.mac(word)
        address, slash, length = word.partition("/")
        if (replaced := made.address(address)) is not None and (not slash or length.isdigit()):
            return f"{replaced}{slash}{length}"
        address, _colon, port = word.rpartition(":")
        if port.isdigit() and (replaced := made.address(address)) is not None:
            return f"{replaced}:{port}"
        kept = (_NUMBER, _RELEASE, _MACHINE, ADAPTER)
        if any(one.fullmatch(word) for one in kept):
            return word
        return self._place(word)

    def _place(self, word: str) -> str:
        """A target, a path (with its line), a host with its port, or a name of unknown kind."""
        made = self._pseudonyms
        if "://" in word or word.partition(":")[0] in _NAMED:
            return made.target(word)
        if (place := _LINE.fullmatch(word)) is not None:
            return f"{self._replaced(place['place'])}{place['line']}" if place["place"] else word
        if "/" in word:
            return self._known.get(word) or made.path(word)
        known: Prefix = "user" if "@" in word else "name"
        return self._known.get(word) or made.name(known, word)


def _core(word: str) -> str:
    """A word without punctuation at its ends."""
    return word.strip(_EDGE)


def _ends(text: str, place: int) -> bool:
    """True if a name that ends there is not continued by more characters of the word."""
    rest = text[place : place + 2]
    if rest[:1] == ".":  # end of a sentence, or part of a longer name
        return not rest[1:].isalnum()
    return not (rest[:1].isalnum() or rest[:1] in ("_", "-", "@"))
