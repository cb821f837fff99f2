"""Nova's configuration is told from other ini files by what stands in it."""

from tests.rows import rows
from vnicaudit.platforms.nova_conf.recognise import looks_like


@rows
def test_nova(text: str) -> None:
    assert looks_like(text.encode())


@rows
def test_not_nova(text: str) -> None:
    assert not looks_like(text.encode())


def test_bytes_that_are_no_text_are_not_nova() -> None:
    assert not looks_like(b"\xff\xfe[\x80\x81libvirt]\xf0\n")
