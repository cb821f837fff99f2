"""Device paths that definitions name, and the vDPA bus.

The layout of the bus is that of Linux 6.12 with one VDUSE device.
"""

from pathlib import Path

from tests.platforms.host.trees import write
from vnicaudit.platforms.host.tree import Tree, read_paths, read_vdpa_drivers


def test_own_and_asked_paths_in_order(tmp_path: Path) -> None:
    tree = Tree(write(tmp_path, {"dev/vhost-vdpa-0": "", "dev/vhost-net": ""}))
    asked = ["/dev/vhost-vdpa-1", "/dev/vhost-net", "/dev/vhost-net"]
    assert read_paths(tree, asked) == (
        ("/dev/vhost-net", True),
        ("/dev/vhost-vdpa-0", True),
        ("/dev/vhost-vdpa-1", False),
    )


def test_what_cannot_be_looked_at_is_left_out(tmp_path: Path) -> None:
    tree = Tree(write(tmp_path, {"dev/null": ""}))
    (tmp_path / "dev/circle").symlink_to("circle")
    assert read_paths(tree, ["relative", "", "/dev/a\0b", "/dev/circle"]) == ()


def test_drivers_of_the_vdpa_bus(tmp_path: Path) -> None:
    root = write(tmp_path, {"sys/bus/vdpa/drivers/vhost_vdpa/bind": ""})
    for name, driver in (("vd0", "vhost_vdpa"), ("vd1", "virtio_vdpa"), ("vd2", None)):
        device = tmp_path / "sys/bus/vdpa/devices" / name
        device.mkdir(parents=True)
        if driver is not None:
            (device / "driver").symlink_to(f"../../../bus/vdpa/drivers/{driver}")
    assert read_vdpa_drivers(Tree(root)) == (
        ("vd0", "vhost_vdpa"),
        ("vd1", "virtio_vdpa"),
        ("vd2", ""),
    )


def test_no_vdpa_bus(tmp_path: Path) -> None:
    assert read_vdpa_drivers(Tree(str(tmp_path))) == ()
