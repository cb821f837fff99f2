"""Kinds of failures: what libvirt and ssh said, as it was seen."""

from __future__ import annotations

import libvirt
import pytest

from vnicaudit.platforms.libvirt.failures import failure_of, lost_connection

RPC, SYSTEM, INTERNAL = 39, 38, 1


def error(code: int, message: str) -> libvirt.libvirtError:
    """An error as the binding makes it."""
    made = libvirt.libvirtError(message)
    made.args = (message,)  # not the last error of libvirt in this thread
    made.err = (code, 0, message, 2, None, None, None, -1, -1)
    return made


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (SYSTEM, "unable to connect to server at 'kvm1:16509': Connection refused", "unreachable"),
        (SYSTEM, "unable to connect to server at 'kvm1:16509': No route to host", "unreachable"),
        (SYSTEM, "Failed to connect socket to '/run/x': No such file or directory", "unreachable"),
        (SYSTEM, "Failed to connect socket to '/run/x': Permission denied", "refused"),
        (RPC, "Cannot recv data: ssh: connect to host kvm1 port 22: Connection timed out: "
              "Connection reset by peer", "unreachable"),
        (RPC, "Cannot recv data: ssh: Could not resolve hostname kvm1: Name or service not known: "
              "Connection reset by peer", "unreachable"),
        (RPC, "Cannot recv data: Host key verification failed.: Connection reset by peer",
         "authentication"),
        (RPC, "Cannot recv data: root@kvm1: Permission denied (publickey).: Connection reset by "
              "peer", "authentication"),
        (RPC, "authentication failed: Failed to verify peer's certificate", "authentication"),
        (RPC, "internal error: received hangup event on socket", "refused"),
        (INTERNAL, "internal error: client socket is closed", "broken"),
        (INTERNAL, "internal error: connection closed due to keepalive timeout", "deadline"),
        (RPC, "End of file while reading data: Input/output error", "broken"),
        (45, "authentication failed: no", "authentication"),
        (5, "no connection driver available for esx:///", "refused"),
    ],
)  # fmt: skip
def test_kinds(code: int, message: str, kind: str) -> None:
    assert failure_of(error(code, message)) == kind


def test_a_lock_of_one_domain_is_no_lost_connection() -> None:
    held = "Timed out during operation: cannot acquire state change lock"
    assert lost_connection(error(68, held)) is None
    assert lost_connection(error(INTERNAL, "internal error: client socket is closed")) == "broken"
