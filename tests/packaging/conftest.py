"""A repository of the files as they are, and the release of it that is made once for all tests."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.pages import ROOT
from tests.pipelines.once import made_once
from tests.pipelines.project import copy_of_this, needs_packages, repository


class Release(NamedTuple):
    """What a dry run made of a checkout: its files, and what it printed."""

    checkout: Path
    folder: Path
    printed: str

    def file(self, pattern: str) -> Path:
        """The one file of that name."""
        (found,) = self.folder.glob(pattern)
        return found


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of one commit, with no tag."""
    folder = tmp_path_factory.mktemp("checkout")
    _write_checkout(folder)
    return folder


def _write_checkout(folder: Path) -> None:
    copy_of_this(folder)
    (folder / "scripts").mkdir()
    for name in ("release.sh", "setup.sh", "provenance.py"):
        shutil.copy2(ROOT / "scripts" / name, folder / "scripts")
    shutil.copytree(ROOT / "scripts/packaging", folder / "scripts/packaging")
    repository(folder)


def release(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``scripts/release.sh`` of a repository, with the Python of these tests."""
    return subprocess.run(
        ["sh", "scripts/release.sh", *options],
        cwd=folder, env={**os.environ, "VNICAUDIT_RELEASE_PYTHON": sys.executable},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Release:
    """Built twice and compared, listed, signed, verified: by the first worker that needs it."""
    needs_packages("packaging")
    place = made_once(tmp_path_factory, worker_id, "released", _make_release)
    return Release(place, place / "out", (place / "printed").read_text("utf-8"))


def _make_release(place: Path) -> None:
    _write_checkout(place)
    done = release(place, "--dry-run", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "printed").write_text(done.stdout, "utf-8")
