"""A large plan for review: steps with the same change are shown once, exceptions first.

Steps are equal if everything that decides about them is equal: state, changes, reasons, modes,
losses, and the lines of the definition that change. The position and name of a NIC and the
surrounding lines differ from guest to guest, and are shown for the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vnicaudit.base.wording import count
from vnicaudit.model.last_readings import PlanHistory
from vnicaudit.model.plan import FileUnit, Step, StepWords
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.plan.history import history_line
from vnicaudit.reports.plan.of_any import of_any, without_heads
from vnicaudit.reports.plan.overview import guest_key, guest_names
from vnicaudit.reports.plan.step_text import StepText, state_of
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import Piece, title_line, wrap
from vnicaudit.reports.writer import Options

_NAMES = 3
_MANY_NAMES = 20
_OWNER = "for the owner to do"
_ORDER = ("blocked", "unsafe", _OWNER, "safe")
"""Order of states for review: exceptions first."""


def steps_by_change(steps: Iterable[Step], options: Options, history: PlanHistory) -> Iterator[str]:
    """Each change once: its first step as an example, the number of steps, and their guests. Sorted
    by state, exceptions first; within a state the rarest change first, because it is the least
    expected."""
    paint, text = Paint(color=options.color), StepText(options)
    for state, groups in _by_state(steps):
        number = sum(map(len, groups))
        about = f"{count(number, 'step')}, {count(len(groups), 'kind')}"
        yield title_line(Piece(state, paint("name", state)), about, options.width)
        for group in groups:
            yield from text.lines(group[0])
            yield wrap(safe(_extent(group, options)), options.width, "    ", "      ")
            yield from history_line(group, history, options)
            yield "\n"


def _by_state(steps: Iterable[Step]) -> Iterator[tuple[str, list[list[Step]]]]:
    found: dict[str, dict[tuple[object, ...], list[Step]]] = {state: {} for state in _ORDER}
    for step in steps:
        state = _OWNER if step.procedure else state_of(step)
        found[state].setdefault(_change_of(step), []).append(step)
    for state, groups in found.items():
        if groups:
            yield state, sorted(groups.values(), key=len)


def names_shown(options: Options) -> int:
    """Number of steps named for a change."""
    return _MANY_NAMES if options.verbose else _NAMES


def _extent(group: Sequence[Step], options: Options) -> str:
    """``8,120 steps like this, on 6,000 guests of 212 hosts: web-1 (step 3), … and 8,117 more``."""
    names = names_shown(options)
    first = group[:names]
    shown = ", ".join(
        f"{name} (step {step.id})" for step, name in zip(first, guest_names(first), strict=True)
    )
    more = f" and {len(group) - names:,} more" if len(group) > names else ""
    if len(group) == 1:
        return f"1 step like this, on {shown} at {group[0].target}"
    guests = len({guest_key(step) for step in group})
    places = count(len({step.target for step in group}), "target")
    where = f"{count(guests, 'guest')} of {places}"
    return f"{count(len(group), 'step')} like this, on {where}: {shown}{more}"


def _change_of(step: Step) -> tuple[object, ...]:
    """Everything that decides about a step, without what is specific to its guest."""
    words = step.general or StepWords(step.blocked, step.procedure, step.notes)
    unit, guest = step.unit, step.guest
    return (
        unit.shown_under,
        unit.kind if not isinstance(unit, FileUnit) else "file",
        step.owner,
        step.to,
        step.rules,
        step.changes,
        step.safe,
        step.reason,
        step.risk,
        step.readiness,
        step.modes,
        step.losses,
        words.blocked,
        words.procedure,
        tuple(of_any(note, step) for note in (*words.notes, *guest.notes)),
        guest.name.changes,
        guest.drivers,
        _changed_lines(step),
    )


def _changed_lines(step: Step) -> str:
    lines = without_heads(step.diff).splitlines()
    return of_any("\n".join(line for line in lines if line[:1] in ("+", "-")), step)
