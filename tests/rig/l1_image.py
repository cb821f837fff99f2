"""The disk of L1: a Debian system with KVM, vhost and libvirt of its own. Booted with systemd, the
same disk is a host that is reached by ssh (see host.py)."""

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
    "ethtool",
    "iproute2",
    "kmod",
    "libvirt-clients",
    "libvirt-daemon-system",
    "openssh-server",
    "procps",
    "python3-click",
    "python3-libvirt",
    "python3-lxml",
    "python3-msgspec",
    "python3-oslo.config",
    "python3-rich",
    "python3-ruamel.yaml",
    "qemu-guest-agent",
    "qemu-system-x86",
    "systemd-sysv",
    "udev",
)
MODULES = (
    "8021q", "bonding", "br_netfilter", "bridge", "dummy", "geneve", "ipvlan", "kvm_amd",
    "macvtap", "nf_tables", "tun", "vduse", "veth", "vhost_net", "vhost_vdpa", "vxlan",
)  # fmt: skip
SSH = "ssh"
"""The folder beside the disk: the key of who may log in, and the host's own, which is known."""
# What serves a vDPA device is DPDK's testpmd: it is taken out of its package, which would bring
# all that is needed to compile programs. Its drivers are plugins.
DPDK_PACKAGES = ("dpdk-dev", "librte-mempool-ring25", "librte-net-tap25", "librte-net-vhost25")
DPDK_PLUGINS = ("librte_mempool_ring.so.25", "librte_net_tap.so.25", "librte_net_vhost.so.25")
SERVICES = ("systemd-network-generator.service", "systemd-networkd.service")
UNWANTED_UNITS = (
    "apt-daily-upgrade.timer", "apt-daily.timer", "console-getty.service", "dpkg-db-backup.timer",
    "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@tty1.service",
    "libvirt-guests.service", "libvirtd-admin.socket", "libvirtd-ro.socket", "libvirtd.service",
    "libvirtd.socket", "serial-getty@ttyS0.service", "virtlockd.socket", "virtlogd.service",
    "virtlogd.socket", "virtlogd-admin.socket", "virtlockd-admin.socket",
)  # fmt: skip
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
    _settle_systemd(root)
    _let_in(root, folder / SSH)
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


def _settle_systemd(root: Path) -> None:
    """Networks are systemd-networkd's, as the kernel's command line says; what no test asks for is
    not started."""
    _isolated("systemctl", f"--root={root}", "enable", *SERVICES)
    _isolated("systemctl", f"--root={root}", "mask", *UNWANTED_UNITS)
    for folder in ("etc", "var"):  # nothing in /usr is newer: what it asks for is done already
        (root / folder / ".updated").touch()


def _let_in(root: Path, folder: Path) -> None:
    """Make the key of who may log in as root, and keep the one by which the host is known."""
    folder.mkdir()
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "rig", "-f", folder / "key")
    allowed = root / "root/.ssh/authorized_keys"
    allowed.parent.mkdir(mode=0o700)
    shutil.copy(folder / "key.pub", allowed)
    shutil.copy(root / "etc/ssh/ssh_host_ed25519_key.pub", folder / "host.pub")


def _add_testpmd(root: Path, work: Path) -> None:
    tree = work / "tree"
    Archive("amd64", work / "apt").unpack_with_dependencies(DPDK_PACKAGES, tree)
    programs.copy_programs(["dpdk-testpmd"], tree, root, plugins=DPDK_PLUGINS)
    shutil.rmtree(work)


def _isolated(*argv: str | Path) -> None:
    """Run with mounts and processes of its own: both are gone when it, or this process, ends."""
    alone = ("unshare", "--mount", "--propagation", "private", "--pid", "--mount-proc")
    run("setpriv", "--pdeathsig", "KILL", *alone, "--kill-child", *argv, timeout=900)
