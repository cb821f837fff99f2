"""Formats that pipelines read stay as they are, byte for byte."""

from pathlib import Path

import pytest

from tests.reports.samples import written

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(
    ("name", "file"), [("junit", "junit.xml"), ("github", "github.txt"), ("gitlab", "gitlab.json")]
)
def test_it_stays(name: str, file: str) -> None:
    assert written(name).encode() == (DATA / file).read_bytes()
