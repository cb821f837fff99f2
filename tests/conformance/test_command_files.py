"""Of random files with QEMU commands, a folder passes none over in silence."""

from collections.abc import Callable

import pytest

from tests.conformance.command_files import run
from tests.drawing import drawn_seed


def test_no_file_is_passed_over_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(20261129, 100) == 0, capsys.readouterr().out


@pytest.mark.long
def test_no_fresh_file_is_passed_over_in_silence(
    record_property: Callable[[str, object], None], capsys: pytest.CaptureFixture[str]
) -> None:
    seed = drawn_seed()
    record_property("drawn", f"seed {seed}")
    assert run(seed, 320) == 0, capsys.readouterr().out
