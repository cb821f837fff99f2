"""A text with its secrets as stars: the one place that masks whatever quotes a file.

It knows no file format. It masks what a line assigns to the name of a secret, the contents of an
element or attribute of such a name, the data of QEMU's ``-object secret``, and the password before
the ``@`` of a URL. It hides too much rather than too little, and never a line break: line N stays
line N. A new notation needs a sign in secret_signs.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from vnicaudit.text.secret_names import (
    is_address_name,
    is_harmless,
    is_secret_name,
    masked_commands,
    may_be_secret_name,
    may_hold_secret,
)
from vnicaudit.text.secret_values import is_place, masked_values
from vnicaudit.text.secret_xml import ValueBlock, block_of, masked_xml

# The stars that stand for a secret; in a separate module because loading the masking is slow.

STARS = "***"


_URL = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]{0,40}:(?:\\?/){2})([^\s\"'<>]+)")
_MISTYPED_URL = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]{1,40}:(?:\\?/){1,3})([^\s\"'<>]+)")
"""A slash too few or too many; only messages are searched for it."""
_LOGIN = re.compile(
    r"(?i)(?<!\S)(?![\"'(]?[a-z]:[\\/])"  # not C:\\path
    r"(?![\"'(]?(?:(?:[\da-f]{2}:){5}[\da-f]{2}|(?:[\d-]+T)?\d\d:\d\d(?::\d\d)?)@)"  # a MAC, a time
    r"([^\s:]{0,200}?(?::|%3a))(?!(?:\\?/){2}|\S*:\*\*\*@)\S+@"
)
"""``root:password@host`` in a word that is no URL; only messages are searched for it."""
_COLON = re.compile(r"(?i):|%3a")
_ASSIGNMENT = re.compile(
    r"(?P<before>[ \t]*(?:[-+?][ \t]+){0,9}(?:(?:export|set|setenv|declare|readonly|local)[ \t]+)?"
    r"(?P<quote>[\"']?))(?P<key>[A-Za-z_][\w./-]*)(?P<sep>[\"']?[ \t]*(?:=>|[:=])[ \t]*)"
    r"(?P<value>.*)"
)
_KEY = re.compile(r"(?<![\w./-])(?P<key>[\w./-]+)(?P<sep>\\?[\"']?[ \t]{0,9}(?:=>|[:=])[ \t]{0,9})")
_VALUE = re.compile(
    r"\{\{[\s\w.]{0,99}\}\}|\$\{\w{1,99}\}"  # names of variables
    r"|\\?\"[^\"\\]*(?:\\.[^\"\\]*)*\"?|'[^']*'?|(?:[^\s,;&<>\"'}\]]|,,)+"
)
_COMMAND = re.compile(r"\S+(?P<rest>[ \t]+[A-Za-z][\w./-]*[ \t].*[ \t]--?[A-Za-z])")
"""The end of a value that a shell sets for one command only, and that command."""
_OPTION = re.compile(
    r"(?<!\S)(?P<before>--?(?P<key>[A-Za-z][\w-]*)[ \t]+)"
    r"(?P<value>(?!-)(?:\"[^\"\\]*(?:\\.[^\"\\]*)*\"?|'[^']*'?|\S+))"
)
_DANGLING = re.compile(r"(?<![\w-])--?(?P<key>[A-Za-z][\w-]*)[\"']?[ \t]*(?:\\|,|/>)?[ \t]*$")
"""An option whose value is on the next line: in a shell, a list, or ``<qemu:arg>``."""
_FIRST = re.compile(
    r"(?P<before>(?<![ \t])[ \t]*(?:[-#][ \t]+)?(?:<[\w:]+[ \t]+value=)?)"
    r"(?P<value>\"[^\"]*\"?|'[^']*'?|[^\s,\\\]]+)"
)
_LISTED = re.compile(
    r"(?P<before>[\"']--?(?P<key>[A-Za-z][\w-]*)[\"'][ \t]*,[ \t]*)"
    r"(?P<value>\"[^\"\\]*(?:\\.[^\"\\]*)*\"?|'[^']*'?)"
)
_BEARER = re.compile(r"(?i)\b(bearer|basic)[ \t]+[\w+/=.~\\-]{8,}")
_OBJECT_DATA = re.compile(r"(?i)\bsecret|tls-creds")
_PEM = re.compile(  # on one line, as in JSON
    r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----)(?:(?!-----END )[^\"'\n])+"
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----")
_PEM_END = "-----END "
_SECRET_KIND = re.compile(
    r"(?<![\w.-])kind[\"']?\s{0,99}:\s{0,99}(?:![\w!]{0,9}[ \t]{1,9})?[\"']?Secret(?:List)?\b"
)
_SECRET_DATA = frozenset({"data", "stringData"})
_FW_CFG = re.compile(r"(?i)fw_?cfg|opt/")


def masked(text: str) -> str:
    """The text of a file of any kind, with the same number of lines, and stars in place of
    everything that may be secret."""
    return _masked_text(text) if may_hold_secret(text) else text


def _masked_text(text: str) -> str:
    of_kubernetes = _SECRET_DATA if _SECRET_KIND.search(text) else frozenset[str]()
    shown = masked_values(masked_xml(text, STARS), of_kubernetes, STARS)
    lines = _masked_lines(shown.split("\n"), of_kubernetes)
    return "\n".join(_without_keys(lines, text.split("\n")))


def masked_message(text: str) -> str:
    """A message that may quote a file, a command line or an address, with stars in place of what
    certainly is secret. If a file's name looks like that of a secret, what the message says about
    it stays."""
    shown = masked_values(text, frozenset(), STARS, in_message=True)
    return "\n".join(_masked_inline(line, in_message=True) for line in shown.split("\n"))


def _without_keys(lines: Iterator[str], written: list[str]) -> Iterator[str]:
    """The lines with private keys (PEM) as stars, wherever they are; ``written``: the lines as in
    the file."""
    inside = False
    for line, before in zip(lines, written, strict=True):
        if inside and _PEM_END not in before:
            yield re.sub(r"[^\s].*\S|\S", STARS, line, count=1)
            continue
        inside = _PEM_BEGIN.search(before, before.rfind(_PEM_END) + 1) is not None
        yield _PEM.sub(rf"\1{STARS}", line)


def _masked_lines(lines: list[str], more: frozenset[str]) -> Iterator[str]:
    """The lines, masked. ``more``: keys that hold secrets only in this file."""
    block: ValueBlock | None = None
    named = False  # ``- name: X_PASSWORD``: the value is on a line of its own
    dangling = False
    for line in lines:
        stop = "\r" if line.endswith("\r") else ""
        body = line.removesuffix("\r")
        if dangling:
            body = _FIRST.sub(_masked_first, body, count=1)
        option = _DANGLING.search(body[-200:])
        dangling = option is not None and is_secret_name(option["key"])
        if block is not None:
            if block.has(body):
                yield block.hidden(body, STARS) + stop
                if block.ends_with(body):
                    block = None
                continue
            block = None
        found = _ASSIGNMENT.match(body)
        if found is None:
            yield _masked_inline(body) + stop
            continue
        key, value = found["key"], found["value"]
        secret = may_be_secret_name(key) or key in more or (named and key == "value")
        named = _names_a_secret(key, value) or (named and key != "value")
        if secret:
            block = block_of(found.start("key"), value, found["sep"])
            yield body[: found.start("value")] + _masked_value(value, found["sep"], block) + stop
        elif is_address_name(key) and "@" in value:
            block = block_of(found.start("key"), value, found["sep"])
            yield body[: found.start("value")] + _masked_address(value) + stop
        else:
            yield _masked_inline(body) + stop


def _names_a_secret(key: str, value: str) -> bool:
    return key == "name" and is_secret_name(value.strip("\"' \t"))


def _masked_value(value: str, sep: str, block: ValueBlock | None) -> str:
    """Masked form of a value assigned to a secret. A line can continue behind a quoted value, which
    may be part of a map."""
    if block is not None and block.shown_head:
        return value
    if is_harmless(value):
        return value
    match = re.match(r"(?P<quote>[\"'])(?:(?!(?P=quote))[^\\]|\\.)*(?P=quote)", value)
    rest = "" if match is None else value[match.end() :]
    if match is None or not re.match(r"[ \t]*(?:[,;}\])#]|$)", rest):
        command = _COMMAND.match(value) if sep == "=" else None
        return STARS if command is None else STARS + _masked_inline(value[command.start("rest") :])
    return f"{match['quote']}{STARS}{match['quote']}{_masked_inline(rest)}"


def _masked_address(value: str) -> str:
    """An address reduced to its scheme: if it names several hosts, each may have a password."""
    scheme, mark, _rest = value.partition("://")
    return f"{scheme}{mark}{STARS}" if mark else STARS


_SHORT = 200
"""Length up to which a line is cached with its masked form."""


def _masked_inline(line: str, *, in_message: bool = False) -> str:
    if len(line) <= _SHORT and not in_message:
        return _masked_short(line)
    return _masked_anew(line, in_message=in_message)


@lru_cache(maxsize=512)  # definitions differ only in a line or two
def _masked_short(line: str) -> str:
    return _masked_anew(line, in_message=False)


def _masked_anew(line: str, *, in_message: bool) -> str:
    line = (_MISTYPED_URL if in_message else _URL).sub(_masked_url, line)
    if in_message and "@" in line:
        line = _LOGIN.sub(rf"\1{STARS}@", line)
    line = _BEARER.sub(rf"\1 {STARS}", line)
    line = _OPTION.sub(_masked_option, "".join(_masked_pairs(line, in_message=in_message)))
    return masked_commands(_LISTED.sub(_masked_option, line), STARS)


def _masked_pairs(line: str, *, in_message: bool) -> Iterator[str]:
    """Pieces of the line, with the values of secret pairs masked: ``password=…``, ``"token": "…"``,
    ``data=…``."""
    extra = _extra_names(line)
    at = 0
    while found := _KEY.search(line, at):
        yield line[at : found.end()]
        at = found.end()
        name = found["key"].rpartition("/")[2].lower()
        rados = name == "key" and line[: found.start()].endswith(":")  # rbd:pool/image:key=
        if not (is_secret_name(found["key"]) or name in extra or rados):
            continue
        if in_message and is_place(line, *found.span("key")):
            continue
        value = _VALUE.match(line, at)
        if value is None or is_harmless(value[0]):
            continue
        yield _starred(value[0])
        at = value.end()
    yield line[at:]


def _extra_names(line: str) -> frozenset[str]:
    """Names that hold secrets only because of what else is on this line."""
    names = set()
    if _OBJECT_DATA.search(line):
        names |= {"data"}
    if _FW_CFG.search(line):
        names |= {"string"}
    return frozenset(names)


def _starred(value: str) -> str:
    """Stars in the quotes of the original value."""
    quote = re.match(r"\\?[\"']?", value)
    mark = "" if quote is None else quote[0]
    closed = mark if value.endswith(mark) and len(value) > len(mark) else ""
    return f"{mark}{STARS}{closed}"


def _masked_first(found: re.Match[str]) -> str:
    return found["before"] + _starred(found["value"])


def _masked_option(found: re.Match[str]) -> str:
    """A masked option whose value is a separate word: ``--os-password …``."""
    value = found["value"]
    if not is_secret_name(found["key"]) or is_harmless(value) or STARS in value:
        return found[0]
    return found["before"] + _starred(value)


def _masked_url(found: re.Match[str]) -> str:
    """``rabbit://user:***@host``. If there are several hosts, or a password is not encoded,
    everything from the first colon to the last ``@`` is masked. A user name of SSH stays."""
    scheme, rest = found[1], found[2]
    at = rest.rfind("@")
    if at < 0:
        return found[0]
    colon = _COLON.search(rest, 0, at)
    if colon is None:
        web = scheme.lower().startswith("http")
        return f"{scheme}{STARS}{rest[at:]}" if web else found[0]
    return f"{scheme}{rest[: colon.start()]}:{STARS}{rest[at:]}"
