"""Kinds of failures: what libvirt and ssh said, as it was seen."""

from tests.platforms.libvirt.errors import libvirt_error
from tests.rows import rows
from vnicaudit.platforms.libvirt.connection import explain, failure_of, lost_connection

RPC, SYSTEM, INTERNAL = 39, 38, 1


@rows
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
