"""A Python for the small guest: load generators of vnicaudit are Python scripts."""

import shutil
from pathlib import Path

from tests.rig.errors import RigError
from tests.rig.programs import copy_programs

PACKAGES = ("python3",)

_NOT_NEEDED = shutil.ignore_patterns(
    "__pycache__", "_pyrepl", "asyncio", "concurrent", "config-*", "ctypes", "curses", "dbm",
    "ensurepip", "html", "idlelib", "lib2to3", "pydoc*", "sitecustomize.py", "sqlite3",
    "test", "tkinter", "turtle*", "unittest", "venv", "wsgiref", "xml", "xmlrpc",
)  # fmt: skip


def copy_python(tree: Path, root: Path) -> None:
    """Copy the interpreter, the libraries it is linked with, and most of its standard library."""
    folders = sorted(tree.glob("usr/lib/python3.*"))
    if len(folders) != 1:
        raise RigError(f"not one Python in {tree}: {folders}")
    name = folders[0].name
    copy_programs([name], tree, root)
    (root / "usr/bin/python3").symlink_to(name)
    shutil.copytree(folders[0], root / "usr/lib" / name, ignore=_NOT_NEEDED)
