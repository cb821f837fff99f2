"""NICs set alike share a record, and no definition makes the memory of them large."""

import tracemalloc

import pytest

from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.platforms.domain_xml.definitions import definition_of
from vnicaudit.platforms.domain_xml.read import read_bytes


def read(kind: str, arch: str, machine: str, os_id: str = "", model: str = "virtio") -> Domain:
    text = (
        f"<domain type='{kind}'><metadata>"
        "<l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
        f"<l:os id='{os_id}'/></l:libosinfo></metadata>"
        f"<os><type arch='{arch}' machine='{machine}'>hvm</type></os>"
        f"<devices><interface type='{kind}'><model type='{model}'/></interface></devices></domain>"
    )
    (found,) = read_bytes(text.encode(), target="t", file=None)
    return found


def test_nics_set_alike_share_a_record() -> None:
    first, second = read("kvm", "x86_64", "q35"), read("kvm", "x86_64", "q35")
    assert first.nics[0].declared is second.nics[0].declared
    assert read("kvm", "x86_64", "pc").declared.machine == "pc"


def test_words_no_libvirt_knows_are_cut() -> None:
    long = "m" * 100_000
    cut = "m" * 200 + "…"
    found = read(long, long, long, long).declared
    assert (found.type, found.arch, found.machine, found.os_id) == (cut, cut, cut, cut)


def test_memory_stays_flat_however_long_the_values_are() -> None:
    """2000 definitions of 200 KB, all different: 400 MB if they were remembered."""
    read("kvm", "x86_64", "warm-up")
    tracemalloc.start()
    try:
        kept: list[DomainConfig] = []
        for number in range(400):
            for field in range(5):
                values = ["kvm", "x86_64", "q35", "", "virtio"]
                values[field] = f"{number}-" + "x" * 200_000
                kept.append(read(*values).declared)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 2000
    assert peak < 16 << 20


PORT = "<controller type='pci' index='{0}' model='pcie-root-port'>{1}</controller>"
AT = "<address type='pci' domain='0x0000' bus='{}' slot='0x00' function='0x0'/>"


@pytest.mark.parametrize(
    ("running", "devices", "expected"),
    [
        (" id='7'", [PORT.format(1, AT.format("0x00")), PORT.format(2, "")], (2, 2)),
        (" id='7'", [PORT.format(1, ""), PORT.format(10, ""), AT.format("0x0a")], (1, 2)),
        (" id='7'", [PORT.format(1, ""), f"<source>{AT.format('0x01')}</source>"], (1, 1)),
        (" id='7'", [], None),
        ("", [PORT.format(1, "")], None),
    ],
)
def test_free_root_ports_of_a_running_guest(
    running: str, devices: list[str], expected: tuple[int, int] | None
) -> None:
    """The address of the host's device in ``<source>`` does not count."""
    ports = "".join(one for one in devices if one.startswith("<controller"))
    nic = "".join(one for one in devices if not one.startswith("<controller"))
    text = (
        f"<domain type='kvm'{running}><os><type arch='x86_64' machine='q35'>hvm</type></os>"
        f"<devices>{ports}<hostdev mode='subsystem' type='usb'>{nic}</hostdev></devices></domain>"
    )
    assert definition_of(text.encode(), "qemu:///system").root_ports == expected
