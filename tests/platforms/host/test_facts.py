"""All facts of a host together, and each by itself: a device that opens is not yet KVM that works,
and a module that is not loaded is not a module that is missing."""

import gzip
import os
from pathlib import Path

import pytest

from tests.platforms.host.trees import (
    CPUINFO_PLAIN,
    CPUINFO_VMX,
    MODULES,
    MODULES_BUILTIN,
    MODULES_DEP,
    MODULES_DEP_WITHOUT,
    RELEASE,
    write,
)
from tests.rows import rows
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.host.local import (
    Tree,
    can_open,
    hardware,
    read_arch,
    read_host,
    read_kvm,
    read_release,
    read_vhost_net,
)


def test_hypervisor(tmp_path: Path) -> None:
    files = {
        "dev/vhost-net": "",
        "dev/vhost-vdpa-0": "",
        f"{MODULES}/modules.dep": MODULES_DEP,
        f"{MODULES}/modules.builtin": MODULES_BUILTIN,
        "proc/sys/kernel/osrelease": f"{RELEASE}\n",
        "proc/sys/kernel/arch": "x86_64\n",
        "proc/cpuinfo": CPUINFO_VMX,
        "sys/module/kvm/refcnt": "0\n",
        "sys/module/vhost_net/parameters/experimental_zcopytx": "0\n",
    }
    root = write(tmp_path, files)
    (tmp_path / "dev/kvm").symlink_to("/dev/null")
    assert read_host(root, paths=["/dev/vhost-vdpa-7"]) == HostConfig(
        arch="x86_64",
        kernel=RELEASE,
        kvm=True,
        vhost_net=True,
        zerocopy_tx=False,
        vhost_paths=(("/dev/vhost-vdpa-0", True), ("/dev/vhost-vdpa-7", False)),
    )


def test_empty_container(tmp_path: Path) -> None:
    """Nothing but the kernel can be told, apart from the device that is plainly not there."""
    host = read_host(str(tmp_path))
    assert (host.vhost_net, host.zerocopy_tx, host.vhost_paths) == (None, None, ())
    assert host.kvm is False


def test_this_host_can_be_read() -> None:
    host = read_host(paths=["/dev/null"])
    assert host.kernel
    assert host.arch
    assert ("/dev/null", True) in host.vhost_paths


def test_without_proc_the_running_kernel_says_it(tmp_path: Path) -> None:
    assert read_release(Tree(str(tmp_path))) == os.uname().release


@pytest.mark.parametrize(
    ("machine", "arch"),
    [("i586", "i686"), ("i686", "i686"), ("x86_64", "x86_64"), ("s390x", "s390x")],
)
def test_architecture_in_the_words_of_libvirt(tmp_path: Path, machine: str, arch: str) -> None:
    assert read_arch(Tree(write(tmp_path, {"proc/sys/kernel/arch": f"{machine}\n"}))) == arch


@pytest.mark.parametrize(
    ("text", "value"),
    [("0\n", False), ("1\n", True), ("N\n", False), ("Y\n", True), ("", None), ("what\n", None)],
)
def test_zero_copy_by_the_parameter_of_the_module(
    tmp_path: Path, text: str, value: bool | None
) -> None:
    path = "sys/module/vhost_net/parameters/experimental_zcopytx"
    assert read_host(write(tmp_path, {path: text})).zerocopy_tx is value


@rows
def test_hardware(cpuinfo: str | None, arch: str, found: bool | None) -> None:
    assert hardware(cpuinfo, arch) is found


def test_can_open() -> None:
    assert can_open(Path("/dev/null")) is True


@rows
def test_kvm_without_a_device_that_can_be_opened(
    tmp_path: Path, files: dict[str, str], found: bool | None
) -> None:
    root = write(tmp_path, {"proc/cpuinfo": CPUINFO_VMX, **files})
    assert read_kvm(Tree(root), "x86_64") is found


@pytest.mark.parametrize(
    ("cpuinfo", "arch", "usable"),
    [(CPUINFO_VMX, "x86_64", True), (CPUINFO_PLAIN, "x86_64", None), (CPUINFO_VMX, "mips", None)],
)
def test_device_that_opens(tmp_path: Path, cpuinfo: str, arch: str, usable: bool | None) -> None:
    """A character device that everybody may open stands in for /dev/kvm."""
    root = write(tmp_path, {"sys/module/kvm/refcnt": "0\n", "proc/cpuinfo": cpuinfo})
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kvm").symlink_to("/dev/null")
    assert read_kvm(Tree(root), arch) is usable


def test_device_that_may_not_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert can_open(Path("/dev/null")) is None


def _read(root: Path, files: dict[str, str]) -> bool | None:
    return read_vhost_net(Tree(write(root, files)), RELEASE)


@rows
def test_module_in_the_lists_of_the_kernel(tmp_path: Path, text: str, found: bool) -> None:
    files = {"dev/null": "", f"{MODULES}/modules.dep": text, f"{MODULES}/modules.builtin": ""}
    assert _read(tmp_path, files) is (None if found else False)


@rows
def test_device_and_lists_of_modules(
    tmp_path: Path, device: str, dep: str, builtin: str | None, release: str, found: bool | None
) -> None:
    """``builtin`` None: there is no such list."""
    texts = {"": "", "with": MODULES_DEP, "without": MODULES_DEP_WITHOUT}
    folder = f"lib/modules/{release}"
    files = {device: "", f"{folder}/modules.dep": texts[dep]}
    files |= {} if builtin is None else {f"{folder}/modules.builtin": builtin}
    assert _read(tmp_path, files) is found


@rows
def test_configuration_of_the_kernel(tmp_path: Path, text: str, found: bool | None) -> None:
    """A module that it was built with may not be installed."""
    root = write(tmp_path, {"dev/null": "", "proc/version": ""})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(text.encode()))
    assert read_vhost_net(Tree(root), RELEASE) is found
