"""tox left a *file* ``.venv`` in the checkout (PEP 832): the tutorial's ``python3 -m venv .venv``
then failed, and ``git status`` showed it."""

import configparser
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_tox_is_told_to_write_no_such_file() -> None:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read(ROOT / "tox.ini")
    assert settings.get("tox", "venv_redirect") == "false"


def test_whatever_has_that_name_is_ignored_by_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    shutil.copy(ROOT / ".gitignore", tmp_path)
    (tmp_path / ".venv").write_text(".tox/types")
    status = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain"], capture_output=True, text=True, check=True
    )
    assert status.stdout == "?? .gitignore\n"
