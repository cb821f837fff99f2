"""The seeds, and each of them cut short, through the fuzz targets: without atheris, everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import SEEDS
from tests.fuzz.available import obstacle
from tests.fuzz.targets import read_command, read_infra, read_manifest, read_nova, read_xml
from tests.not_run import not_run

TARGETS = {
    "xml": read_xml, "command": read_command, "manifest": read_manifest,
    "infra": read_infra, "nova": read_nova,
}  # fmt: skip
SEED_FILES = [
    pytest.param(kind, path, id=path.name)
    for kind in TARGETS
    for path in sorted((SEEDS / kind).iterdir())
]


@pytest.mark.parametrize(("kind", "path"), SEED_FILES)
def test_seed_cut_at_every_thirteenth_byte(kind: str, path: Path) -> None:
    data = path.read_bytes()
    for size in (*range(0, len(data), 13), len(data)):
        TARGETS[kind](data[:size])


@pytest.mark.parametrize(("kind", "path"), SEED_FILES)
def test_seed_given_to_the_other_reader(kind: str, path: Path) -> None:
    other = read_command if kind == "xml" else read_xml
    other(path.read_bytes())


@pytest.mark.parametrize("kind", TARGETS)
def test_fuzz_target_runs(kind: str) -> None:
    """A few runs only: that the target starts, reads its seeds and finds no bug in them."""
    if find_spec("atheris") is None:
        not_run("fuzz", obstacle(sys.version_info[:2]) or "atheris is not installed")
    done = subprocess.run(
        [sys.executable, "-m", f"tests.fuzz.fuzz_{kind}", "-runs=2000", "-seed=1"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done 2000 runs" in done.stderr
    corpus = re.search(r"INITED cov: (\d+)", done.stderr)
    assert corpus is not None, "the product is not instrumented: nothing guides the fuzzer"
    assert int(corpus[1]) > 100
