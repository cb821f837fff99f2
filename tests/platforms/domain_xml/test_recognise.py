"""What is domain XML, and what only talks about it."""

from tests.rows import rows
from vnicaudit.platforms.domain_xml.recognise import looks_like_xml


@rows
def test_domain_xml(text: str) -> None:
    assert looks_like_xml(text.encode())


@rows
def test_what_is_about_domain_xml(text: str) -> None:
    assert not looks_like_xml(text.encode())
