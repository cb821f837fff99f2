"""A definition that an unprivileged libvirt keeps, told by where its file is."""

from __future__ import annotations

import pytest

from vnicaudit.platforms.domain_xml.read import read_bytes

_XML = b"<domain type='kvm'><name>guest</name><devices><interface type='user'/></devices></domain>"


@pytest.mark.parametrize(
    ("file", "session"),
    [
        ("/home/ada/.config/libvirt/qemu/guest.xml", True),
        ("/home/ada/.config/libvirt/qemu/snapshot/guest/first.xml", True),
        ("/etc/libvirt/qemu/guest.xml", False),
        ("/srv/backup/host1/etc/libvirt/qemu/guest.xml", False),
        ("/run/libvirt/qemu/guest.xml", False),
        ("/var/lib/libvirt/qemu/save/guest.save", False),
        ("guest.xml", None),
        ("-", None),
        (None, False),
    ],
)
def test_session(file: str | None, session: bool | None) -> None:
    (domain,) = read_bytes(_XML, target="home", file=file)
    assert domain.declared.session is session
