"""A folder that looks like ``/proc`` (a support case has one) ended the run by five kinds of error
of the operating system, and a FIFO in it held the run for ever."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

QEMU = b"qemu-system-x86_64\0-nodefaults\0-netdev\0user,id=n0\0-device\0rtl8139,netdev=n0\0"


def _file(root: Path) -> None:
    (root / "3").write_text("no process")


def _loop(root: Path) -> None:
    (root / "3").mkdir()
    (root / "3" / "cmdline").symlink_to("cmdline")


def _folder(root: Path) -> None:
    (root / "3" / "cmdline").mkdir(parents=True)


def _fifo(root: Path) -> None:
    (root / "3").mkdir()
    os.mkfifo(root / "3" / "cmdline")


def _file_for_descriptors(root: Path) -> None:
    (root / "3").mkdir()
    (root / "3" / "cmdline").write_bytes(QEMU)
    (root / "3" / "fd").write_text("")


def _file_among_descriptors(root: Path) -> None:
    (root / "3" / "fd").mkdir(parents=True)
    (root / "3" / "cmdline").write_bytes(QEMU)
    (root / "3" / "fd" / "1").write_text("")


@pytest.mark.parametrize(
    ("make", "guests", "problem"),
    [
        (_file, 1, None),
        (_loop, 1, "Too many levels of symbolic links"),
        (_folder, 1, "not a regular file"),
        (_fifo, 1, "not a regular file"),
        (_file_for_descriptors, 2, None),
        (_file_among_descriptors, 2, None),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_no_process_costs_itself(
    make: Callable[[Path], None], guests: int, problem: str | None, tmp_path: Path
) -> None:
    for name in ("self", "7"):
        (tmp_path / name / "fd").mkdir(parents=True)
        (tmp_path / name / "cmdline").write_bytes(QEMU if name == "7" else b"sh\0")
    make(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "vnicaudit", "audit", str(tmp_path), "--level", "never",
         "--format", "json"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == (0 if problem is None else 4), done.stderr
    (target,) = json.loads(done.stdout)["targets"]
    assert target["domains"] == guests
    assert [error["message"] for error in target["errors"]] == ([problem] if problem else [])
    for error in target["errors"]:
        assert error["file"] == f"{tmp_path}/3/cmdline"
