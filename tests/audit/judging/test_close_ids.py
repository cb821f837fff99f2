"""Which rule id a word suggests: never another number, never one of several."""

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import closest_id, shipped_catalogue


@rows
def test_the_id_that_was_probably_meant(word: str, close: str) -> None:
    assert closest_id(word, shipped_catalogue().ids) == close


def test_of_two_that_are_as_close_none_is_suggested() -> None:
    assert closest_id("NIC001", ["ANIC001", "VNIC001"]) == ""
