"""The wheel has the templates in it and works where the source tree is not."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.pipelines.project import copy_of_this
from vnicaudit.bench.generator.native_source import PARTS

ROOT = Path(__file__).parents[2]
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
from vnicaudit.bench.generator.native_source import native_source
print(native_source().count(b"#line 1"))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # setuptools builds in the tree, where another process may do so as well
    folder, source = (tmp_path_factory.mktemp(name) for name in ("wheel", "source"))
    copy_of_this(source)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--wheel-dir", str(folder), str(source)],
        check=True,
    )  # fmt: skip
    (found,) = folder.glob("*.whl")
    return found


def test_everything_that_is_shipped_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    folders = {"vnicaudit": ROOT / "vnicaudit", "vnicaudit/templates": ROOT / "templates"}
    wanted = {
        f"{place}/{path.relative_to(folder).as_posix()}"
        for place, folder in folders.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 900
    assert wanted - names == set()
    assert not [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/"))]


def test_it_installs_elsewhere_and_reads_a_template(wheel: Path, tmp_path: Path) -> None:
    """Dependencies come from this environment's packages: what is tried is our wheel."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=False)
    target = place / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--no-deps", "--target", str(target), str(wheel)],
        check=True,
    )  # fmt: skip
    result = subprocess.run(
        [sys.executable, "-P", "-c", READ] if sys.version_info >= (3, 11)
        else [sys.executable, "-c", READ],
        env={"PYTHONPATH": str(target), "PATH": os.environ["PATH"]},
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert str(target) in result.stdout.splitlines()[0]
    assert "[libvirt]" in result.stdout or "[DEFAULT]" in result.stdout
    assert "<node" in result.stdout
    assert f"smoke\nthe supervisor works\n\n{len(PARTS)}\n" in result.stdout
