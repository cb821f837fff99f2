"""The vDPA bus: what is on it, and what it needs.

The trees are made for these tests, in the layout that the source of Linux gives them (see
vnicaudit/platforms/host/local.py).
"""

from pathlib import Path

import pytest

from tests.platforms.host.trees import write
from tests.rows import rows
from vnicaudit.model.host import VdpaDevice, needed_memlock_kib
from vnicaudit.platforms.host.local import (
    Tree,
    needs_shared_memory,
    read_host,
    read_paths,
    read_vdpa,
)

_VIRTUAL = "sys/devices/virtual/vduse/r2vd0"
_PCI = "sys/devices/pci0000:00/0000:00:03.0/0000:05:00.2"


def _folder(root: Path, name: str) -> None:
    (root / name).mkdir(parents=True, exist_ok=True)


def _link(root: Path, name: str, target: str) -> None:
    """A link as sysfs has it: relative, from where it stands."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to("../" * len(Path(name).parent.parts) + target)


def _device(root: Path, place: str, driver: str | None, character: str | None) -> None:
    """A device of the bus, whose folder is ``place``."""
    name = Path(place).name
    _folder(root, place)
    _link(root, f"sys/bus/vdpa/devices/{name}", place)
    _link(root, f"{place}/subsystem", "sys/bus/vdpa")
    if driver is not None:
        _folder(root, f"sys/bus/vdpa/drivers/{driver}")
        _link(root, f"{place}/driver", f"sys/bus/vdpa/drivers/{driver}")
    if character is not None:
        _folder(root, f"{place}/{character}")
        _folder(root, "dev")
        (root / "dev" / character).touch()


def test_a_device_of_vduse(tmp_path: Path) -> None:
    _device(tmp_path, f"{_VIRTUAL}/r2vd0", "vhost_vdpa", "vhost-vdpa-0")
    _link(tmp_path, f"{_VIRTUAL}/subsystem", "sys/class/vduse")
    assert read_vdpa(Tree(str(tmp_path))) == (
        VdpaDevice("r2vd0", "/dev/vhost-vdpa-0", "vhost_vdpa", vduse=True, shared_memory=True),
    )


def test_a_virtual_function(tmp_path: Path) -> None:
    _device(tmp_path, f"{_PCI}/vdpa0", "vhost_vdpa", "vhost-vdpa-3")
    _link(tmp_path, f"{_PCI}/subsystem", "sys/bus/pci")
    assert read_vdpa(Tree(str(tmp_path))) == (
        VdpaDevice("vdpa0", "/dev/vhost-vdpa-3", "vhost_vdpa", vduse=False, shared_memory=False),
    )


@pytest.mark.parametrize(("parameter", "shared"), [("Y\n", True), ("N\n", False), (None, None)])
def test_a_simulated_device(tmp_path: Path, parameter: str | None, shared: bool | None) -> None:
    _device(tmp_path, "sys/devices/vdpa0", "vhost_vdpa", "vhost-vdpa-0")
    if parameter is not None:
        _folder(tmp_path, "sys/module/vdpa_sim/parameters")
        (tmp_path / "sys/module/vdpa_sim/parameters/use_va").write_text(parameter)
    assert read_vdpa(Tree(str(tmp_path))) == (
        VdpaDevice("vdpa0", "/dev/vhost-vdpa-0", "vhost_vdpa", vduse=False, shared_memory=shared),
    )


def test_devices_that_no_nic_can_name(tmp_path: Path) -> None:
    _device(tmp_path, f"{_PCI}/vdpa0", "virtio_vdpa", None)
    _device(tmp_path, f"{_PCI}/vdpa1", None, None)
    _device(tmp_path, f"{_PCI}/vdpa2", "vhost_vdpa", "vhost-vdpa-0")
    (tmp_path / "dev/vhost-vdpa-0").unlink()
    assert read_host(str(tmp_path)).vdpa_drivers == (
        ("vdpa0", "virtio_vdpa"),
        ("vdpa1", ""),
        ("vdpa2", "vhost_vdpa"),
    )
    found = [(one.name, one.driver, one.path) for one in read_vdpa(Tree(str(tmp_path)))]
    assert found == [
        ("vdpa0", "virtio_vdpa", None),
        ("vdpa1", "", None),
        ("vdpa2", "vhost_vdpa", None),
    ]


def test_other_entries_are_no_character_device(tmp_path: Path) -> None:
    _device(tmp_path, f"{_PCI}/vdpa0", "vhost_vdpa", None)
    for entry in ("vhost-vdpa", "vhost-vdpa-x", "power"):
        _folder(tmp_path, f"{_PCI}/vdpa0/{entry}")
        _folder(tmp_path, f"dev/{entry}")
    (device,) = read_vdpa(Tree(str(tmp_path)))
    assert device.path is None


def test_no_bus(tmp_path: Path) -> None:
    assert read_vdpa(Tree(str(tmp_path))) == ()


def test_a_tree_that_cannot_be_followed(tmp_path: Path) -> None:
    """A copy of sysfs whose links became folders."""
    _folder(tmp_path, "sys/bus/vdpa/devices/vdpa0")
    assert read_vdpa(Tree(str(tmp_path))) == (VdpaDevice("vdpa0", driver=""),)


@rows
def test_shared_memory(
    parent: str | None, bus: str | None, simulator: str | None, needed: bool | None
) -> None:
    assert needs_shared_memory(parent, bus, simulator) is needed


@rows
def test_memory_that_libvirt_lets_qemu_lock(ram: int, devices: int, limit: int) -> None:
    assert needed_memlock_kib(ram, devices) == limit


def test_own_and_asked_paths_in_order(tmp_path: Path) -> None:
    tree = Tree(write(tmp_path, {"dev/vhost-vdpa-0": "", "dev/vhost-net": ""}))
    asked = ["/dev/vhost-vdpa-1", "/dev/vhost-net", "/dev/vhost-net"]
    assert read_paths(tree, asked) == (
        ("/dev/vhost-net", True),
        ("/dev/vhost-vdpa-0", True),
        ("/dev/vhost-vdpa-1", False),
    )


def test_paths_that_cannot_be_seen_are_left_out(tmp_path: Path) -> None:
    tree = Tree(write(tmp_path, {"dev/null": ""}))
    (tmp_path / "dev/circle").symlink_to("circle")
    assert read_paths(tree, ["relative", "", "/dev/a\0b", "/dev/circle"]) == ()
