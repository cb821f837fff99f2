"""Profiles for people: two lines each, or one of them with all its workloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vnicaudit.bench.profiles.estimate import estimate, one
from vnicaudit.bench.profiles.profile import Profile
from vnicaudit.model.measurement import Workload
from vnicaudit.reports.bench.words.labels import DESIGNS, describe
from vnicaudit.reports.facts_text import beside
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import count
from vnicaudit.reports.wrap import width_of, wrap
from vnicaudit.reports.writer import Options

_LABEL = 13
"""Columns of the words that facts begin with, and a gap."""


def render(profiles: Sequence[Profile], options: Options, paint: Paint) -> Iterator[str]:
    """One piece per profile: its name and title, then how much it is and how long it takes."""
    names = max((width_of(profile.name) for profile in profiles), default=0)
    for profile in profiles:
        name = safe(profile.name)
        left = name + " " * (names - width_of(name) + 2)
        title = beside(left, safe(profile.title), options.width, "    ")
        summary = f"{count(len(profile.workloads), 'workload')}; {takes(profile)}"
        indent = " " * len(left)
        yield title.replace(name, paint("name", name), 1)
        yield wrap(summary, options.width, indent, indent)


def render_one(profile: Profile, options: Options, paint: Paint) -> Iterator[str]:
    """One profile in pieces: what it is for, how it is judged, its workloads. ``quiet`` leaves
    away what it is for."""
    name = safe(profile.name)
    title = wrap(safe(profile.title), options.width, f"{name}  ", "  ")
    yield title.replace(name, paint("name", name), 1)
    for paragraph in () if options.quiet else profile.description.split("\n\n"):
        if paragraph:
            yield wrap(safe(" ".join(paragraph.split())), options.width, "  ", "  ")
    for label, text in _facts(profile):
        yield beside(f"  {label:{_LABEL}}", text, options.width, "    ")
    yield from _workloads(profile.workloads, options, paint)


def takes(profile: Profile) -> str:
    """``two arms take 28 min``; with several looks, the least and the most."""
    seconds = [estimate(profile, 2, look) for look in profile.looks]
    span = " to ".join(dict.fromkeys(lasting(value) for value in (seconds[0], seconds[-1])))
    each = f" for each number of vCPUs ({_and(profile.vcpus)})" if profile.vcpus else ""
    return f"two arms take {span}{each}"


def lasting(seconds: float) -> str:
    """``42 s``, ``28 min``, ``1 h 8 min``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _facts(profile: Profile) -> Iterator[tuple[str, str]]:
    yield "takes", takes(profile)
    yield "judged", _judged(profile)
    if profile.designs:
        yield "design", " or ".join(DESIGNS[design].name for design in profile.designs)
    if profile.guards is not None:
        yield "guard rails", safe(_and(profile.guards)) or "none"
    for metric, share in profile.margins.items():
        yield "margin", f"{metric} {100 * share:g} %"
    steal = f"{profile.max_steal:g} %"
    apart = f"{profile.cooldown:g} s apart"
    yield "runs", f"{apart}; repeated where others took more than {steal} of the CPUs"
    for state, meaning in profile.states.items():
        yield "state", safe(f"{state}: {meaning}")
    for source in profile.sources:
        yield "source", safe(source)


def _judged(profile: Profile) -> str:
    runs = f"after {_and(profile.looks)} runs of each arm"
    if profile.catastrophe_only:
        return f"{runs}, by guard rails and for catastrophes only"
    alphas = _and(f"{alpha:g}" for alpha in profile.alphas)
    return f"{runs}, at an error probability of {alphas}"


def _workloads(workloads: Sequence[Workload], options: Options, paint: Paint) -> Iterator[str]:
    """A line for each; ``verbose`` says it in words, too."""
    ids = max(width_of(workload.id) for workload in workloads)
    yield "\nWorkloads (*: the verdict rests on it)\n"
    for workload in workloads:
        mark, name = "*" if workload.primary else " ", safe(workload.id)
        left = f"{mark} {name}{' ' * (ids - width_of(name))}  {one(workload):>6.4g} s  "
        line = beside(left, ", ".join(workload.decides), options.width, "    ")
        yield line.replace(name, paint("name", name), 1)
        if options.verbose:
            yield wrap(safe(describe(workload)), options.width, "    ", "    ")


def _and(words: Iterable[object]) -> str:
    """``1, 2 and 3``."""
    *first, last = [str(word) for word in words] or [""]
    return f"{', '.join(first)} and {last}" if first else last
