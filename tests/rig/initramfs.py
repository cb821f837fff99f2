"""The small guest: one kernel and one initramfs with a guest agent, per architecture."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.rig import debian, kernel, process
from tests.rig.debian import Archive
from tests.rig.errors import RigError
from tests.rig.kernel import Kernel, unpack_kernel

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Recipe:
    """What goes into a guest of one architecture.

    To give guests another program, add its package: it and all it depends on are unpacked.
    """

    debian_name: str
    modules: tuple[str, ...]
    packages: tuple[str, ...] = ("busybox-static", "qemu-guest-agent")


# crc32c_generic: ext4 asks for it at mount time, without a dependency modprobe could see.
_DISK = ("crc32c_generic", "ext4", "virtio_blk")
_LEGACY_NICS = ("8139cp", "8139too", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet32", "vmxnet3")

RECIPES = {
    "x86_64": Recipe("amd64", ("virtio_net", "virtio_console", *_LEGACY_NICS, *_DISK)),
    "s390x": Recipe("s390x", ("virtio_net", "virtio_console")),
}

_DOCUMENTATION = ("usr/share", "usr/lib/*/gconv", "usr/lib/systemd", "etc/init.d")


def sources(arch: str) -> Iterator[Path | str]:
    """All that decides what `build` makes for this architecture."""
    yield from (Path(module.__file__ or "") for module in (debian, kernel, process))
    yield Path(__file__)
    yield FILES / "guest-init.sh"
    yield arch


def build(arch: str, folder: Path) -> None:
    """Fill a folder with `kernel/` (an unpacked kernel) and `initrd`."""
    recipe = RECIPES[arch]
    work = folder / "work"
    archive = Archive(recipe.debian_name, work / "apt")
    unpacked = unpack_kernel(archive, f"linux-image-{recipe.debian_name}", folder / "kernel")
    root = work / "root"
    _skeleton(root)
    archive.unpack_with_dependencies(recipe.packages, root)
    for pattern in _DOCUMENTATION:
        for path in root.glob(pattern):
            process.run("rm", "-r", path)
    _settle(root, recipe, unpacked)
    _pack(root, folder / "initrd")
    process.run("rm", "-r", work)


def _skeleton(root: Path) -> None:
    for name in ("dev", "disk", "etc", "proc", "run", "sys", "tmp", "usr/bin", "usr/sbin"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "var").mkdir()
    (root / "var/run").symlink_to("/run")


def _settle(root: Path, recipe: Recipe, unpacked: Kernel) -> None:
    unpacked.copy_modules(recipe.modules, root)
    init = root / "init"
    init.write_bytes((FILES / "guest-init.sh").read_bytes())
    init.chmod(0o755)
    etc = root / "etc"
    (etc / "modules").write_text("".join(f"{name}\n" for name in recipe.modules))
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\n")
    (etc / "os-release").write_text('NAME="vnicaudit rig"\nID=vnicaudit-rig\nVERSION_ID=1\n')


def _pack(root: Path, initrd: Path) -> None:
    command = "find . -print0 | cpio --null --create --format=newc --quiet | gzip -1"
    with initrd.open("wb") as output:
        packed = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=root,
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
        )
    if packed.returncode:
        raise RigError(f"packing {initrd}: {packed.stderr.decode()}")
