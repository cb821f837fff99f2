"""Names of options, keys, attributes, elements and variables that hold secrets.

Sources: the options of Nova's reference that are marked secret (``[database] connection``,
``transport_url``, ``memcache_secret_key``, ``metadata_proxy_shared_secret``, …); fields that
libvirt returns only with VIR_DOMAIN_XML_SECURE (domain_conf.c: ``passwd`` of VNC and SPICE, cookies
of disks); QEMU's ``-object secret,data=`` and ``password=``; cloud-init's user data, which may hold
anything.

A new name needs a sign in secret_signs.py.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

# Secrets on command lines that no name precedes, because the program takes them by position, and
# signatures in URLs: ``curl -u admin:…``, ``sshpass -p …``, ``echo root:… | chpasswd``, ``sig=…``.
#
# A new notation needs a sign in secret_signs.py.

_WORD = r"(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s\"',|;&\])}]+)"
_GAP = r"[\"', \t]{1,9}"
"""Separator of words in a shell, and in a list in JSON or YAML."""
USER = re.compile(
    r"(?P<before>(?<![\w-])(?:--user|--proxy-user|-u|-U)(?:[= \t\"',]{0,9}))(?P<quote>[\"']?)"
    r"(?P<user>[\w.@%+-]{1,200}:)(?!\d{1,9}(?:[\s\"',]|$))(?P<value>[^\s\"',\])}]+)"
)
"""Option with a user and a password; not ``--user 1000:1000`` of containers."""
_CLIENT = re.compile(r"\bcurl\b|https?://|--proxy-user\b")
"""Programs for which ``-u`` has a password; it means something else for git, rsync, sudo and
podman: ``git push -u origin:main``."""
_SSHPASS = re.compile(rf"(?P<before>\bsshpass{_GAP}-p(?:{_GAP})?)(?P<value>{_WORD})")
_MYSQL = re.compile(r"\b(?:mysql|mariadb)[\w-]{0,40}[\"', \t]")
_JOINED_P = re.compile(rf"(?P<before>(?<![\w-])-p)(?P<value>{_WORD})")
_VIRSH = re.compile(
    rf"(?P<before>\bset-user-password(?:{_GAP}--encrypted)?(?:{_GAP}[^\s\"',-][^\s\"',]{{0,200}}){{2}}"
    rf"{_GAP})(?P<value>(?!-){_WORD})"
)
_CHPASSWD = re.compile(r"\bchpasswd\b(?![\"']?[ \t]{0,9}:)")
_LOGIN = re.compile(
    r"(?P<before>(?P<quote>[\"'])[\w.-]{1,64}:)(?P<value>(?:(?!(?P=quote))[^\n\s])[^\"'\n]*)"
    r"|(?P<bare>(?<![\w/:.-])[\w.-]{1,64}:)(?P<word>[^\s\"'|/][^\s\"'|]*)"
)
_SIGNED = re.compile(
    r"(?P<before>(?:[?&;]|\\u0026)[\w-]{0,40}(?:sig|signature)=)(?P<value>[^&\s\"'<>\\]+)",
    re.IGNORECASE,
)


def masked_commands(line: str, stars: str) -> str:
    """The line with stars in place of passwords that programs take by position."""

    def starred(found: re.Match[str]) -> str:
        quote = found["value"][0] if found["value"][0] in "\"'" else ""
        return f"{found['before']}{quote}{stars}{quote}"

    def login(found: re.Match[str]) -> str:
        return f"{found['before'] or found['bare']}{stars}"

    line = _SIGNED.sub(starred, line)
    if _CLIENT.search(line):
        line = USER.sub(
            lambda found: f"{found['before']}{found['quote']}{found['user']}{stars}", line
        )
    line = _VIRSH.sub(starred, _SSHPASS.sub(starred, line))
    client = _MYSQL.search(line)
    if client is not None:
        line = line[: client.end()] + _JOINED_P.sub(starred, line[client.end() :])
    return _LOGIN.sub(login, line) if _CHPASSWD.search(line) else line


SEPARATORS = "-.:/ "
"""Characters between the words of a name, apart from the underscore."""
_SEPARATOR = re.compile(f"[{SEPARATORS}]")
_CERTAIN = (
    r"passw|pass_?phrase|pass_?code|secret|token|credential|cookie|private_?key|api_?key"
    r"|access_?key|admin_?pass|fixed_?key|hmac_?key|encryption_?key|auth_?blob|authorization"
    r"|chpasswd|user_?data|vendor_?data|network_?data|sysprep|unattend|ignition"
    r"|key_data$|(?:^|_)pass$|(?:^|_)psk$|pwd?$"
)
_CERTAIN_NAME = re.compile(_CERTAIN)
_LIKELY_NAME = re.compile(rf"{_CERTAIN}|(?:^|_)keys?$|cloud_?(?:init|config)$|hmac")
_ADDRESS_NAME = re.compile(r"connection|connection_string$|(?:^|_)ur[li]s?$|endpoint|servers?$")
_ABOUT_ONE = re.compile(
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


_HEAD = 200
"""Number of characters of a longer name that are also examined alone."""


def is_secret_name(name: str) -> bool:
    """True for a name whose value is secret in any kind of file."""
    return _is_certain(name) if len(name) <= _HEAD else _is_long_one_of(_CERTAIN_NAME, name)


def may_be_secret_name(name: str) -> bool:
    """True if a line of a file that assigns to ``name`` may hold a secret."""
    return _is_likely(name) if len(name) <= _HEAD else _is_long_one_of(_LIKELY_NAME, name)


@lru_cache(maxsize=1024)  # a domain has forty lines with the same dozen names, a plan hundreds
def _is_certain(name: str) -> bool:
    return _is_one_of(_CERTAIN_NAME, name)


@lru_cache(maxsize=1024)
def _is_likely(name: str) -> bool:
    return _is_one_of(_LIKELY_NAME, name)


def _is_long_one_of(names: re.Pattern[str], name: str) -> bool:
    """True if a long name, or its beginning alone, is one of these: an ending far behind the name
    of a secret does not make it harmless. The "+" keeps the beginning from being a name that ends
    there."""
    return _is_one_of(names, f"{name[:_HEAD]}+") or _is_one_of(names, name)


def _is_one_of(names: re.Pattern[str], name: str) -> bool:
    plain = _plain(name)
    return names.search(plain) is not None and _ABOUT_ONE.search(plain) is None


def is_address_name(name: str) -> bool:
    """True for a name whose value is an address that may contain a password."""
    return _ADDRESS_NAME.search(_plain(name)) is not None


def is_harmless(value: str) -> bool:
    """True for a value that cannot be a secret."""
    return _HARMLESS.fullmatch(value.strip()) is not None


def _plain(name: str) -> str:
    """``adminPass``, ``admin-pass`` and ``admin.pass`` as ``admin_pass``."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _SEPARATOR.sub("_", spaced).lower()


# Quick answer for texts without secrets: most definitions of guests have none, and masking one of
# them takes twenty times as long as seeing that.
#
# There must be a sign wherever :func:`vnicaudit.text.secrets.masked` would mask something. There
# may be one elsewhere too: then the text is masked as usual. So whoever teaches the masking a new
# name or notation adds a sign here; tests/text/test_secret_signs.py makes texts from each
# expression of the masking.


_SIGNS = (
    "@", "secret", "token", "credential", "cookie", "authorization", "blob", "hmac", "pw", "psk",
    "sysprep", "unattend", "ignition", "tls-creds", "fw_cfg", "fwcfg", "opt/", "sensitive", "mysql",
    "mariadb", "bearer", "basic ", "basic\t", "sig=", "signature=",
)  # fmt: skip
"""A text with one of them is masked."""


class _Ambiguous(NamedTuple):
    """A word that definitions without secrets have too, and the expression for its uses that may be
    secret."""

    word: str
    secret: re.Pattern[str]


_SEP = f"[{SEPARATORS}_]?"
_AMBIGUOUS = (
    # host-passthrough; but "admin_pass" is the name of a secret also within a longer word
    _Ambiguous("pass", re.compile(rf"pass(?!through['\"])|admin{_SEP}pass")),
    _Ambiguous("key", re.compile(  # keyboard, keymap
        rf"(?:private|api|access|fixed|encryption){_SEP}key|key{_SEP}data|keys?(?![a-z])"
    )),
    _Ambiguous("data", re.compile(rf"(?:user|vendor|network){_SEP}data")),  # <metadata>
    _Ambiguous("cloud", re.compile(rf"cloud{_SEP}(?:init|config)")),
    _Ambiguous("-u", USER),  # en-us
)  # fmt: skip


def may_hold_secret(text: str) -> bool:
    """False if the text of a file certainly holds nothing that is masked; True for all others, and
    for each text that is not ASCII."""
    if not text.isascii():
        return True  # re.IGNORECASE takes "\u017f" for an "s", and str.lower() does not
    low = text.lower()
    for sign in _SIGNS:
        if sign in low:
            return True
    return any(one.word in low and one.secret.search(low) is not None for one in _AMBIGUOUS)
