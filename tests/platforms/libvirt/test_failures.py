"""Kinds of failures: what libvirt and ssh said, as it was seen."""

from __future__ import annotations

import pytest

from tests.platforms.libvirt.errors import libvirt_error
from vnicaudit.platforms.libvirt.connection import explain
from vnicaudit.platforms.libvirt.failures import failure_of, lost_connection

RPC, SYSTEM, INTERNAL = 39, 38, 1


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
    assert failure_of(libvirt_error(message, code)) == kind


def test_a_lock_of_one_domain_is_no_lost_connection() -> None:
    held = "Timed out during operation: cannot acquire state change lock"
    assert lost_connection(libvirt_error(held, 68)) is None
    closed = libvirt_error("internal error: client socket is closed", INTERNAL)
    assert lost_connection(closed) == "broken"


def test_what_ssh_says_at_a_first_connection_is_no_part_of_the_reason() -> None:
    said = (
        "Cannot recv data: Warning: Permanently added '[kvm1]:22' (ED25519) to the list of known "
        "hosts.\r\nroot@kvm1: Permission denied (publickey).: Connection reset by peer"
    )
    assert explain(libvirt_error(said, RPC)).startswith(
        "Cannot recv data: root@kvm1: Permission denied (publickey).: Connection reset by peer"
    )
