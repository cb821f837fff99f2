"""The small guest: one kernel and one initramfs with a guest agent, per architecture."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.rig import debian, kernel, process, programs, python
from tests.rig.debian import SUITES, Archive, merged_folders
from tests.rig.errors import NotFetched, RigError
from tests.rig.kernel import Kernel, unpack_kernel

FILES = Path(__file__).parent / "files"


@dataclass(frozen=True)
class Recipe:
    """What goes into a guest of one architecture.

    `modules` are loaded always, `nics` where there is such a NIC when it boots, `disk_modules` to
    hand over to a system on a disk; `python`: there is one for guests that want it.
    """

    debian_name: str
    modules: tuple[str, ...]
    nics: tuple[str, ...] = ()
    disk_modules: tuple[str, ...] = ()
    python: bool = False


# To give guests another program: its package, and its name.
PACKAGES = ("busybox-static", "ethtool", "iperf3", "iproute2", "nsd", "qemu-guest-agent")
PROGRAMS = ("busybox", "ethtool", "ip", "iperf3", "nsd", "qemu-ga")
PLUGINS = ("libgcc_s.so.1",)
"""glibc loads it where a thread is cancelled, and aborts without it: iperf3 cancels those of a test
that have not ended by themselves."""

_LEGACY_NICS = ("8139cp", "8139too", "e1000", "e1000e", "igb", "ne2k_pci", "pcnet32", "vmxnet3")
_POWER_BUTTON = ("button", "evdev")

RECIPES = {
    "x86_64": Recipe(
        "amd64",
        modules=("virtio_net", "virtio_console", *_POWER_BUTTON),
        nics=_LEGACY_NICS,
        # crc32c_generic: ext4 asks for it at mount time, without a dependency modprobe could see
        disk_modules=("crc32c_generic", "ext4", "virtio_blk"),
        python=True,
    ),
    # qeth: loaded by the test that wants it, without an adapter for it
    "s390x": Recipe("s390x", ("virtio_net", "virtio_console"), nics=("qeth",)),
}

FILES_IN_PLACE = {
    "guest-init.sh": "init",
    "guest-drivers.sh": "usr/sbin/drivers",
    "guest-shutdown.sh": "usr/sbin/shutdown",
    "nsd.conf": "etc/nsd.conf",
    "rig.test.zone": "etc/rig.test.zone",
}


def sources(arch: str) -> Iterator[Path | str]:
    """All that decides what `build` makes for this architecture."""
    modules = (debian, kernel, process, programs, python)
    yield from (Path(module.__file__ or "") for module in modules)
    yield Path(__file__)
    yield from (FILES / name for name in FILES_IN_PLACE)
    yield arch


def build(arch: str, folder: Path) -> None:
    """Fill a folder with `kernel/` (an unpacked kernel), `image` and `initrd` to boot, and
    `initrd-python` for guests that are to have one: a third more to unpack."""
    for suite in SUITES[:-1]:
        try:
            return _build(RECIPES[arch], folder, suite)
        except NotFetched as error:
            process.log(f"{arch} from {suite}: {error}")
            process.run("find", folder, "-mindepth", "1", "-delete")
    return _build(RECIPES[arch], folder, SUITES[-1])


def _build(recipe: Recipe, folder: Path, suite: str) -> None:
    work = folder / "work"
    archive = Archive(recipe.debian_name, work / "apt", suite)
    unpacked = unpack_kernel(archive, f"linux-image-{recipe.debian_name}", folder / "kernel")
    (folder / "image").write_bytes(unpacked.bootable())
    tree, root = work / "tree", work / "root"
    more = python.PACKAGES if recipe.python else ()
    archive.unpack_with_dependencies([*PACKAGES, *more], tree)
    _skeleton(root)
    programs.copy_programs(PROGRAMS, tree, root, plugins=PLUGINS)
    _settle(root, recipe, unpacked)
    _pack(root, folder / "initrd")
    if recipe.python:
        python.copy_python(tree, root)
        _pack(root, folder / "initrd-python")
    process.run("rm", "-r", work)


def _skeleton(root: Path) -> None:
    merged_folders(root)
    for name in ("dev", "disk", "etc", "proc", "run", "sys", "tmp", "var"):
        (root / name).mkdir()
    (root / "var/run").symlink_to("/run")


def _settle(root: Path, recipe: Recipe, unpacked: Kernel) -> None:
    unpacked.copy_modules(recipe.modules + recipe.nics + recipe.disk_modules, root)
    for name, place in FILES_IN_PLACE.items():
        shutil.copy(FILES / name, root / place)
        (root / place).chmod(0o755)
    etc = root / "etc"
    (etc / "modules").write_text("".join(f"{name}\n" for name in recipe.modules))
    (etc / "modules.disk").write_text("".join(f"{name}\n" for name in recipe.disk_modules))
    (etc / "passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (etc / "group").write_text("root:x:0:\n")
    (etc / "os-release").write_text('NAME="vnicaudit rig"\nID=vnicaudit-rig\nVERSION_ID=1\n')


def _pack(root: Path, initrd: Path) -> None:
    # Not compressed: emulated CPUs take longer to unpack it than QEMU takes to load it.
    command = "find . -print0 | cpio --null --create --format=newc --quiet"
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
