"""The seeds, and each of them cut short, through the fuzz targets: without atheris, everywhere."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz import SEEDS
from tests.fuzz.available import obstacle
from tests.fuzz.targets import TARGETS
from tests.not_run import not_run

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
    TARGETS["command" if kind == "xml" else "xml"](path.read_bytes())


def test_fuzz_targets_run() -> None:
    """A few runs only: that each starts, reads its seeds and finds no bug in them."""
    if find_spec("atheris") is None:
        not_run("fuzz", obstacle(sys.version_info[:2]) or "atheris is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz", "-runs=500", "-seed=1"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert re.findall(r"^fuzz: (\w+)$", done.stderr, re.MULTILINE) == list(TARGETS)
    assert done.stderr.count("Done 500 runs") == len(TARGETS)
    corpora = re.findall(r"INITED cov: (\d+)", done.stderr)
    assert len(corpora) == len(TARGETS), "not instrumented: nothing guides the fuzzer"
    assert min(map(int, corpora)) > 100
