"""A definition joined with the QEMU that runs it."""

import msgspec

from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Location
from vnicaudit.model.host import Version
from vnicaudit.model.nic import Nic, NicConfig, RunningNic, RunningQemu
from vnicaudit.platforms.qemu.proc import find, join

HERE = Location("qemu:///system")
PROC = Location("host", "/proc/7/cmdline")
UUID = "6f2b8a54-6a1b-4c5e-9d0c-2f6f6b1f7a01"
VIRTIO = NicConfig(type="bridge", actual_type="bridge", model="virtio")


def _nic(index: int, mac: str | None, alias: str | None = None) -> Nic:
    return Nic(index, VIRTIO, HERE, mac=mac, alias=alias)


def _runs(
    mac: str | None, name: str | None = None, *, vhost: bool = True, backend: str = "tap"
) -> RunningNic:
    return RunningNic("virtio-net-pci", "virtio", backend, mac=mac, id=name, vhost=vhost)


def _domain(*nics: Nic) -> Domain:
    return Domain("a", DomainConfig(nics=len(nics)), HERE, nics, uuid=UUID)


def _qemu(*nics: RunningNic) -> RunningQemu:
    return RunningQemu(
        PROC, name="a", uuid=UUID, nics=nics, qemu_version=Version(7, 2), owner="libvirt"
    )


def _vhost(domain: Domain) -> list[bool | None]:
    return [None if nic.running is None else nic.running.vhost for nic in domain.nics]


def test_by_mac_whatever_the_order() -> None:
    domain = join(
        _domain(_nic(0, "52:54:00:00:00:01"), _nic(1, "52:54:00:00:00:02")),
        _qemu(_runs("52:54:00:00:00:02", vhost=False), _runs("52:54:00:00:00:01")),
    )
    assert _vhost(domain) == [True, False]
    assert domain.qemu_version == Version(7, 2)


def test_what_runs_carries_no_identity() -> None:
    """NICs alike share one verdict, so MAC and id must not be in the key."""
    domain = join(
        _domain(_nic(0, "52:54:00:00:00:01"), _nic(1, "52:54:00:00:00:02")),
        _qemu(_runs("52:54:00:00:00:01", "net0"), _runs("52:54:00:00:00:02", "net1")),
    )
    assert domain.nics[0].running == domain.nics[1].running == _runs(None)


def test_two_nics_of_one_mac_by_alias() -> None:
    mac = "52:54:00:00:00:01"
    domain = join(
        _domain(_nic(0, mac, "net0"), _nic(1, mac, "net1")),
        _qemu(_runs(mac, "net1", vhost=False), _runs(mac, "net0")),
    )
    assert _vhost(domain) == [True, False]


def test_two_nics_of_one_mac_without_alias_by_order() -> None:
    mac = "52:54:00:00:00:01"
    domain = join(
        _domain(_nic(0, mac), _nic(1, mac)), _qemu(_runs(mac, "net0"), _runs(mac, vhost=False))
    )
    assert _vhost(domain) == [True, False]


def test_by_alias_where_there_is_no_mac() -> None:
    domain = join(_domain(_nic(0, None, "net0")), _qemu(_runs("52:54:00:00:00:01", "net0")))
    assert _vhost(domain) == [True]


def test_an_alias_does_not_outweigh_another_mac() -> None:
    """Unplugged and plugged anew: libvirt gives the id again, to another NIC."""
    domain = join(
        _domain(_nic(0, "52:54:00:00:00:02", "net0")), _qemu(_runs("52:54:00:00:00:01", "net0"))
    )
    assert _vhost(domain) == [None]


def test_a_plugged_nic_stays_without() -> None:
    domain = join(
        _domain(_nic(0, "52:54:00:00:00:01"), _nic(1, "52:54:00:00:00:02")),
        _qemu(_runs("52:54:00:00:00:01")),
    )
    assert _vhost(domain) == [True, None]


def test_a_nic_that_was_unplugged_is_not_brought_back_by_the_command_line() -> None:
    domain = join(_domain(_nic(0, "52:54:00:00:00:01")), _qemu(
        _runs("52:54:00:00:00:09", "net1", vhost=False), _runs("52:54:00:00:00:01"),
        RunningNic("vfio-pci", "vfio-pci", "vfio", id="hostdev0"),
    ))  # fmt: skip
    assert _vhost(domain) == [True]
    assert domain.nics[0].mac == "52:54:00:00:00:01"


def test_a_nic_that_was_exchanged_under_the_guest_is_not_what_the_command_line_names() -> None:
    old = RunningNic("e1000", "e1000", "tap", mac="52:54:00:00:00:01", id="net0")
    domain = join(_domain(_nic(0, "52:54:00:00:00:01", "net0")), _qemu(old))
    assert domain.nics[0].running is None
    assert domain.live is not None
    assert domain.live.joined


def test_finds_by_uuid_before_name() -> None:
    other = msgspec.structs.replace(_qemu(), uuid=UUID.replace("6", "7"))
    same = msgspec.structs.replace(_qemu(), name="renamed")
    assert find(_domain(), [other, same]) is same
    assert find(_domain(), [other]) is None


def test_finds_by_name_where_a_uuid_is_missing() -> None:
    nameless = msgspec.structs.replace(_qemu(), uuid=None)
    assert find(_domain(), [nameless]) is nameless
    assert find(_domain(), [msgspec.structs.replace(nameless, name="b")]) is None
    assert find(_domain(), []) is None


def test_a_uuid_is_one_however_it_is_written() -> None:
    bare = msgspec.structs.replace(_domain(), uuid=UUID.replace("-", ""))
    qemu = _qemu()
    assert find(bare, [qemu]) is qemu
