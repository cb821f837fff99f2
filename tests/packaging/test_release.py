"""A release can be made of what is committed: all of it, with a key that is thrown away."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.packaging.conftest import Release, release
from tests.pipelines.project import git, shellcheck
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


def test_a_release_is_refused_without_its_section_in_the_changelog(checkout: Path) -> None:
    key = checkout.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    done = release(checkout, "--key", str(key))
    assert done.returncode == 1
    assert done.stderr == f"Error: CHANGELOG.md has no section [{__version__}]\n"
    assert not (checkout / "dist").exists()


@pytest.mark.parametrize("options", [(), ("--key",), ("--key", "none"), ("--dry-run", "scripts")])
def test_options_that_make_no_sense_are_refused(checkout: Path, options: tuple[str, ...]) -> None:
    done = release(checkout, *options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")


def test_a_dry_run_builds_twice_lists_and_signs(released: Release) -> None:
    """It also verifies the checksums and their signature, as the page on releases shows."""
    assert f"would be refused: the tag v{__version__} is not on this commit" in released.printed
    out = released.folder
    assert {path.name for path in out.iterdir()} == NAMES
    assert (out / "SHA256SUMS").read_text().count("\n") == len(NAMES) - 2
    _assert_bill(json.loads((out / f"vnicaudit-{__version__}.cdx.json").read_text()))
    provenance = json.loads((out / f"vnicaudit-{__version__}.intoto.json").read_text())
    build = provenance["predicate"]["buildDefinition"]
    assert build["externalParameters"] == {"commit": git(released.checkout, "rev-parse", "HEAD")}
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
