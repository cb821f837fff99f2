"""Two definitions with one MAC address, and two NICs of one definition, were called clean: a copied
definition keeps its MAC, and libvirt compares none."""

from pathlib import Path

from tests.regressions.said_clean.definitions import audited, definition

VIRTIO = "<model type='virtio'/>"


def test_a_copy_that_kept_its_mac_is_found_in_each_file(tmp_path: Path) -> None:
    first = definition(tmp_path, VIRTIO)
    copy = tmp_path / "copy.xml"
    copy.write_text(
        first.read_text()
        .replace("<name>guest<", "<name>copy<")
        .replace("5c5c5c5c-5c5c-", "6d6d6d6d-6d6d-")
    )
    found = audited(first, copy)
    assert [(one["rule"], one["nic"]["domain"]) for one in found] == [
        ("VNIC016", "guest"),
        ("VNIC016", "copy"),
    ]
    assert "52:54:00:00:00:01 is the MAC address of NIC 0 of copy" in found[0]["message"]
    assert found[0]["related"][0]["file"] == str(copy)


def test_a_backup_of_a_definition_is_no_second_guest(tmp_path: Path) -> None:
    first = definition(tmp_path, VIRTIO)
    (tmp_path / "backup.xml").write_text(first.read_text())
    assert audited(tmp_path) == []


def test_a_multicast_address_on_a_command_line_is_found(tmp_path: Path) -> None:
    """QEMU starts with it; libvirt, which would refuse it, is not asked."""
    file = tmp_path / "guest.sh"
    file.write_text(
        "qemu-system-x86_64 -nodefaults -netdev tap,id=n0 "
        "-device virtio-net-pci,netdev=n0,mac=01:00:5e:00:00:01\n"
    )
    found = [one for one in audited(file) if one["rule"] == "VNIC017"]
    assert [one["message"] for one in found] == [
        "its MAC address is a multicast one: a bridge drops every frame that it sends"
    ]
