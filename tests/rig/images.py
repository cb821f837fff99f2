"""What guests boot from. Built on first use, kept in the cache folder (see cache.py)."""

import os
from dataclasses import dataclass
from pathlib import Path

from tests.rig import initramfs
from tests.rig import l1_image as l1_recipe
from tests.rig.cache import cached, digest
from tests.rig.errors import Missing
from tests.rig.process import require


@dataclass(frozen=True)
class GuestImage:
    """Kernel and initramfs of a guest. L1 has a disk too, which is never written to, and keys by
    which one logs in where it is booted as a host."""

    kernel: Path
    initrd: Path
    disk: Path | None = None
    keys: Path | None = None


def guest_image(arch: str, *, python: bool = False) -> GuestImage:
    """The small guest, with a guest agent, for x86_64 or s390x; on x86_64 it may have a Python."""
    folder = _guest_folder(arch)
    return GuestImage(folder / "image", folder / ("initrd-python" if python else "initrd"))


def l1_image() -> GuestImage:
    """L1: a hypervisor in a guest. Its loader is the small guest."""
    require("chroot", "debootstrap", "mkfs.ext4", "setpriv", "ssh-keygen", "unshare")
    guest = _guest_folder("x86_64")
    key = digest(guest.name, *l1_recipe.sources())
    folder = cached("l1", key, lambda part: l1_recipe.build(guest, part))
    return GuestImage(
        guest / "image", guest / "initrd", folder / "disk.img", folder / l1_recipe.SSH
    )


def _guest_folder(arch: str) -> Path:
    if os.geteuid():
        raise Missing("images can be built by root only")
    require("apt-get", "bash", "cpio", "depmod", "dpkg-deb", "readelf", "zstd")
    key = digest(*initramfs.sources(arch))
    return cached(f"guest-{arch}", key, lambda part: initramfs.build(arch, part))
