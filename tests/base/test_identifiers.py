"""Identifiers and moments as they are written."""

from datetime import datetime, timezone

from tests.rows import rows
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import MAC, TIME_ID, UUID, mac_hint, time_id


@rows
def test_a_misspelt_mac_address(word: str, near: str) -> None:
    known = ["52:54:00:00:00:11", "52:54:00:00:00:12", "52:54:00:00:00:ab"]
    assert mac_hint(word, known) == (f"; did you mean {near!r}?" if near else "")


def test_ids_of_moments_sort_as_the_moments_do() -> None:
    moments = [
        datetime(2026, 11, 22, 10, 15, 30, microsecond, tzinfo=timezone.utc)
        for microsecond in (0, 16, 500_000, 999_999)
    ]
    ids = [time_id(moment) for moment in moments]
    assert ids == [f"20261122-101530-{part}" for part in ("0000", "0001", "8000", "ffff")]
    assert all(TIME_ID.fullmatch(each) for each in ids)


def test_a_timestamp_is_utc_and_says_so() -> None:
    for text in (timestamp(), timestamp("seconds")):
        assert text.endswith("Z")
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
        assert abs((datetime.now(timezone.utc) - moment).total_seconds()) < 60


def test_addresses_and_uuids_are_told_from_what_looks_like_them() -> None:
    assert MAC.fullmatch("52:54:00:12:34:56")
    for text in ("52:54:00:12:34", "52:54:00:12:34:5", "52-54-00-12-34-56", "52:54:00:12:34:٣٤"):
        assert MAC.fullmatch(text) is None
    assert UUID.fullmatch("0C0C98DB-0b55-4dc5-b0a4-b0ce5a3f6fb2")
    assert UUID.fullmatch("0c0c98db0b554dc5b0a4b0ce5a3f6fb2") is None
