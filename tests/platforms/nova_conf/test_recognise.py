"""Nova's configuration is told from other ini files by what stands in it."""

import pytest

from tests.rows import rows
from vnicaudit.platforms.nova_conf.recognise import is_read_by_nova, looks_like


@rows
def test_nova(text: str) -> None:
    assert looks_like(text.encode())


@rows
def test_not_nova(text: str) -> None:
    assert not looks_like(text.encode())


def test_bytes_that_are_no_text_are_not_nova() -> None:
    assert not looks_like(b"\xff\xfe[\x80\x81libvirt]\xf0\n")


@pytest.mark.parametrize(
    ("path", "is_novas"),
    [
        ("roles/x/nova.conf.j2", True),
        ("templates/_nova.conf.tpl", True),
        ("templates/nova-compute.conf.erb", True),
        ("nova.conf.d/10.conf", True),
        ("templates/_nova-api.conf.tpl", False),
        ("apache.d/nova.conf.erb", False),
        ("nova.conf.bak", False),
    ],
)
def test_a_place_and_a_name(path: str, is_novas: bool) -> None:
    assert is_read_by_nova(path, b"# x\n[some]\na = 1\n") is is_novas
