"""A release can be made of what is committed: all of it, with a key that is thrown away."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.pipelines.project import copy_of_this, git, needs_packages, repository, shellcheck
from vnicaudit import __version__

NAMES_OF_SCRIPTS = ("setup.sh", "release.sh")
NAMES = {
    f"vnicaudit-{__version__}-py3-none-any.whl",
    f"vnicaudit-{__version__}.tar.gz",
    f"vnicaudit-{__version__}.cdx.json",
    f"vnicaudit-{__version__}.intoto.json",
    "SHA256SUMS",
    "SHA256SUMS.sig",
}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the files as they are, with no tag."""
    folder = tmp_path_factory.mktemp("checkout")
    copy_of_this(folder)
    (folder / "scripts").mkdir()
    for name in ("release.sh", "setup.sh", "provenance.py"):
        (folder / "scripts" / name).write_bytes((ROOT / "scripts" / name).read_bytes())
    subprocess.run(
        ["cp", "-r", str(ROOT / "scripts/packaging"), str(folder / "scripts")], check=True
    )
    repository(folder)
    return folder


def _release(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "scripts/release.sh", *options],
        cwd=folder, env={**os.environ, "VNICAUDIT_RELEASE_PYTHON": sys.executable},
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_a_release_is_refused_without_its_section_in_the_changelog(checkout: Path) -> None:
    key = checkout.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    done = _release(checkout, "--key", str(key))
    assert done.returncode == 1
    assert done.stderr == f"Error: CHANGELOG.md has no section [{__version__}]\n"
    assert not (checkout / "dist").exists()


@pytest.mark.parametrize("options", [(), ("--key",), ("--key", "none"), ("--dry-run", "scripts")])
def test_options_that_make_no_sense_are_refused(checkout: Path, options: tuple[str, ...]) -> None:
    done = _release(checkout, *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_a_dry_run_builds_twice_lists_and_signs(checkout: Path) -> None:
    """It also verifies the checksums and their signature, as the page on releases shows."""
    needs_packages("packaging")
    done = _release(checkout, "--dry-run", "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"would be refused: the tag v{__version__} is not on this commit" in done.stdout
    out = checkout / "out"
    assert {path.name for path in out.iterdir()} == NAMES
    assert (out / "SHA256SUMS").read_text().count("\n") == len(NAMES) - 2
    _assert_bill(json.loads((out / f"vnicaudit-{__version__}.cdx.json").read_text()))
    provenance = json.loads((out / f"vnicaudit-{__version__}.intoto.json").read_text())
    build = provenance["predicate"]["buildDefinition"]
    assert build["externalParameters"] == {"commit": git(checkout, "rev-parse", "HEAD")}
    sums = (out / "SHA256SUMS").read_text()
    for subject in provenance["subject"]:
        assert f"{subject['digest']['sha256']}  {subject['name']}\n" in sums


def _assert_bill(bill: dict[str, object]) -> None:
    components = bill["components"]
    assert isinstance(components, list)
    names = {component["name"] for component in components}
    assert {"vnicaudit", "lxml", "click", "msgspec"} <= names
    assert not names & {"pip", "pytest", "build"}
    assert "file:" not in json.dumps(bill)


def test_the_scripts_are_sound() -> None:
    setup, script = ((ROOT / "scripts" / name).read_text("utf-8") for name in NAMES_OF_SCRIPTS)
    assert shellcheck(setup + script.replace('\n. "$(dirname "$0")/setup.sh"', "")) == ""
