"""The domain in a launcher: which NIC is which, and what is kept of it."""

import pytest

from vnicaudit.model.cluster import ClusterFacts, ClusterGuest, ClusterNic, NicStatus
from vnicaudit.model.finding import Location
from vnicaudit.platforms.kubevirt.launched import launched_of

MAC = "02:00:00:00:00:01"
TAP = "<interface type='ethernet'><mac address='{}'/><model type='virtio'/>{}</interface>"


def _guest(*names: str) -> ClusterGuest:
    nics = (ClusterNic(name=name, status=NicStatus(mac=MAC)) for name in names)
    cluster = ClusterFacts(target="kube:lab", name="lab", location=Location("kube:lab"))
    return ClusterGuest(cluster=cluster, name="web", namespace="demo", nics=tuple(nics))


def _domain(*devices: str) -> bytes:
    return (
        f"<domain type='kvm'><name>w</name><devices>{''.join(devices)}</devices></domain>".encode()
    )


@pytest.mark.parametrize(
    ("device", "name"),
    [
        (TAP.format("02:00:00:00:00:09", "<alias name='ua-lan'/>"), "lan"),
        (TAP.format(MAC, ""), "lan"),
        (TAP.format("02:00:00:00:00:09", ""), ""),
    ],
)  # fmt: skip
def test_a_nic_is_known_by_its_alias_and_else_by_its_address(device: str, name: str) -> None:
    assert [one.alias for one in launched_of(_domain(device), b"", _guest("lan")).nics] == [name]


def test_arguments_that_are_missing_or_not_understood_are_told() -> None:
    definition, guest = _domain(TAP.format(MAC, "")), _guest("lan")
    assert "was not found" in launched_of(definition, b"", guest).without_qemu
    command = b"/usr/libexec/qemu-kvm\0-name\0guest=w,debug-threads=on\0-nic\0user\0"
    assert "not understood" in launched_of(definition, command, guest).without_qemu


def test_a_domain_with_more_nics_than_fit_is_not_compared() -> None:
    found = launched_of(_domain(TAP.format(MAC, "") * 513), b"", _guest("lan"))
    assert (found.unread, found.nics) == ("its domain has more than 512 NICs", ())
