"""Connection URIs."""

import pytest

from tests.rows import rows
from vnicaudit.text.targets import is_uri, parse, without_password


@pytest.mark.parametrize(
    "text",
    ["qemu:///system", "qemu+ssh://root@kvm-7/system", "test:///default", "qemu+tls://h/session"],
)
def test_libvirt_uris_are_recognised(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize(
    "text", ["http://example.org/", "openstack:cloud", "/etc/libvirt/qemu", "qemu", "qemu:/x", "-"]
)
def test_other_targets_are_not(text: str) -> None:
    assert not is_uri(text)
    with pytest.raises(ValueError, match="not a libvirt URI"):
        parse(text)


@rows
def test_what_a_uri_reaches(text: str, local: bool, remote: bool) -> None:
    uri = parse(text)
    assert (uri.local, uri.remote) == (local, remote)


@rows
def test_a_uri_loses_its_password(text: str, left: str) -> None:
    assert without_password(text) == left


def test_only_the_session_daemon_is_a_session() -> None:
    assert parse("qemu:///session").session
    assert not parse("qemu:///system").session


@rows
def test_ssh_is_told_not_to_ask(text: str, dial: str) -> None:
    assert parse(text).dial == dial
