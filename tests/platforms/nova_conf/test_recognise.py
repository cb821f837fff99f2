"""Nova's configuration is told from other ini files by what stands in it."""

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


@rows
def test_a_place_and_a_name(path: str, is_novas: bool) -> None:
    assert is_read_by_nova(path, b"# x\n[some]\na = 1\n") is is_novas
