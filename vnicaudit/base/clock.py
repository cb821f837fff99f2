"""The time of day as written in files and reports."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Literal


def timestamp(unit: Literal["seconds", "milliseconds"] = "milliseconds") -> str:
    """Now, in UTC, by ISO 8601: ``2026-11-22T10:15:30.559Z``."""
    return datetime.now(timezone.utc).isoformat(timespec=unit).replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The time of an ISO 8601 timestamp with ``Z`` or an offset; naive if it has neither. Raises
    ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 does not accept Z


def seconds_between(begin: str, end: str | None) -> float | None:
    """Seconds from one timestamp to a later one; None if either is missing or invalid, or if they
    are in the wrong order."""
    try:
        seconds = (moment(end or "") - moment(begin)).total_seconds()
    except (ValueError, TypeError):  # not a timestamp, or only one of the two has a time zone
        return None
    return seconds if seconds >= 0 else None
