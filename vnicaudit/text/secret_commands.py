"""Secrets on command lines that no name precedes, because the program takes them by position, and
signatures in URLs: ``curl -u admin:…``, ``sshpass -p …``, ``echo root:… | chpasswd``, ``sig=…``.

A new notation needs a sign in secret_signs.py.
"""

from __future__ import annotations

import re

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
