"""A Debian kernel that is unpacked, never installed: its image and chosen modules."""

import lzma
import shutil
import struct
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.rig.debian import Archive
from tests.rig.errors import RigError
from tests.rig.process import run

MODULES = "usr/lib/modules"


@dataclass(frozen=True)
class Kernel:
    """An unpacked kernel package, in the folder `tree`."""

    tree: Path

    @property
    def image(self) -> Path:
        return next((self.tree / "boot").glob("vmlinuz-*"))

    @property
    def modules(self) -> Path:
        return next((self.tree / MODULES).iterdir())

    def bootable(self) -> bytes:
        """What QEMU is to load: on x86 the kernel itself instead of its compressed image.

        QEMU starts it by its PVH entry. Under emulation a guest is up a second earlier for it.
        """
        image = self.image.read_bytes()
        return _payload(image) if image[_MAGIC] == b"HdrS" else image

    def copy_modules(self, names: Iterable[str], root: Path) -> None:
        """Put modules and those they need, uncompressed, under `root` as modprobe wants them.

        A name that is built into the kernel is left out.
        """
        target = root / MODULES / self.modules.name
        for path in self._with_dependencies(names):
            packed = (self.modules / path).read_bytes()  # in older packages it is not
            copy = target / path.removesuffix(".xz")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(lzma.decompress(packed) if path.endswith(".xz") else packed)
        for listing in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
            shutil.copy(self.modules / listing, target)
        run("depmod", "--basedir", root / "usr", self.modules.name)

    def _with_dependencies(self, names: Iterable[str]) -> set[str]:
        lines = (self.modules / "modules.dep").read_text().splitlines()
        needs = {path: rest.split() for path, _, rest in (line.partition(":") for line in lines)}
        paths = {_module_name(path): path for path in needs}
        built_in = {
            _module_name(path) for path in (self.modules / "modules.builtin").read_text().split()
        }
        chosen: set[str] = set()
        for name in set(names) - built_in:
            if name not in paths:
                raise RigError(f"kernel {self.modules.name} has no module {name}")
            chosen.update([paths[name], *needs[paths[name]]])
        return chosen


def unpack_kernel(archive: Archive, meta_package: str, tree: Path) -> Kernel:
    """Unpack the kernel that a meta package such as linux-image-amd64 stands for."""
    archive.unpack(archive.newest(meta_package), tree)
    kernel = Kernel(tree)
    run("depmod", "--basedir", tree / "usr", kernel.modules.name)
    return kernel


# Setup header of an x86 image (the kernel's Documentation/arch/x86/boot.rst).
_SETUP_SECTORS = 0x1F1
_MAGIC = slice(0x202, 0x206)
_PAYLOAD = 0x248
_SECTOR = 512


def _payload(image: bytes) -> bytes:
    """The ELF file in an x86 image, whose compressed form ends with its length (4 bytes)."""
    offset, length = struct.unpack_from("<II", image, _PAYLOAD)
    begin = (image[_SETUP_SECTORS] + 1) * _SECTOR + offset
    unpacked = subprocess.run(
        ["zstd", "--decompress", "--stdout"],
        input=image[begin : begin + length - 4],
        capture_output=True,
        check=False,
    )
    if unpacked.returncode:
        raise RigError(f"unpacking a kernel: {unpacked.stderr.decode()}")
    return unpacked.stdout


def _module_name(path: str) -> str:
    return Path(path).name.split(".")[0].replace("-", "_")
