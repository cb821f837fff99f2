"""A definition that an unprivileged libvirt keeps, told by where its file is."""

from tests.rows import rows
from vnicaudit.platforms.domain_xml.read import read_bytes

_XML = b"<domain type='kvm'><name>guest</name><devices><interface type='user'/></devices></domain>"


@rows
def test_session(file: str | None, session: bool | None) -> None:
    (domain,) = read_bytes(_XML, target="home", file=file)
    assert domain.declared.session is session
