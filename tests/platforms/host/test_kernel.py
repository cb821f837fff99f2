"""Release and architecture, in libvirt's words."""

import os
from pathlib import Path

import pytest

from tests.platforms.host.trees import RELEASE, write
from vnicaudit.platforms.host.read import libvirt_arch, read_arch, read_release
from vnicaudit.platforms.host.tree import Tree


def test_from_proc(tmp_path: Path) -> None:
    files = {"proc/sys/kernel/osrelease": f"{RELEASE}\n", "proc/sys/kernel/arch": "s390x\n"}
    tree = Tree(write(tmp_path, files))
    assert (read_release(tree), read_arch(tree)) == (RELEASE, "s390x")


def test_without_proc_the_running_kernel_says_it(tmp_path: Path) -> None:
    tree = Tree(str(tmp_path))
    assert read_release(tree) == os.uname().release
    assert read_arch(tree) == libvirt_arch(os.uname().machine)


@pytest.mark.parametrize(
    ("machine", "arch"), [("i586", "i686"), ("i686", "i686"), ("x86_64", "x86_64")]
)
def test_libvirt_arch(machine: str, arch: str) -> None:
    assert libvirt_arch(machine) == arch
