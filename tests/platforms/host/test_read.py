"""All facts of a host together."""

from pathlib import Path

from tests.platforms.host.trees import (
    CPUINFO_VMX,
    MODULES,
    MODULES_BUILTIN,
    MODULES_DEP,
    RELEASE,
    write,
)
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.host.read import read_host


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
