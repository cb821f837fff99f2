"""Which rule id a word suggests: never another number, never one of several."""

from __future__ import annotations

import pytest

from vnicaudit.audit.judging.catalogue import shipped_catalogue
from vnicaudit.audit.judging.close_ids import closest_id


@pytest.mark.parametrize(
    ("word", "close"),
    [
        ("VNIC00l", "VNIC001"),
        ("vnicOOI", "VNIC001"),
        ("VNIC-001", "VNIC001"),
        ("VN1C001", "VNIC001"),
        ("NIC001", "VNIC001"),
        ("VNIC0001", "VNIC001"),
        ("vnic1", "VNIC001"),
        ("VNIC01", ""),
        ("VNIC00X", ""),
        ("VNIC099", ""),
        ("VNIC-099", ""),
        ("VNIC0g9", ""),
        ("NIC099", ""),
        ("", ""),
    ],
)
def test_the_id_that_was_probably_meant(word: str, close: str) -> None:
    assert closest_id(word, shipped_catalogue().ids) == close


def test_of_two_that_are_as_close_none_is_suggested() -> None:
    assert closest_id("NIC001", ["ANIC001", "VNIC001"]) == ""
