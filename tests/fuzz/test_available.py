"""What is said of Pythons without atheris, and that tox installs it for the others."""

from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.fuzz.available import AFTER_LAST, FIRST, main, obstacle

TOX = Path(__file__).parents[2] / "tox.ini"


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_there_is_a_build(version: tuple[int, int]) -> None:
    assert obstacle(version) == ""


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_there_is_none(
    version: tuple[int, int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.version_info", version)
    assert main() == 1
    said = capsys.readouterr().out
    assert said == "not run, because atheris has no build for this Python\n"


def test_tox_installs_it_for_the_same_pythons() -> None:
    tox = ConfigParser(interpolation=None)
    tox.read(TOX, encoding="utf-8")
    first, after_last = (".".join(map(str, version)) for version in (FIRST, AFTER_LAST))
    wanted = f'atheris; python_version >= "{first}" and python_version < "{after_last}"'
    assert tox["fuzz"]["deps"] == wanted
    for environment in ("testenv:tests", "testenv:fuzz"):
        assert "{[fuzz]deps}" in tox[environment]["deps"].split()
