"""vhost-net: a module that is not loaded is not a module that is missing."""

import gzip
from pathlib import Path

from tests.platforms.host.trees import (
    MODULES,
    MODULES_BUILTIN,
    MODULES_DEP,
    MODULES_DEP_WITHOUT,
    RELEASE,
    write,
)
from tests.rows import rows
from vnicaudit.platforms.host.read import (
    configured,
    listed,
    read_vhost_net,
    vhost_net_is_usable,
)
from vnicaudit.platforms.host.tree import Tree


@rows
def test_listed(text: str, found: bool) -> None:
    assert listed(text) is found


def test_configured() -> None:
    assert configured("CONFIG_VHOST=m\nCONFIG_VHOST_NET=m\n")
    assert configured("CONFIG_VHOST_NET=y\n")
    assert not configured("CONFIG_VHOST=m\n# CONFIG_VHOST_NET is not set\n")
    assert not configured("CONFIG_KVM=y\n")


@rows
def test_judge(
    device: bool | None, loaded: bool | None, available: bool | None, usable: bool | None
) -> None:
    assert vhost_net_is_usable(device=device, loaded=loaded, available=available) is usable


def _read(root: Path, files: dict[str, str]) -> bool | None:
    return read_vhost_net(Tree(write(root, files)), RELEASE)


def test_device_and_module_that_is_not_loaded(tmp_path: Path) -> None:
    files = {
        "dev/vhost-net": "",
        f"{MODULES}/modules.dep": MODULES_DEP,
        f"{MODULES}/modules.builtin": MODULES_BUILTIN,
    }
    assert _read(tmp_path, files) is True


def test_module_built_in(tmp_path: Path) -> None:
    files = {
        "dev/vhost-net": "",
        f"{MODULES}/modules.dep": "",
        f"{MODULES}/modules.builtin": "kernel/drivers/vhost/vhost_net.ko\n",
    }
    assert _read(tmp_path, files) is True


def test_module_without_device_cannot_be_told(tmp_path: Path) -> None:
    files = {"dev/null": "", f"{MODULES}/modules.dep": MODULES_DEP}
    assert _read(tmp_path, files) is None


def test_neither(tmp_path: Path) -> None:
    files = {
        "dev/null": "",
        f"{MODULES}/modules.dep": MODULES_DEP_WITHOUT,
        f"{MODULES}/modules.builtin": MODULES_BUILTIN,
    }
    assert _read(tmp_path, files) is False


def test_half_of_the_lists_is_not_enough(tmp_path: Path) -> None:
    files = {"dev/null": "", f"{MODULES}/modules.dep": MODULES_DEP_WITHOUT}
    assert _read(tmp_path, files) is None


def test_another_kernels_modules_do_not_count(tmp_path: Path) -> None:
    files = {
        "dev/null": "",
        "lib/modules/6.1.0-9-amd64/modules.dep": MODULES_DEP_WITHOUT,
        "lib/modules/6.1.0-9-amd64/modules.builtin": MODULES_BUILTIN,
    }
    assert _read(tmp_path, files) is None


def test_kernel_configured_without_it(tmp_path: Path) -> None:
    root = write(tmp_path, {"dev/null": "", "proc/version": ""})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_KVM=y\n"))
    assert read_vhost_net(Tree(root), RELEASE) is False


def test_kernel_configured_with_a_module_that_may_not_be_installed(tmp_path: Path) -> None:
    root = write(tmp_path, {"dev/null": "", "proc/version": ""})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_VHOST_NET=m\n"))
    assert read_vhost_net(Tree(root), RELEASE) is None
