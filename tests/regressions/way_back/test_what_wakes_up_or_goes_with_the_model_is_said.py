"""A change to virtio does more than its line: ``<mtu>`` takes effect, and a boot ROM for the old
model must go. Guests ran at 1500 beside ``<mtu size='8901'/>`` until the model changed, and lost
their peers; with e1000's ROM on virtio SeaBIOS 1.16.2 does not boot from the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import vnicaudit

_DOMAIN = (
    "<domain type='kvm'><name>m</name>{}<memory unit='GiB'>4</memory><vcpu>2</vcpu>"
    "<os><type arch='x86_64' machine='q35'>hvm</type></os><devices><interface type='bridge'>"
    "<mac address='52:54:00:00:00:0a'/><source bridge='b'/><model type='{}'/>{}</interface>"
    "</devices></domain>"
)
_ROM = "<boot order='1'/><rom file='/usr/share/qemu/pxe-e1000.rom'/>"
_DEBIAN = (
    "<metadata><libosinfo:libosinfo xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
    "<libosinfo:os id='http://debian.org/debian/12'/></libosinfo:libosinfo></metadata>"
)
_MTU = "virtio tells the guest its MTU of {}, which {} does not, and the guest then uses it"


@pytest.mark.parametrize("guest", ["", _DEBIAN])
@pytest.mark.parametrize("command", [["audit", "--diff"], ["plan", "--diff"], ["plan"]])
def test_an_mtu_that_takes_effect_is_said(tmp_path: Path, guest: str, command: list[str]) -> None:
    file = _file(tmp_path, guest, "e1000e", "<mtu size='8901'/>")
    said = _said(*command, "--include-unsafe", file)
    assert f"{_MTU.format(8901, 'e1000e')}: its network must carry it" in said
    assert "unsafe" in said


def test_a_larger_mtu_is_not_set_without_being_asked(tmp_path: Path) -> None:
    file = _file(tmp_path, _DEBIAN, "e1000e", "<mtu size='8901'/>")
    assert "Nothing to fix" in _said("audit", "--diff", file)


def test_a_smaller_mtu_is_said_and_safe(tmp_path: Path) -> None:
    file = _file(tmp_path, _DEBIAN, "e1000", "<mtu size='1442'/>")
    assert "Would fix 1 problem in 1 file" in _said("audit", "--diff", file)
    assert _MTU.format(1442, "e1000") in _said("plan", "--diff", file)


@pytest.mark.parametrize("guest", ["", _DEBIAN])
def test_a_boot_rom_goes_with_its_model(tmp_path: Path, guest: str) -> None:
    file = _file(tmp_path, guest, "e1000", _ROM)
    said = _said("audit", "--diff", "--include-unsafe", file)
    assert "its boot ROM is for the present model" in said
    assert ("may have no virtio driver" in said) is not bool(guest)
    _said("audit", "--fix", "--include-unsafe", file)
    text = Path(file).read_text()
    assert "<model type='virtio'/><boot order='1'/></interface>" in text


def _said(*words: str) -> str:
    """Everything that a command prints, without its line breaks."""
    done = vnicaudit(*words)
    return " ".join((done.stdout + done.stderr).split())


def _file(folder: Path, guest: str, model: str, more: str) -> str:
    path = folder / "m.xml"
    path.write_text(_DOMAIN.format(guest, model, more))
    return str(path)
