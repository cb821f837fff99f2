"""Counts of findings over time: text and CSV."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.history import Trend, TrendPoint
from vnicaudit.reports.history.lines import table
from vnicaudit.reports.table.csv import lines
from vnicaudit.reports.wrap import wrap
from vnicaudit.reports.writer import Options

_COLUMNS = (
    "time", "audit", "group", "open", "stale", "accepted", "new", "reopened", "fixed", "gone",
)  # fmt: skip
_BARS = "▁▂▃▄▅▆▇█"
_MOST = 28
"""Maximum audits in a picture."""


def trend_csv(one: Trend) -> str:
    """One line for each group and audit; the third column is named after the grouping."""
    heads = [one.by if name == "group" else name for name in _COLUMNS]
    rows = ([getattr(point, name) for name in _COLUMNS] for point in one.points)
    return lines([heads]) + lines(rows)


def trend_text(one: Trend, options: Options) -> Iterator[str]:
    """One line for each group: number of findings, how many of them the last audit did not check,
    the difference from the first audit, how many came and went, and a picture."""
    if not one.audits:
        yield "No audits\n"
        return
    groups: dict[str, dict[str, TrendPoint]] = {}
    for point in one.points:
        groups.setdefault(point.group, {})[point.audit] = point
    ids = [each.id for each in one.audits]
    rows = [_row(name, points, ids) for name, points in sorted(groups.items())]
    heads = (one.by, "findings", "stale", "change", "new", "reopened", "fixed", "gone", "trend")
    yield from table(heads, rows, options, numbers=range(1, 8))
    if not options.quiet:
        first, last = one.audits[0], one.audits[-1]
        text = f"{count(len(ids), 'audit')}, {first.started} to {last.started}; the last read "
        text += f"{last.ok + last.partial:,} of {count(last.hosts, 'host')}; "
        text += "each trend is drawn from 0 to its highest number"
        if first.hosts != last.hosts:
            text += f"; the inventory of the first had {count(first.hosts, 'host')}"
        yield "\n" + wrap(text, options.width, "", "  ")


def _row(name: str, points: dict[str, TrendPoint], ids: list[str]) -> tuple[str | int, ...]:
    known = [_known(points.get(each)) for each in ids]
    last = points.get(ids[-1])
    sums = (
        sum(getattr(one, flow) for one in points.values())
        for flow in ("new", "reopened", "fixed", "gone")
    )
    stale = 0 if last is None else last.stale
    change = f"{known[-1] - known[0]:+,}"
    return (name or "-", known[-1], stale, change, *sums, _picture(known))


def _known(point: TrendPoint | None) -> int:
    """All known open findings, including stale ones."""
    return 0 if point is None else point.open + point.stale


def _picture(values: list[int]) -> str:
    """A block for each value; if there are too many values, for evenly spaced ones."""
    if len(values) > _MOST:
        values = [values[round(n * (len(values) - 1) / (_MOST - 1))] for n in range(_MOST)]
    most = max(values) or 1
    return "".join(_BARS[round(one * (len(_BARS) - 1) / most)] for one in values)
