"""The wheel and the source distribution: what is in them, and that a wheel installs and works where
there is neither the source tree nor a compiler."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.not_run import not_run
from tests.packaging.conftest import Release
from tests.pipelines.once import made_once
from vnicaudit.bench.generator import PARTS

ROOT = Path(__file__).parents[2]
MEGABYTES = 60
"""What an environment may grow by."""
TOO_GENERAL = {"cli", "tests", "test", "docs", "examples", "scripts", "utils", "benchmarks"}
"""Packages of these names would be in the way of the user's own."""
READ = """
from importlib.resources import files
import vnicaudit
folder = files("vnicaudit") / "templates" / "demo"
print(vnicaudit.__file__)
print((folder / "nova.conf").read_text()[:200])
print((folder / "host.xml").read_text()[:200])
from vnicaudit.bench.endpoints.opening import open_endpoint
from vnicaudit.cli.wiring.adapters import connect
from vnicaudit.bench.profiles.load import load_profile
print(load_profile("smoke").name)
here = open_endpoint("local", connect=connect)
print(here.run(["echo", "the supervisor works"]).stdout)
here.close()
from vnicaudit.bench.generator import source
print(source().count(b"#line 1"))
"""


@pytest.fixture(scope="module")
def installed(released: Release, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The folder of an environment with the wheel and what it needs, and nothing else: made by the
    first worker that needs it."""

    def make(place: Path) -> None:
        folder = place / "environment"
        venv.create(folder, with_pip=False)
        done = subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install",
             "--quiet", "--disable-pip-version-check", str(released.file("*.whl"))],
            env=_environment_without_compiler(folder),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-2000:]

    return made_once(tmp_path_factory, worker_id, "installed", make) / "environment"


def _environment_without_compiler(folder: Path) -> dict[str, str]:
    """What is on PYTHONPATH would count as installed; tox has pip compile nothing, but this install
    is made as a user makes it."""
    without = ("PYTHONPATH", "PIP_NO_COMPILE")
    kept = {name: text for name, text in os.environ.items() if name not in without}
    return {**kept, "PATH": str(folder / "bin"), "CC": "no-compiler"}


def test_every_file_of_the_tree_is_in_it_as_it_is(released: Release) -> None:
    """It is built of the source distribution, as whoever builds from source does."""
    with zipfile.ZipFile(released.file("*.whl")) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    (data,) = {name.split("/")[0] for name in found if ".data/" in name}
    folders = {
        "vnicaudit": ROOT / "vnicaudit",
        "vnicaudit/templates": ROOT / "templates",
        f"{data}/data/share": ROOT / "docs/share",
    }
    wanted = {
        f"{place}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for place, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    metadata = f"{data.removesuffix('.data')}.dist-info/"
    assert len(wanted) > 400
    assert {name: one for name, one in found.items() if not name.startswith(metadata)} == wanted


def test_its_licence_is_named_and_in_it(released: Release) -> None:
    with zipfile.ZipFile(released.file("*.whl")) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        text = archive.read(metadata).decode()
        folder = metadata.removesuffix("METADATA") + "licenses/"
        for name in ("LICENSE", "NOTICE"):
            assert archive.read(folder + name) == (ROOT / name).read_bytes()
            assert f"\nLicense-File: {name}\n" in text
    assert "\nLicense-Expression: Apache-2.0\n" in text


def test_the_source_distribution_has_no_tests_without_their_data(released: Release) -> None:
    with tarfile.open(released.file("*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "setup.cfg"} <= names
    assert not [name for name in names if name.startswith("tests")]


def test_it_installs_without_a_compiler(installed: Path) -> None:
    """Every package that it needs has a wheel, in pure Python or for this machine."""
    files = [path for path in installed.rglob("*") if path.is_file()]
    assert any(path.suffix == ".pyc" and "click" in path.parts for path in files)
    size = sum(path.lstat().st_size for path in files) / 1e6
    print(f"{size:.1f} MB")
    assert size < MEGABYTES


def test_it_brings_no_package_of_a_general_name(installed: Path) -> None:
    (site,) = installed.glob("lib/python*/site-packages")
    names = {path.name.split(".")[0] for path in site.iterdir()}
    assert {"vnicaudit", "lxml"} <= names
    assert names & TOO_GENERAL == set()
    commands = {
        entry.name
        for distribution in importlib.metadata.distributions(path=[str(site)])
        for entry in distribution.entry_points
        if entry.group == "console_scripts"
    }
    assert "vnicaudit" in commands
    assert commands & {"hq", "test", "demo"} == set()


def test_it_reads_its_templates_where_the_tree_is_not(installed: Path, tmp_path: Path) -> None:
    result = subprocess.run(
        [str(installed / "bin" / "python"), "-c", READ],
        env={"PATH": os.environ["PATH"]}, cwd=tmp_path,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(installed) in result.stdout.splitlines()[0]
    assert "[libvirt]" in result.stdout or "[DEFAULT]" in result.stdout
    assert "<node" in result.stdout
    assert f"smoke\nthe supervisor works\n\n{len(PARTS)}\n" in result.stdout


def test_its_command_audits_files(installed: Path, tmp_path: Path) -> None:
    nova = tmp_path / "nova.conf"
    nova.write_bytes((ROOT / "templates/demo/nova.conf").read_bytes())
    done = subprocess.run(
        [str(installed / "bin" / "vnicaudit"), "audit", str(nova)],
        env={}, cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert "nova.conf" in done.stdout


@pytest.mark.parametrize("page", ["vnicaudit", "vnicaudit-audit", "vnicaudit-fleet-top"])
def test_man_finds_its_pages_by_the_path_of_the_command(installed: Path, page: str) -> None:
    if shutil.which("man") is None:
        not_run("packaging", "man is not installed")
    path = f"{installed / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["man", "-w", page],
        env={"PATH": path, "HOME": str(installed)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(installed / f"share/man/man1/{page}.1")
