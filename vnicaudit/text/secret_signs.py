"""Quick answer for texts without secrets: most definitions of guests have none, and masking each of
them takes twenty times as long as seeing that.

What is listed here must be found wherever :func:`vnicaudit.text.secrets.masked` would mask
something. It may be found elsewhere too: then the text is masked as usual.
"""

from __future__ import annotations

import re

_SIGNS = (
    "@", "secret", "token", "credential", "cookie", "authorization", "blob", "hmac", "pw",
    "psk", "sysprep", "unattend", "ignition", "tls-creds", "fw_cfg", "fwcfg", "opt/", "sensitive",
    "mysql", "mariadb", "bearer", "basic ", "basic\t", "sig=", "signature=",
)  # fmt: skip
"""Each of them alone makes a secret likely: a name, or what stands beside a secret."""
_SEP = "[-_.:/ ]?"
"""What separates the words of a name: nothing in ``adminPass``."""
_FINER = (
    ("pass", re.compile(rf"pass(?!through['\"])|admin{_SEP}pass")),
    ("key", re.compile(
        rf"(?:private|api|access|fixed|encryption){_SEP}key|key{_SEP}data|keys?(?![a-z])"
    )),
    ("data", re.compile(rf"(?:user|vendor|network){_SEP}data")),
    ("cloud", re.compile(rf"cloud{_SEP}(?:init|config)")),
    ("-u", re.compile(r"-u(?:ser)?[= \t\"',]{0,10}[\w.@%+-]{1,200}:")),
)  # fmt: skip
"""Words of definitions without secrets too (``mode='host-passthrough'``,
``keymap='en-us'``, ``<metadata>``), each with the expression that tells them apart."""


def may_hold_secret(text: str) -> bool:
    """False if the text of a file certainly holds nothing that is masked; True for all others."""
    if not text.isascii():
        return True  # "\u017f" is an "s" for some ways to ignore case, and not for others
    low = text.lower()
    for sign in _SIGNS:
        if sign in low:
            return True
    return any(word in low and finer.search(low) is not None for word, finer in _FINER)
