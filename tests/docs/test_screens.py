"""Pictures of what commands print show what they print."""

import re
from pathlib import Path

import pytest

from docs import generate_screens
from docs.generate_screens import FOLDER, SCREENS


def test_pictures_show_what_commands_print(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate_screens.main(["--check"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_needs_nothing_from_elsewhere_and_is_of_a_command(path: Path) -> None:
    text = path.read_text("utf-8")
    assert path.stem in {screen.name for screen in SCREENS}
    assert not re.search(r"url\((?!#)|href|@import|<script", text)
    assert "/tmp/" not in text
