"""Profiles (two lines each, or one with all its workloads), and the throughput of a link."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.bench.line_rate import LineRate
from vnicaudit.bench.metrics import scale_of
from vnicaudit.bench.profiles.profile import Profile, estimate, sample_seconds
from vnicaudit.model.measurement import Workload
from vnicaudit.reports.as_text import GAP, Pen
from vnicaudit.reports.bench.labels import DESIGNS, describe, duration
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import encode_items, safe, width_of, wrap
from vnicaudit.reports.writers import Options

_LABEL = 11
"""Width of the labels in front of facts."""


def render(profiles: Sequence[Profile], options: Options) -> Iterator[str]:
    """One piece per profile: its name and title, then its size and duration."""
    pen = Pen(options)
    rows = pen.columns((Part(profile.name, style="name"),) for profile in profiles)
    for profile, row in zip(profiles, rows, strict=True):
        yield pen.beside(row, safe(profile.title))
        summary = f"{count(len(profile.workloads), 'workload')}; {takes(profile)}"
        yield pen.say(summary, width_of(f"{row[0]}{GAP}"), 0)


def render_one(profile: Profile, options: Options) -> Iterator[str]:
    """One profile in pieces: its purpose, how it is judged, its workloads. ``quiet`` leaves out the
    purpose."""
    pen = Pen(options)
    name = pen.paint("name", safe(profile.name))
    yield wrap(safe(profile.title), pen.width, f"{name}{GAP}", "  ")
    for paragraph in () if options.quiet else profile.description.split("\n\n"):
        if paragraph:
            yield pen.say(" ".join(paragraph.split()), 2, 0)
    for label, text in _facts(profile):
        yield pen.beside([f"{label:{_LABEL}}"], text, "  ")
    yield from _workloads(profile.workloads, options)


def takes(profile: Profile) -> str:
    """``before and after together: 28 min``; with several looks, the minimum and maximum."""
    seconds = [estimate(profile, 2, look) for look in profile.looks]
    span = " to ".join(dict.fromkeys(map(_lasting, (seconds[0], seconds[-1]))))
    return f"before and after together: {span}"


def _lasting(seconds: float) -> str:
    """``42 s``, ``28 min``, ``1 h 8 min``: without seconds if it takes long."""
    return duration(seconds if seconds < 120 else 60 * round(seconds / 60))


def _facts(profile: Profile) -> Iterator[tuple[str, str]]:
    yield "takes", takes(profile)
    yield "judged", _judging_words(profile)
    if profile.designs:
        yield "design", " or ".join(DESIGNS[design].name for design in profile.designs)
    if profile.guards is not None:
        yield "guard rails", safe(_and(profile.guards)) or "none"
    for metric, share in profile.margins.items():
        yield "margin", f"{metric} {100 * share:g} %"
    steal = f"{profile.max_steal:g} %"
    apart = f"{profile.cooldown:g} s apart"
    yield "runs", f"{apart}; repeated if others used more than {steal} of the CPUs"
    for state, meaning in profile.states.items():
        yield "state", safe(f"{state}: {meaning}")
    for source in profile.sources:
        yield "source", safe(source)


def _judging_words(profile: Profile) -> str:
    runs = f"after {_and(profile.looks)} runs of each arm"
    if profile.catastrophe_only:
        return f"{runs}, by guard rails and for catastrophes only"
    alphas = _and(f"{alpha:g}" for alpha in profile.alphas)
    return f"{runs}, at an error probability of {alphas}"


def _workloads(workloads: Sequence[Workload], options: Options) -> Iterator[str]:
    """One line for each workload; ``verbose`` also describes it in words."""
    pen = Pen(options)
    rows = pen.columns(
        (Part(each.id, style="name"), f"{sample_seconds(each):>6.4g} s") for each in workloads
    )
    yield "\nWorkloads (*: the verdict rests on it)\n"
    for workload, row in zip(workloads, rows, strict=True):
        yield pen.beside(row, ", ".join(workload.decides), "* " if workload.primary else "  ")
        if options.verbose:
            yield pen.say(describe(workload), 4, 0)


def _and(words: Iterable[object]) -> str:
    """``1, 2 and 3``."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


# The throughput of a link.


_WIDTHS = (22, 13, 0)
"""Minimum widths of columns, the same in both tables."""


def line_rate_text(line: LineRate, options: Options) -> Iterator[str]:
    """The link, goodput, packet rates, and what share of it a measured goodput is."""
    pen = Pen(options)
    how = line.framing
    inside = "" if how.encapsulation == "none" else f" in {how.encapsulation}"
    link = f"{_rate(line.speed)}, MTU {how.mtu}, IPv{how.ip}{inside}"
    yield pen.title(link)
    beside = f"{line.overhead} B of overhead on the line per packet"
    yield f"  {beside}, {line.tcp_payload} B of data per TCP packet\n\n"
    goodputs = (
        (name, _rate(rate), f"{100 * rate / line.speed:.2f} %")
        for name, rate in (("TCP", line.tcp), ("UDP", line.udp))
    )
    yield from _table([("goodput", "at most", "of the line"), *goodputs], pen)
    yield "\n"
    packets = ((f"{one.frame} B", _rate(one.rate, "packet_rate")) for one in line.packet_rates)
    yield from _table([("frames", "at most"), *packets], pen)
    if line.goodput is not None:
        of_tcp, of_udp = 100 * line.goodput / line.tcp, 100 * line.goodput / line.udp
        beyond = ": more than one such line can carry" if of_udp > 100 else ""
        yield (
            f"\n{_rate(line.goodput)} is {of_tcp:.2f} % of what TCP can carry here, "
            f"{of_udp:.2f} % of what UDP can{beyond}\n"
        )


def _table(rows: Sequence[tuple[str, ...]], pen: Pen) -> Iterator[str]:
    for cells in pen.columns(rows, least=_WIDTHS[: len(rows[0])], numbers={1}):
        yield f"  {GAP.join(cells).rstrip()}\n"


def _rate(rate: float, metric: str = "goodput") -> str:
    factor, unit = scale_of(rate, metric)
    return f"{rate / factor:.5g}{unit}"


# ``vnicaudit.profiles/1``: one profile per line.


PROFILES_SCHEMA: Literal["vnicaudit.profiles/1"] = "vnicaudit.profiles/1"


class ProfileEntry(Profile, frozen=True, kw_only=True):
    """A profile with its estimated duration."""

    seconds: tuple[float, ...]
    """Estimated seconds for two arms, up to each of the looks."""


class ProfilesReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.profiles/1``: the available profiles."""

    schema: Literal["vnicaudit.profiles/1"] = PROFILES_SCHEMA
    profiles: tuple[ProfileEntry, ...]


def to_json(profiles: Sequence[Profile]) -> str:
    """The document, in the given order."""
    entries = [
        ProfileEntry(
            **msgspec.structs.asdict(profile),
            seconds=tuple(round(estimate(profile, 2, look), 1) for look in profile.looks),
        )
        for profile in profiles
    ]
    items = encode_items(entries)
    return f'{{"schema":"{PROFILES_SCHEMA}",\n"profiles":[\n{items}]}}\n'
