"""Engines of the tests' own, in the place of the real ones."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import vnicaudit.bench.engines
from vnicaudit.bench.profiles.load import load_profile
from vnicaudit.bench.profiles.profile import Profile

ENGINES = Path(__file__).parent / "engines"

Load = Callable[[str], Profile]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The registry reads the tests' folder."""
    monkeypatch.setattr(vnicaudit.bench.engines, "__path__", [str(ENGINES)])
    yield
    for path in ENGINES.glob("*.py"):
        sys.modules.pop(f"vnicaudit.bench.engines.{path.stem}", None)


@pytest.fixture
def load(engines: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Saves a profile as ``p.toml`` in the current folder and loads it."""
    del engines  # only to be there
    monkeypatch.chdir(tmp_path)

    def loaded(text: str) -> Profile:
        Path("p.toml").write_text(text, "utf-8")
        return load_profile("p.toml")

    return loaded
