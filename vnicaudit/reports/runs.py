"""Past runs and their results, for people (one line each, or one run domain by domain) and as
``vnicaudit.runs/1``; dry runs as ``vnicaudit.dry-run/1``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Literal, get_args

import msgspec

from vnicaudit.base.wording import count
from vnicaudit.model.plan import Mode
from vnicaudit.model.runs import Check, Outcome, Preview, RunRecord, UnitRun, UnitState
from vnicaudit.reports.as_text import GAP, Pen
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import encode_items, fold, padded, safe, width_of, wrap
from vnicaudit.reports.writers import Options

_OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_WORDS_IN_ORDER = ("applied", "undone", *_OUTCOMES[1:])
_STYLES = {
    "applied": "good", "already": "good", "done": "good", "ok": "good",
    "refused": "medium", "rolled-back": "medium", "unknown": "medium",
    "failed": "bad", "unfinished": "bad",
    "gone": "quiet", "not-reached": "quiet", "undone": "quiet",
}  # fmt: skip
_WORDS = {
    "file": "guest", "domain": "guest", "kube-vm": "guest", "kube-preference": "preference",
    "kube-nad": "network", "kube-config": "KubeVirt object",
}  # fmt: skip
"""The word with which a kind of unit is counted: a file contains a domain, unless it is named by
its path."""
_NAMED = ("image", "flavor", "kube-preference", "kube-nad", "kube-config")
"""Kinds that must be named, because the name alone does not show the kind."""
OUTCOME = 11
"""Width of the longest outcome."""
_VERDICT = 7
"""Width of the longest verdict of a check."""
_DIGITS = 12
"""Digits of a digest in the list; the page of a run shows all of it."""


def render(runs: Sequence[RunRecord], options: Options) -> Iterator[str]:
    """One piece per run, in the given order: id, outcome, kind, start time, outcomes of the
    domains, plan."""
    for run, pieces in zip(runs, Pen(options).columns(map(_cells, runs)), strict=True):
        text = f"{counts(run.steps, run.kind)}{_waiting(run)}; {_origin(run)}"
        yield _beside_or_below(pieces, safe(text), options.width)
    if not runs and not options.quiet:
        yield "No runs\n"


def render_one(run: RunRecord, options: Options) -> Iterator[str]:
    """One run in pieces: its own facts, then each domain with its checks, then the totals.
    ``quiet`` leaves out the totals."""
    pen = Pen(options)
    yield from _facts(run, pen)
    for target, units in _by_target(run.steps).items():
        yield "\n" + pen.title(target)
        shared = alike(units)
        for unit in units:
            words = unit_words(unit, verbose=options.verbose, shared=shared)
            yield from _unit(unit, words, run.kind, pen, all_checks=True)
    if not options.quiet:
        yield "\n" + pen.say(counts(run.steps, run.kind))


def word_of(unit: UnitRun, kind: str) -> str:
    """Outcome of a unit, in a word; *undone* if a rollback applied it, or a later run undid it."""
    undone = unit.outcome == "applied" and (kind == "rollback" or unit.undone_by is not None)
    return "undone" if undone else unit.outcome


def outcome_of(run: RunRecord) -> str:
    """Outcome of a run; *undone* if later runs undid all of it."""
    changed = [unit for unit in run.steps if unit.outcome == "applied"]
    undone = bool(changed) and all(unit.undone_by is not None for unit in changed)
    return "undone" if undone and run.outcome == "done" else run.outcome


def alike(units: Iterable[UnitRun]) -> frozenset[tuple[str, str]]:
    """Target and name of units that share both and need their ids to be distinguished."""
    names = Counter((unit.target, unit.name) for unit in units)
    return frozenset(name for name, number in names.items() if number > 1)


def unit_words(
    unit: UnitRun, *, verbose: bool, shared: Collection[tuple[str, str]] = ()
) -> list[str]:
    """Name of a unit, its NICs, and its downtime; ``verbose``: also its UUID and steps. ``shared``:
    names used by several units, which are shown with their UUID."""
    word = _WORDS.get(unit.kind, unit.kind)
    name = f"{word} {unit.name}" if unit.kind in _NAMED else unit.name
    words = [name, ", ".join(filter(None, unit.macs))]
    if unit.downtime is not None:
        words.append(f"down for {unit.downtime:.1f} s")
    if verbose or (unit.target, unit.name) in shared:
        words.append(unit.uuid or "")
    if verbose:
        words.append(", ".join(unit.steps))
    return words


def counts(units: Iterable[UnitRun], kind: str = "apply") -> str:
    """``9 guests: 8 applied, 1 refused``; ``2 servers, 1 image: 3 applied``."""
    units = tuple(units)
    found = Counter(word_of(unit, kind) for unit in units)
    parts = ", ".join(f"{found[name]:,} {name}" for name in _WORDS_IN_ORDER if found[name])
    return f"{_total(units)}: {parts}" if parts else _total(units)


def _total(units: Iterable[UnitRun]) -> str:
    words = (
        safe(unit.kind) if unit.name == unit.target else _WORDS.get(unit.kind, safe(unit.kind))
        for unit in units
    )
    kinds = Counter(words) or {"guest": 0}
    return ", ".join(count(number, kind) for kind, number in sorted(kinds.items(), reverse=True))


def check_text(check: Check, pen: Pen) -> str:
    """One check after a change: its verdict, name and details."""
    about = f"{check.name}: {check.detail}" if check.detail else check.name
    verdict = padded(pen.paint(style_of(check.verdict), check.verdict), _VERDICT)
    return wrap(f"{verdict}  {safe(about)}", pen.width, "    ", " " * (_VERDICT + 6))


def local_time(moment: str, *, zone: bool = False) -> str:
    """A time in local time; unchanged if it is not a time stamp. ``zone``: add the name of the time
    zone."""
    try:
        then = datetime.fromisoformat(moment.replace("Z", "+00:00")).astimezone()
    except (ValueError, OverflowError, OSError):
        return moment
    return then.strftime("%Y-%m-%d %H:%M:%S %Z" if zone else "%Y-%m-%d %H:%M:%S")


def _waiting(run: RunRecord) -> str:
    """``, 2 waiting for a power cycle``, at the end of the run."""
    waiting = [unit for unit in run.steps if unit.waiting and unit.undone_by is None]
    return f", {len(waiting):,} waiting for {awaited(waiting)}" if waiting else ""


def awaited(waiting: Iterable[UnitRun]) -> str:
    """The event for which guests wait: KubeVirt restarts its virtual machines itself."""
    return (
        "a restart of the VM" if {"kube-vm"} == {unit.kind for unit in waiting} else "a power cycle"
    )


def _cells(run: RunRecord) -> tuple[Part, ...]:
    outcome = outcome_of(run)
    what = f"{run.kind} {run.mode}"
    started = Part(local_time(run.started))
    return Part(run.id), Part(outcome, style=style_of(outcome)), Part(what), started


def _beside_or_below(pieces: list[str], text: str, width: int) -> str:
    """A table row and its remaining text, on one line if there is room."""
    if sum(width_of(piece) + 2 for piece in pieces) + width_of(text) <= width:
        pieces, text = [*pieces, text], ""
    head = fold(pieces, width, "", "  ", "  ")
    return head + (wrap(text, width, "  ", "    ") if text else "")


def style_of(word: str) -> str:
    """Colour style of the word for an outcome or verdict."""
    return _STYLES.get(word, "")


def _origin(run: RunRecord) -> str:
    """The plan, with a shortened digest, or the run that was undone."""
    if run.kind == "rollback":
        return f"undoes {run.plan}"
    kind, colon, digits = run.plan.rpartition(":")
    return f"plan {kind}{colon}{digits[:_DIGITS]}"


def _facts(run: RunRecord, pen: Pen) -> Iterator[str]:
    word = outcome_of(run)
    outcome = Part(word, style=style_of(word))
    yield pen.words(Part(run.id, style="name"), outcome, f"{run.kind} {run.mode}")
    facts = (
        ("started", local_time(run.started, zone=True)),
        ("finished", local_time(run.finished, zone=True) if run.finished else "not finished"),
        ("undoes" if run.kind == "rollback" else "plan", run.plan),
        ("targets", ", ".join(run.targets)),
    )
    for label, value in facts:
        yield wrap(safe(value), pen.width, f"  {label:8}  ", " " * 12)


def _by_target(units: Iterable[UnitRun]) -> dict[str, list[UnitRun]]:
    found: dict[str, list[UnitRun]] = {}
    for unit in units:
        found.setdefault(unit.target, []).append(unit)
    return found


def _unit(
    unit: UnitRun, words: Iterable[str], kind: str, pen: Pen,
    *, all_checks: bool, common: Collection[str] = (),
) -> Iterator[str]:  # fmt: skip
    """A unit with its outcome, its message unless it is a ``common`` one, and its checks."""
    outcome = word_of(unit, kind)
    pieces = [padded(pen.paint(style_of(outcome), outcome), OUTCOME)]
    yield fold([*pieces, *map(safe, filter(None, words))], pen.width, "  ", "    ", GAP)
    if unit.undone_by is not None:
        yield pen.say(f"undone by run {unit.undone_by}", 4, 0)
    if unit.message not in ("", *common) and (unit.undone_by is None or unit.outcome != "applied"):
        yield _message(unit.message, pen, 4)
    for check in unit.checks:
        if all_checks or check.verdict != "ok":
            yield check_text(check, pen)


def _message(text: str, pen: Pen, indent: int) -> str:
    """The message of a unit; a command in it stays on one line, to be copied."""
    line = f"{' ' * indent}{safe(text)}\n"
    return line if "vnicaudit " in text else pen.say(text, indent, 0)


# The result of a finished run, for people: one line for each guest. What several guests have in
# common is printed once.


def render_outcome(run: RunRecord, options: Options) -> Iterator[str]:
    """Each guest with its outcome and errors, then the totals. ``verbose`` adds every check,
    otherwise only those that failed; ``quiet`` leaves out the totals."""
    pen = Pen(options)
    messages = Counter(unit.message for unit in run.steps if unit.message)
    common = [message for message, number in messages.items() if number > 1]
    shared = alike(run.steps)
    for unit in run.steps:
        words = unit_words(unit, verbose=options.verbose, shared=shared)
        if unit.target != unit.name and (len(run.targets) > 1 or unit.kind == "file"):
            words.append(unit.target)
        checks = options.verbose
        yield from _unit(unit, words, run.kind, pen, all_checks=checks, common=common)
    for message in common:
        having = _total(unit for unit in run.steps if unit.message == message)
        yield _message(f"{having}: {message}", pen, 2)
    if not options.quiet:
        yield f"\nRun {safe(run.id)}: {counts(run.steps, run.kind)}\n"


# ``vnicaudit.dry-run/1``: predicted outcome of a run, unit by unit.


DRY_RUN_SCHEMA: Literal["vnicaudit.dry-run/1"] = "vnicaudit.dry-run/1"
RunKind = Literal["apply", "rollback"]


class DryRunReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.dry-run/1``: what would happen to each domain (or file, or server, image or
    flavor of a cloud). ``not_applied``: steps of the plan that would not be tried, and why."""

    schema: Literal["vnicaudit.dry-run/1"] = DRY_RUN_SCHEMA
    kind: RunKind
    mode: Mode
    units: tuple[Preview, ...]
    not_applied: tuple[Preview, ...] = ()


def dry_run_json(
    kind: RunKind, mode: Mode, units: Sequence[Preview], not_applied: Sequence[Preview] = ()
) -> bytes:
    """The document: one unit per line, in the order of the run."""
    return (
        f'{{"schema":"{DRY_RUN_SCHEMA}",\n"kind":"{kind}",\n"mode":"{mode}",\n'
        f'"units":[{_lines(units)}],\n"not_applied":[{_lines(not_applied)}]}}\n'
    ).encode()


def _lines(records: Sequence[Preview] | Sequence[RunRecord]) -> str:
    return f"\n{encode_items(records)}" if records else ""


# ``vnicaudit.runs/1``: one run per line, newest first.


RUNS_SCHEMA: Literal["vnicaudit.runs/1"] = "vnicaudit.runs/1"


class RunsReport(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.runs/1``: changes applied and undone, newest first."""

    schema: Literal["vnicaudit.runs/1"] = RUNS_SCHEMA
    runs: tuple[RunRecord, ...]


def runs_json(runs: Sequence[RunRecord]) -> bytes:
    """The document, in the given order."""
    return f'{{"schema":"{RUNS_SCHEMA}",\n"runs":[{_lines(runs)}]}}\n'.encode()


# A run that was verified later: in effect, waiting, or not as planned.


_STATE = 10
"""Width of the longest state."""
_STATE_STYLES = {
    "in-effect": "good", "waiting": "medium", "unknown": "medium", "differs": "bad",
    "gone": "quiet", "moved": "medium", "taken-back": "quiet",
}  # fmt: skip


def render_states(units: Sequence[UnitState], options: Options) -> Iterator[str]:
    """One line for each unit, the reason, its checks, and the totals (unless quiet)."""
    pen = Pen(options)
    for unit in units:
        state = padded(pen.paint(_STATE_STYLES[unit.state], unit.state), _STATE)
        yield f"  {state}  {safe(unit.name)}\n"
        if unit.detail:
            yield pen.say(unit.detail, 4, 0)
        yield from (check_text(check, pen) for check in unit.checks)
    if not options.quiet:
        numbers = Counter(unit.state for unit in units)
        parts = ", ".join(f"{number:,} {state}" for state, number in numbers.items())
        yield f"\n{count(len(units), 'unit')}: {parts}\n"
