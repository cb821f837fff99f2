"""Two definitions with one MAC address, and two NICs of one definition, were called clean: a copied
definition keeps its MAC, and libvirt compares none."""

from pathlib import Path

import pytest

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


def _machine(folder: Path, *networks: str, kind: str = "bridge") -> Path:
    file = folder / "vm.yaml"
    interfaces = "".join(
        f"          - {{name: n{number}, {kind}: {{}}, model: virtio, "
        'macAddress: "02:54:00:00:00:01"}\n'
        for number, _network in enumerate(networks)
    )
    named = ", ".join(
        f"{{name: n{number}, multus: {{networkName: {network}}}}}"
        for number, network in enumerate(networks)
    )
    file.write_text(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm}\nspec:\n"
        "  template:\n    spec:\n      domain:\n        devices:\n          interfaces:\n"
        f"{interfaces}      networks: [{named}]\n"
    )
    return file


def test_two_interfaces_of_one_manifest_are_found(tmp_path: Path) -> None:
    """KubeVirt compares no addresses; what sits on one secondary network meets there."""
    found = audited(_machine(tmp_path, "blue", "blue"))
    assert [(one["rule"], one["severity"], one["nic"]["index"]) for one in found] == [
        ("VNIC016", "high", 0),
        ("VNIC016", "high", 1),
    ]
    assert found[0]["message"] == (
        "02:54:00:00:00:01 is the MAC address of NIC 1 too: both are on one network"
    )
    assert [one["location"]["line"] for one in found] == [10, 11]
    assert "macAddress" in found[0]["fix"]


def test_two_interfaces_on_two_networks_are_found_with_less_severity(tmp_path: Path) -> None:
    found = audited(_machine(tmp_path, "blue", "green"))
    assert {(one["rule"], one["severity"]) for one in found} == {("VNIC016", "medium")}


def test_an_assigned_device_of_a_manifest_may_have_the_same(tmp_path: Path) -> None:
    file = _machine(tmp_path, "blue", "green")
    file.write_text(
        file.read_text().replace("bridge: {}", "sriov: {}", 1).replace("model: virtio, ", "", 1)
    )
    assert "VNIC016" not in {one["rule"] for one in audited(file)}


def _pair(folder: Path, first: str, second: str, *, kind: str = "bridge", files: int = 1) -> Path:
    """A folder with two virtual machines whose NICs have one MAC, each given as the namespace and
    the network that its manifest names."""
    texts = []
    for name, where in (("a", first), ("b", second)):
        space, _, network = where.partition(" ")
        file = _machine(folder, network or "x", kind=kind)
        names = f"{{name: {name}, namespace: {space}}}" if space != "-" else f"{{name: {name}}}"
        text = file.read_text().replace("{name: vm}", names)
        texts.append(text if network else text.replace("multus: {networkName: x}", "pod: {}"))
        file.unlink()
    for number in range(files):
        part = texts if files == 1 else texts[number : number + 1]
        (folder / f"vm{number}.yaml").write_text("---\n".join(part))
    return folder


@pytest.mark.parametrize("kind", ["bridge", "sriov", "macvtap"])
@pytest.mark.parametrize(
    ("first", "second", "files", "network"),
    [
        ("lab br1", "lab br1", 1, "lab/br1"),
        ("lab br1", "lab br1", 2, "lab/br1"),
        ("lab br1", "prod lab/br1", 2, "lab/br1"),
        ("- br1", "- br1", 1, "br1"),
    ],
)
def test_two_manifests_on_one_secondary_network_are_found(
    tmp_path: Path, first: str, second: str, files: int, network: str, kind: str
) -> None:
    found = [f for f in audited(_pair(tmp_path, first, second, files=files, kind=kind))
             if f["rule"] == "VNIC016"]  # fmt: skip
    assert [f["severity"] for f in found] == ["medium", "medium"]
    for one in found:
        assert one["message"].endswith(f" too: both are on NetworkAttachmentDefinition {network}")


@pytest.mark.parametrize(
    ("first", "second", "files"),
    [
        ("lab", "lab", 1),  # pods have networks of their own
        ("lab br1", "prod br1", 1),
        ("lab br1", "lab br2", 1),
        ("lab br1", "- br1", 1),
        ("- br1", "- br1", 2),  # they may be of two namespaces
        ("lab br1", "lab", 1),
    ],
)
def test_manifests_on_different_networks_are_not_compared(
    tmp_path: Path, first: str, second: str, files: int
) -> None:
    found = audited(_pair(tmp_path, first, second, files=files))
    assert "VNIC016" not in {one["rule"] for one in found}
