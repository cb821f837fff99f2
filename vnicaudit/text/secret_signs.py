"""Quick answer for texts without secrets: most definitions of guests have none, and masking one of
them takes twenty times as long as seeing that.

There must be a sign wherever :func:`vnicaudit.text.secrets.masked` would mask something. There may
be one elsewhere too: then the text is masked as usual. So whoever teaches the masking a new name or
notation adds a sign here; tests/text/test_secret_signs.py makes texts from each expression of the
masking.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vnicaudit.text.secret_names import SEPARATORS, USER

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
