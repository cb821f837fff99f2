"""Profiles for people: two lines each, or one profile with all its workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.bench.profiles.profile import Profile, estimate, sample_seconds
from vnicaudit.model.measurement import Workload
from vnicaudit.reports.bench.labels import DESIGNS, describe
from vnicaudit.reports.safe import Paint, encode_items, safe, width_of, wrap
from vnicaudit.reports.table.model import GAP, Part, columns, padded_cell, row_with_text
from vnicaudit.reports.writers import Options

_LABEL = 11
"""Width of the labels in front of facts."""


def render(profiles: Sequence[Profile], options: Options) -> Iterator[str]:
    """One piece per profile: its name and title, then its size and duration."""
    names = ((Part(profile.name, style="name"),) for profile in profiles)
    rows = columns(names, Paint(color=options.color))
    for profile, row in zip(profiles, rows, strict=True):
        summary = f"{count(len(profile.workloads), 'workload')}; {takes(profile)}"
        indent = " " * width_of(f"{row[0].plain}{GAP}")
        yield row_with_text(row, safe(profile.title), options.width, "", "    ")
        yield wrap(summary, options.width, indent, indent)


def render_one(profile: Profile, options: Options) -> Iterator[str]:
    """One profile in pieces: its purpose, how it is judged, its workloads. ``quiet`` leaves out the
    purpose."""
    name, paint = safe(profile.name), Paint(color=options.color)
    title = wrap(safe(profile.title), options.width, f"{name}  ", "  ")
    yield paint("name", name) + title[len(name) :]
    for paragraph in () if options.quiet else profile.description.split("\n\n"):
        if paragraph:
            yield wrap(safe(" ".join(paragraph.split())), options.width, "  ", "  ")
    for label, text in _facts(profile):
        yield row_with_text(
            [padded_cell(Part(label), _LABEL, paint)], text, options.width, "  ", "    "
        )
    yield from _workloads(profile.workloads, options, paint)


def takes(profile: Profile) -> str:
    """``two arms take 28 min``; with several looks, the minimum and maximum."""
    seconds = [estimate(profile, 2, look) for look in profile.looks]
    span = " to ".join(dict.fromkeys(lasting(value) for value in (seconds[0], seconds[-1])))
    return f"two arms take {span}"


def lasting(seconds: float) -> str:
    """``42 s``, ``28 min``, ``1 h 8 min``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


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


def _workloads(workloads: Sequence[Workload], options: Options, paint: Paint) -> Iterator[str]:
    """One line for each workload; ``verbose`` also describes it in words."""
    cells = [
        (Part(each.id, style="name"), Part(f"{sample_seconds(each):>6.4g} s")) for each in workloads
    ]
    yield "\nWorkloads (*: the verdict rests on it)\n"
    for workload, row in zip(workloads, columns(cells, paint), strict=True):
        first = "* " if workload.primary else "  "
        yield row_with_text(row, ", ".join(workload.decides), options.width, first, "    ")
        if options.verbose:
            yield wrap(safe(describe(workload)), options.width, "    ", "    ")


def _and(words: Iterable[object]) -> str:
    """``1, 2 and 3``."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last


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
    items = encode_items([_entry(profile) for profile in profiles])
    return f'{{"schema":"{PROFILES_SCHEMA}",\n"profiles":[\n{items}]}}\n'


def _entry(profile: Profile) -> ProfileEntry:
    seconds = tuple(round(estimate(profile, 2, look), 1) for look in profile.looks)
    return ProfileEntry(**msgspec.structs.asdict(profile), seconds=seconds)
