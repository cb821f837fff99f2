"""The kind of failure behind a libvirt error, which decides whether a retry is worthwhile.

libvirt's codes tell little (one code for all errors of its transport, whatever ssh or GnuTLS
reported), so the message decides in these cases. Messages: libvirt 9.0's ``rpc/virnetsocket.c``,
``virnetclient.c`` and ``virkeepalive.c``, and OpenSSH's, which libvirt passes on.
"""

from __future__ import annotations

from vnicaudit.model.report import FailureKind
from vnicaudit.platforms.libvirt.binding import libvirt

_AUTHENTICATION = frozenset({
    libvirt.VIR_ERR_AUTH_FAILED, libvirt.VIR_ERR_AUTH_CANCELLED, libvirt.VIR_ERR_AUTH_UNAVAILABLE,
})  # fmt: skip
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
_OF_TRANSPORT: frozenset[FailureKind] = frozenset({"deadline", "broken"})


def failure_of(error: libvirt.libvirtError) -> FailureKind:
    """The kind of an error that ended the reading of a host; ``refused`` unless the error is known
    to be temporary."""
    if error.get_error_code() in _AUTHENTICATION:
        return "authentication"
    text = error.get_error_message() or str(error)
    for kind, parts in _BY_MESSAGE:
        if any(part in text for part in parts):
            return kind
    return "refused"


def lost_connection(error: libvirt.libvirtError) -> FailureKind | None:
    """How the connection was lost, if that is why one domain could not be read; None if the
    connection is up and the problem is the domain's."""
    if error.get_error_code() == libvirt.VIR_ERR_OPERATION_TIMEOUT:
        return None  # a lock on that domain, which a job holds
    kind = failure_of(error)
    return kind if kind in _OF_TRANSPORT else None
