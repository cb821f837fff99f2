"""The disk of L1: a Debian system with KVM, vhost and libvirt of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.rig import programs
from tests.rig.debian import KEYRING, SUITE, Archive, mirror
from tests.rig.initramfs import FILES
from tests.rig.kernel import Kernel
from tests.rig.process import run

PACKAGES = (
    "busybox-static",
    "iproute2",
    "kmod",
    "libvirt-clients",
    "libvirt-daemon-system",
    "python3-click",
    "python3-libvirt",
    "python3-lxml",
    "python3-msgspec",
    "python3-oslo.config",
    "python3-rich",
    "python3-ruamel.yaml",
    "qemu-guest-agent",
    "qemu-system-x86",
)
MODULES = ("bridge", "kvm_amd", "macvtap", "tun", "vduse", "vhost_net", "vhost_vdpa")
# What serves a vDPA device is DPDK's testpmd: it is taken out of its package, which would bring
# all that is needed to compile programs. Its drivers are plugins.
DPDK_PACKAGES = ("dpdk-dev", "librte-mempool-ring25", "librte-net-tap25", "librte-net-vhost25")
DPDK_PLUGINS = ("librte_mempool_ring.so.25", "librte_net_tap.so.25", "librte_net_vhost.so.25")
FILES_IN_PLACE = {
    "l1-init.sh": "usr/local/sbin/rig-init",
    "qemu.conf": "etc/libvirt/qemu.conf",
}
_DPKG = """\
force-unsafe-io
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/man/*
"""


def sources() -> Iterator[Path | str]:
    """All that decides what `build` makes, besides the small guest."""
    yield Path(__file__)
    yield Path(programs.__file__)
    yield from (FILES / name for name in FILES_IN_PLACE)


def build(guest: Path, folder: Path) -> None:
    """Fill a folder with `disk.img`. What boots the small guest, whose folder is given, is in
    its /srv/guest."""
    root = folder / "root"
    _install(root)
    _add_testpmd(root, folder / "dpdk")
    Kernel(guest / "kernel").copy_modules(MODULES, root)
    (root / "srv/guest").mkdir()
    for name in ("image", "initrd"):
        shutil.copy(guest / name, root / "srv/guest")
    for name, place in FILES_IN_PLACE.items():
        shutil.copy(FILES / name, root / place)
        (root / place).chmod(0o755)
    (root / "etc/machine-id").write_text("0" * 31 + "1\n")
    disk = folder / "disk.img"
    run("mkfs.ext4", "-q", "-O", "^has_journal", "-d", root, disk, "3G")
    shutil.rmtree(root)


def _install(root: Path) -> None:
    settings = root / "etc/dpkg/dpkg.cfg.d/rig"
    settings.parent.mkdir(parents=True)
    settings.write_text(_DPKG)
    _isolated("debootstrap", "--variant=minbase", f"--keyring={KEYRING}", SUITE, root, mirror())
    # Nothing may be started while packages are set up.
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    install = ("apt-get", "-q", "-y", "--no-install-recommends", "install", *PACKAGES)
    _isolated("chroot", root, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", *install)
    for leftover in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(root / leftover)


def _add_testpmd(root: Path, work: Path) -> None:
    tree = work / "tree"
    Archive("amd64", work / "apt").unpack_with_dependencies(DPDK_PACKAGES, tree)
    programs.copy_programs(["dpdk-testpmd"], tree, root, plugins=DPDK_PLUGINS)
    shutil.rmtree(work)


def _isolated(*argv: str | Path) -> None:
    """Run with mounts and processes of its own: both are gone when it, or this process, ends."""
    alone = ("unshare", "--mount", "--propagation", "private", "--pid", "--mount-proc")
    run("setpriv", "--pdeathsig", "KILL", *alone, "--kill-child", *argv, timeout=900)
