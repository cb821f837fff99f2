"""A timestamp is read back as the time at which it was written."""

from datetime import datetime, timezone

import pytest

from vnicaudit.base.deadlines import moment, timestamp


def test_what_was_written_is_read_back() -> None:
    before = datetime.now(timezone.utc)
    written = moment(timestamp())
    assert abs((written - before).total_seconds()) < 60


@pytest.mark.parametrize("text", ["2026-11-22T10:15:30.559Z", "2026-11-22T12:15:30.559+02:00"])
def test_utc_and_offsets_are_the_same_time(text: str) -> None:
    assert moment(text) == datetime(2026, 11, 22, 10, 15, 30, 559000, timezone.utc)


def test_no_offset_is_no_known_time() -> None:
    assert moment("2026-11-22T10:15:30").tzinfo is None


def test_anything_else_is_refused() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        moment("yesterday")
