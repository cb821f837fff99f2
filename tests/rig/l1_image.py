"""The disk of L1: a Debian system with KVM, vhost and libvirt of its own."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.rig.debian import KEYRING, SUITE, mirror
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
    yield from (FILES / name for name in FILES_IN_PLACE)


def build(kernel: Kernel, initrd: Path, folder: Path) -> None:
    """Fill a folder with `disk.img`; the small guest's files are in its /srv/guest."""
    root = folder / "root"
    _install(root)
    kernel.copy_modules(MODULES, root)
    guest = root / "srv/guest"
    guest.mkdir()
    shutil.copy(kernel.image, guest / "vmlinuz")
    shutil.copy(initrd, guest / "initrd")
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


def _isolated(*argv: str | Path) -> None:
    """Run with mounts and processes of its own: both are gone when it, or this process, ends."""
    alone = ("unshare", "--mount", "--propagation", "private", "--pid", "--mount-proc")
    run("setpriv", "--pdeathsig", "KILL", *alone, "--kill-child", *argv, timeout=900)
