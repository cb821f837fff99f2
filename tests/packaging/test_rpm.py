"""An RPM is built by the spec file, of the source distribution and the wheel of a release. For the
macros that only Fedora and RHEL have, ``rpm.macros`` stands in."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.not_run import not_run
from tests.packaging.conftest import Release
from vnicaudit import __version__


@pytest.fixture(scope="module")
def package(released: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The RPM."""
    if shutil.which("rpmbuild") is None:
        not_run("packaging", "rpmbuild is not installed")
    top = tmp_path_factory.mktemp("rpm")
    (top / "SOURCES").mkdir()
    shutil.copy(released.file("*.tar.gz"), top / "SOURCES")
    before = len(list(importlib.metadata.distributions(name="vnicaudit")))
    done = subprocess.run(
        ["rpmbuild", "-bb", "--nodeps", "--quiet",
         "--load", str(Path(__file__).with_name("rpm.macros")),
         "--define", f"_topdir {top}", "--define", f"python3 {sys.executable}",
         "--define", f"wheel {released.file('*.whl')}", "--define", "_binary_payload w1.gzdio",
         str(ROOT / "scripts/packaging/vnicaudit.spec")],
        env={**os.environ, "HOME": str(top), "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-3000:]
    after = len(list(importlib.metadata.distributions(name="vnicaudit")))
    assert after == before, "pip removes what is installed where these tests run"
    (found,) = (top / "RPMS" / "noarch").glob("*.rpm")
    return found


def _asked(package: Path, *options: str) -> list[str]:
    command = ["rpm", "--query", "--package", *options, str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_an_rpm_has_command_pages_completion_and_licence(package: Path) -> None:
    names = set(_asked(package, "--list"))
    shown = {name.partition("site-packages/")[2] or name.removesuffix(".gz") for name in names}
    assert {
        "/usr/bin/vnicaudit",
        "vnicaudit/__init__.py",
        "vnicaudit/templates/demo/host.xml",
        "/usr/share/man/man1/vnicaudit.1",
        "/usr/share/man/man1/vnicaudit-fleet-top.1",
        "/usr/share/bash-completion/completions/vnicaudit",
        "/usr/share/zsh/site-functions/_vnicaudit",
        "/usr/share/fish/vendor_completions.d/vnicaudit.fish",
    } <= shown
    assert [name for name in names if name.endswith("/NOTICE")]
    assert not [name for name in names if "__pycache__" in name]


def test_an_rpm_says_what_it_is(package: Path) -> None:
    form = "%{NAME} %{VERSION} %{ARCH} %{LICENSE}"
    assert _asked(package, "--queryformat", form) == [f"vnicaudit {__version__} noarch Apache-2.0"]
