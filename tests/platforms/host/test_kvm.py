"""KVM: a device that opens is not yet KVM that works."""

import os
from pathlib import Path

import pytest

from tests.platforms.host.trees import CPUINFO_VMX, write
from tests.rows import rows
from vnicaudit.platforms.host.read import can_open, hardware, kvm_is_usable, read_kvm
from vnicaudit.platforms.host.tree import Tree


@rows
def test_hardware(cpuinfo: str | None, arch: str, found: bool | None) -> None:
    assert hardware(cpuinfo, arch) is found


@rows
def test_judge(
    device: bool | None,
    loaded: bool | None,
    opened: bool | None,
    cpu: bool | None,
    usable: bool | None,
) -> None:
    assert kvm_is_usable(device=device, loaded=loaded, opened=opened, cpu=cpu) is usable


def test_can_open() -> None:
    assert can_open(Path("/dev/null")) is True


def test_a_file_is_not_the_device(tmp_path: Path) -> None:
    files = {"dev/kvm": "", "sys/module/kvm/refcnt": "0\n", "proc/cpuinfo": CPUINFO_VMX}
    assert read_kvm(Tree(write(tmp_path, files)), "x86_64") is False


def test_no_device(tmp_path: Path) -> None:
    files = {"dev/null": "", "proc/cpuinfo": CPUINFO_VMX}
    assert read_kvm(Tree(write(tmp_path, files)), "x86_64") is False


def test_module_not_loaded_is_left_alone(tmp_path: Path) -> None:
    files = {"dev/kvm": "", "proc/cpuinfo": CPUINFO_VMX}
    assert read_kvm(Tree(write(tmp_path, files)), "x86_64") is None


def test_device_that_works(tmp_path: Path) -> None:
    """A character device that everybody may open stands in for /dev/kvm."""
    root = write(tmp_path, {"sys/module/kvm/refcnt": "0\n", "proc/cpuinfo": CPUINFO_VMX})
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kvm").symlink_to("/dev/null")
    assert read_kvm(Tree(root), "x86_64") is True


def test_device_that_may_not_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    assert can_open(Path("/dev/null")) is None
