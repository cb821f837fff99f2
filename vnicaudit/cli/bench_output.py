"""Write a measurement in the formats that were asked for, and say how it ended."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from vnicaudit.cli.bench_options import color_of, report_places, width_of
from vnicaudit.cli.outputs import STDOUT, Output
from vnicaudit.cli.telling import tell
from vnicaudit.errors import EndpointError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from vnicaudit.bench.history import Kept
    from vnicaudit.model.measurement import BenchResult, Sample

_WITH_TOOLS = "json"
"""Has what the tools said: too much to be kept in memory."""

_DRAWN = ("html",)
"""Have charts in them."""

_REGRESSED = 1


def check_places(given: dict[str, Any]) -> None:
    """Raises UsageError, MissingExtraError for what could not be written: it is said before an hour
    of measuring and not after it."""
    places = report_places(given)
    drawn = given["charts"] or any(name in _DRAWN for name, _place in places)
    if drawn and importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("drawing charts", "charts")
    for _name, place in places:
        if place != STDOUT and (os.path.isfile(place) or not os.path.exists(place)):
            with Output(place) as output:
                output.abandon()


def write_kept(result: BenchResult, kept: Kept, given: dict[str, Any]) -> None:
    """The same, and where it is kept; also where it cannot be written."""
    try:
        write_reports(result, kept.samples, given)
    finally:
        if not given["quiet"]:
            tell(f"Kept: {kept.shown_by}")


def write_reports(
    result: BenchResult, samples: Callable[[], Iterable[Sample]], given: dict[str, Any]
) -> None:
    """Every format to its place. ``samples``: with all that the tools said, one at a time."""
    for name, place in report_places(given):
        _write(_rendered(name, place, result, samples, given), place)
    if given["charts"] and not any(one.valid for one in result.samples):
        tell("There is nothing to draw: no run counts")
    elif given["charts"]:
        from vnicaudit.reports.bench.charts.draw import draw

        for path in draw(result, given["charts"]):
            if not given["quiet"]:
                tell(f"Wrote {path}")


def code_of(result: BenchResult, fail_on: str) -> int:
    """The exit code of a measurement: 1 for a regression, unless that is not to fail; 4 where
    nothing could be concluded because too few runs counted. That one path carries less than another
    is no regression: nothing was changed."""
    if _invalid(result):
        return EndpointError.exit_code
    worse = result.run.design != "paths" and _regressed(result)
    return _REGRESSED if worse and fail_on == "regressed" else 0


def _regressed(result: BenchResult) -> bool:
    """As the decision says; of several arms, which have none, as their comparisons do, where it
    is no chance among so many of them."""
    if result.decision is not None:
        return result.decision.verdict == "regressed"
    return any(
        one.primary and one.verdict == "regressed" and one.effect is not None
        and one.effect.p_holm <= max(result.run.alphas)
        for one in result.results
    )  # fmt: skip


def _invalid(result: BenchResult) -> bool:
    if result.decision is not None:
        return result.decision.verdict == "invalid"
    counted = {(one.workload, one.arm) for one in result.samples if one.valid}
    wanted = {(one.id, arm) for one in result.workloads for arm in result.arms if one.primary}
    return not wanted <= counted


def _rendered(
    name: str,
    place: str,
    result: BenchResult,
    samples: Callable[[], Iterable[Sample]],
    given: dict[str, Any],
) -> Iterator[str]:
    from vnicaudit.reports.bench import load
    from vnicaudit.reports.writer import Options

    if name == _WITH_TOOLS:
        from vnicaudit.reports.bench.json import stream

        return stream(replace(result, samples=()), samples())
    options = Options(
        width_of(place), color_of(given, place), verbose=given["verbose"], quiet=given["quiet"]
    )
    return load(name).render(result, options)


def _write(pieces: Iterator[str], place: str) -> None:
    with Output(place) as output:
        output.finish(pieces)
