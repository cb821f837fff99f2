"""Formats that programs read stay as they are, byte for byte, for findings, skips, crashes,
suppressions and targets that could not be read."""

import pytest

from tests.reports.golden import golden
from tests.reports.samples import written


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("csv", "audit.csv"), ("json", "audit.json"), ("sarif", "audit.sarif"),
        ("prometheus", "audit.prom"), ("junit", "junit.xml"), ("github", "github.txt"),
        ("gitlab", "gitlab.json"),
    ],
)  # fmt: skip
def test_a_format_for_programs_keeps_its_bytes(name: str, file: str) -> None:
    assert written(name) == golden(file)
