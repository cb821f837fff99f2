"""Runs that do not count, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vnicaudit.model.measurement import BenchResult
from vnicaudit.reports.wording import count


def discarded(result: BenchResult) -> Iterator[str]:
    """``2 runs of before: steal 3.1 % of the run``, the most frequent first."""
    found = Counter(
        (sample.arm, sample.reason or "no reason is given")
        for sample in result.samples
        if not sample.valid
    )
    for (arm, reason), number in sorted(found.items(), key=lambda item: -item[1]):
        yield f"{count(number, 'run')} of {arm}: {reason}"


def discarded_total(result: BenchResult) -> str:
    """``3 of 43 runs do not count``; empty where all do."""
    invalid = sum(not sample.valid for sample in result.samples)
    if not invalid:
        return ""
    does = "does" if invalid == 1 else "do"
    return f"{invalid:,} of {count(len(result.samples), 'run')} {does} not count"
