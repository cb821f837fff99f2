"""Programs out of unpacked packages, with the shared libraries they need and nothing else."""

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from tests.rig.errors import RigError
from tests.rig.process import run

_PLACES = ("usr/bin", "usr/sbin")


def copy_programs(
    names: Iterable[str], tree: Path, root: Path, *, plugins: Iterable[str] = ()
) -> None:
    """Copy programs from `tree` to the same places in `root`.

    `plugins` are libraries that a program loads by itself while it runs.
    """
    missing = [_program(name, tree) for name in names]
    missing += [_library(name, tree) for name in plugins]
    while missing:
        path = missing.pop()
        copy = root / path.relative_to(tree)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
            missing += _needed(path, tree)


def _program(name: str, tree: Path) -> Path:
    for place in _PLACES:
        if (tree / place / name).exists():
            return tree / place / name
    raise RigError(f"no package has the program {name}")


def _needed(path: Path, tree: Path) -> list[Path]:
    """The libraries and the loader of a program or library, as its ELF headers name them."""
    headers = run("readelf", "--wide", "--dynamic", "--program-headers", path)
    loaders = re.findall(r"program interpreter: (\S+)\]", headers)
    libraries = re.findall(r"\(NEEDED\).*\[(\S+)\]", headers)
    return [tree / loader.lstrip("/") for loader in loaders] + [
        _library(name, tree) for name in libraries
    ]


def _library(name: str, tree: Path) -> Path:
    for place in ("usr/lib/*-linux-gnu", "usr/lib", "usr/lib64"):
        for found in tree.glob(f"{place}/{name}"):
            return found
    raise RigError(f"no package has the library {name}")
