"""The words of messages for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from vnicaudit.base.wording import count
from vnicaudit.model.finding import SEVERITIES, NewFinding
from vnicaudit.reports.safe import message, safe

SHOWN = 20
"""Findings listed in a message for people; the rest are only counted."""
_NAME = 100
_TEXT = 300


def worst_first(findings: Iterable[NewFinding]) -> list[NewFinding]:
    """The findings by severity, then by rule, host and subject."""
    return sorted(
        findings,
        key=lambda one: (
            -SEVERITIES.index(one.severity), one.rule, one.host, one.subject,
        ),
    )  # fmt: skip


def title(findings: Sequence[NewFinding]) -> str:
    """``3 new findings and 1 that came back, worst: high``."""
    back = sum(one.state == "reopened" for one in findings)
    fresh = len(findings) - back
    words = [count(fresh, "new finding")] if fresh else []
    words += [f"{back:,} that came back" if fresh else f"{count(back, 'finding')} came back"] * (
        back > 0
    )
    return f"vnicaudit: {' and '.join(words)}, worst: {findings[0].severity}"


def line(one: NewFinding) -> str:
    """One finding: ``high VNIC001 kvm7: web-01, 52:54:00:…: rtl8139 is emulated…``."""
    where = shortened(one.host, _NAME)
    subject = shortened(", ".join(filter(None, (one.subject, one.mac))), _NAME)
    text = shortened(message(one.message), _TEXT)
    place = f"{where}: {subject}" if where else subject
    return f"{one.severity} {one.rule} {place}: {text}"


def lines(findings: Sequence[NewFinding]) -> Iterator[str]:
    """A line for each listed finding, and the number of the others."""
    yield from map(line, islice(findings, SHOWN))
    if len(findings) > SHOWN:
        yield f"… and {len(findings) - SHOWN:,} more: see the report"


def shortened(text: str, most: int) -> str:
    """A text of bounded length, without terminal or chat commands."""
    shown = safe(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"
