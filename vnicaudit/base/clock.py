"""The time of day, as it is written in files and reports, and what those go by who wait."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Literal, Protocol


def timestamp(unit: Literal["seconds", "milliseconds"] = "milliseconds") -> str:
    """Now, in UTC, by ISO 8601: ``2026-11-22T10:15:30.559Z``."""
    return datetime.now(timezone.utc).isoformat(timespec=unit).replace("+00:00", "Z")


def moment(text: str) -> datetime:
    """The time that a timestamp says, by ISO 8601 with ``Z`` or an offset; without either it is
    naive. Raises ValueError."""
    return datetime.fromisoformat(text.replace("Z", "+00:00"))  # Python 3.10 knows no Z


def seconds_between(begin: str, end: str | None) -> float | None:
    """Seconds from one timestamp to a later one; None where one of them is none, or they are the
    wrong way round."""
    try:
        seconds = (moment(end or "") - moment(begin)).total_seconds()
    except (ValueError, TypeError):  # no time; one with a zone and one without
        return None
    return seconds if seconds >= 0 else None


class Clock(Protocol):
    """Tells the time, in seconds, and lets it pass: :mod:`time` is one."""

    def monotonic(self) -> float:
        """Time that is never set back, from any beginning."""

    def time(self) -> float:
        """Time since 1970 (UTC)."""

    def sleep(self, seconds: float, /) -> None:
        """Wait."""
