"""Failures to reach another host, by the messages of ssh, libvirt's transports
and the C library: the kind of the failure, which decides whether a retry is worthwhile, and what to
do about it.

Messages: libvirt 9.0's ``rpc/virnetsocket.c``, ``virnetclient.c`` and ``virkeepalive.c``, and
OpenSSH's.
"""

from __future__ import annotations

import re

from vnicaudit.model.report import FailureKind

_BY_MESSAGE: tuple[tuple[FailureKind, tuple[str, ...]], ...] = (
    ("deadline", ("keepalive timeout", "Timed out during operation")),
    ("authentication", ("Host key verification failed", "Permission denied (", "certificate",
                        "Permission denied, please try", "authentication", "Too many auth")),
    ("refused", ("Permission denied", "command not found", "onnection driver", "access denied",
                 "read only access prevents")),
    ("unreachable", ("Could not resolve", "Name or service not known", "Temporary failure in name",
                     "No route to host", "Network is unreachable", "Connection refused",
                     "timed out", "No such file or directory", "Host is down",
                     "nable to resolve", "nable to connect")),
    ("broken", ("socket is closed", "Connection reset", "End of file", "Broken pipe",
                "annot recv data", "annot write data", "Connection closed", "kex_exchange")),
)  # fmt: skip
"""Parts of messages, by kind; the first kind with a match is used."""

ADVICE = (
    ("Host key verification failed", "connect once by hand (ssh HOST) and check the key"),
    (
        "Permission denied (",
        "ssh must log in without a password; use a key (an agent, keyfile= of a libvirt URI, "
        "ssh_identity_file= of ssh://)",
    ),
    ("Permission denied, please try", "ssh must log in without a password; use a key"),
    ("Connection refused", "nothing is listening there: is the daemon running, is the port right?"),
    ("resolve", "check the host name"),
    ("Name or service not known", "check the host name"),
)
"""Part of a message -> advice to the user. The first match is used."""
_NEW_HOST_KEY = re.compile(
    r"Warning: Permanently added [^\n]{0,300}? to the list of known hosts\.\s*"
)
"""Said by ssh at the first connection, before the reason why it failed."""


def failure_in(message: str) -> FailureKind:
    """The kind of failure that a message is about; ``refused`` unless it is known to be
    another."""
    for kind, parts in _BY_MESSAGE:
        if any(part in message for part in parts):
            return kind
    return "refused"


def reason_in(message: str) -> str:
    """The message without what ssh says of a new host."""
    return _NEW_HOST_KEY.sub("", message)


def advised(message: str, more: tuple[tuple[str, str], ...] = ()) -> str:
    """The message, with advice if there is any. ``more``: what else to look for."""
    found = next((advice for needle, advice in (*ADVICE, *more) if needle in message), "")
    return f"{message} ({found})" if found else message
