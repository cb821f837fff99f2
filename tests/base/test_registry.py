"""Plug-ins are found by being there, and a wrong one is named."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Protocol

import pytest

from tests.rows import rows
from vnicaudit.base.registry import Registry, missing
from vnicaudit.errors import UsageError


class Greeting(Protocol):
    """What a plug-in of these tests is."""

    WORD: str

    @property
    def LOUD(self) -> bool: ...

    def greet(self, name: str) -> str: ...


WHOLE = "WORD = 'hello'\nLOUD = False\ndef greet(name):\n    return f'{WORD} {name}'\n"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A package with two plug-ins, of which one lacks something, and a part of one."""
    name = "plugins_of_a_test"
    folder = tmp_path / name
    folder.mkdir()
    for file, text in {
        "__init__.py": "",
        "kind.py": WHOLE,
        "curt.py": "WORD = ''\n",
        "_part.py": "",
        "notes.md": "",
    }.items():
        (folder / file).write_text(text, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield __import__(name)
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


@pytest.fixture
def greetings(package: ModuleType) -> Registry[Greeting]:
    return Registry("greeting", package, Greeting)


def test_names_are_those_of_the_files_and_nothing_is_imported(
    greetings: Registry[Greeting], package: ModuleType
) -> None:
    assert greetings.names() == ("curt", "kind")
    assert not [each for each in sys.modules if each.startswith(f"{package.__name__}.")]


def test_a_plug_in_is_loaded_by_its_name(greetings: Registry[Greeting]) -> None:
    assert greetings.load("kind").greet("you") == "hello you"


@rows
def test_what_is_not_there_is_a_usage_error(
    greetings: Registry[Greeting], name: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        greetings.load(name)
    assert str(caught.value) == message


def test_a_plug_in_that_lacks_something_is_named(
    greetings: Registry[Greeting], tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        greetings.load("curt")
    place = tmp_path / "plugins_of_a_test" / "curt.py"
    assert str(caught.value) == f"greeting 'curt' ({place}) lacks LOUD, greet"


def test_all_that_is_missing_of_an_object_is_told() -> None:
    assert missing(object(), Greeting) == ["LOUD", "WORD", "greet"]
