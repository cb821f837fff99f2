"""A plan for people: by target and domain, then what was left out, and the totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.base.wording import count, disambiguated, shared_folder
from vnicaudit.model.finding import Ref, name_of
from vnicaudit.model.names import NAMELESS
from vnicaudit.model.plan import (
    CloudUnit,
    ClusterUnit,
    FileUnit,
    NotPlanned,
    Plan,
    ServerUnit,
    SettingUnit,
    Step,
)
from vnicaudit.model.ranking import NO_HISTORY, PlanHistory
from vnicaudit.reports.as_text import Pen
from vnicaudit.reports.model import Part
from vnicaudit.reports.plan.overview import names_of, overview
from vnicaudit.reports.plan.steps import (
    OWNER_DOES,
    StepText,
    grouped_steps,
    guest_key,
    guest_kind,
    review_state,
    state_of,
    unread_lines,
)
from vnicaudit.reports.safe import hidden, safe
from vnicaudit.reports.wording import name_and_id, part_label
from vnicaudit.reports.writers import Options

_SHOWN_ERRORS = 20
_SHOWN_REASONS = 5
_STATES = ("safe", "unsafe", "blocked", OWNER_DOES)


def render(plan: Plan, options: Options, history: PlanHistory = NO_HISTORY) -> Iterator[str]:
    """The plan in pieces that end with a line break. ``verbose`` adds what to prepare in the guest,
    the reasons of safe changes, digests, and each NIC left out; ``quiet`` leaves out notes on the
    targets and the last lines. ``view`` short: a table instead of the steps. ``history``: facts
    about steps that are grouped, and about hosts that could not be read."""
    text = _PlanText(plan, options)
    if options.view == "short":
        yield from overview(plan, options)
    elif options.group_by:
        yield from grouped_steps(plan.steps, options, history)
    else:
        yield from text.steps()
    yield from text.not_planned()
    if not options.quiet:
        yield from text.notes()
    yield from text.errors()
    yield from unread_lines(history, options)
    if not options.quiet:
        yield text.closing()


def summary(plan: Plan) -> str:
    """``12 steps on 9 guests: 8 safe, 2 unsafe, 2 blocked; 3 NICs left out``; for a cloud, ``on 1
    image and 9 servers``. Each step is counted once; steps that its owner must make are counted as
    such."""
    unread = plan.unread_targets
    if unread and unread == len(plan.targets) and not (plan.steps or plan.not_planned):
        targets = count(unread, "target")
        return f"Nothing could be planned: {unread:,} of {targets} could not be read"
    parts = [_steps(plan) if plan.steps else "Nothing to change"]
    if plan.not_planned:
        parts.append(f"{_objects_left(plan.not_planned)} left out")
    if plan.errors:
        parts.append(f"{count(len(plan.errors), 'error')} while reading")
    return "; ".join(parts)


def _steps(plan: Plan) -> str:
    states = Counter(map(review_state, plan.steps))
    counts = ", ".join(f"{states[state]:,} {state}" for state in _STATES if states[state])
    kinds = {
        guest_key(step): step.unit.kind if isinstance(step.unit, CloudUnit) else guest_kind(step)
        for step in plan.steps
    }
    return f"{count(len(plan.steps), 'step')} on {_listed(Counter(kinds.values()))}: {counts}"


def _objects_left(left: Iterable[NotPlanned]) -> str:
    """``3 NICs``, ``1 image and 2 servers``."""
    return _listed(Counter("NIC" if one.about.kind == "nic" else one.about.kind for one in left))


def _listed(numbers: Counter[str]) -> str:
    *most, last = [count(number, word) for word, number in numbers.items()]
    return f"{', '.join(most)} and {last}" if most else last


class _PlanText:
    def __init__(self, plan: Plan, options: Options) -> None:
        self._plan = plan
        self._verbose = options.verbose
        self._pen = Pen(options)
        self._step = StepText(options)

    def steps(self) -> Iterator[str]:
        """Every step, under its domain and target."""
        for target, domains in _grouped(self._plan.steps).items():
            yield self._pen.title(target)
            for steps in domains.values():
                yield self._domain(steps)
                for step in steps:
                    yield from self._step.lines(step)
                yield "\n"

    def not_planned(self) -> Iterator[str]:
        """The number left out for each reason, the most frequent first."""
        if not self._plan.not_planned:
            return
        hint = "" if self._verbose else " (--verbose names each)"
        yield f"{self._pen.paint('name', 'Left out')}{hint}\n"
        by_reason: dict[str, list[NotPlanned]] = {}
        for one in self._plan.not_planned:
            by_reason.setdefault(one.text, []).append(one)
        ordered = sorted(by_reason.items(), key=lambda item: -len(item[1]))
        shown = len(ordered) if self._verbose else _SHOWN_REASONS
        for reason, group in ordered[:shown]:
            yield self._pen.say(f"{_objects_left(group)}: {reason}", 2)
            yield from self._names_not_planned(group)
        if more := [one for _reason, group in ordered[shown:] for one in group]:
            text = f"{_objects_left(more)}: {count(len(ordered) - shown, 'other reason')}"
            yield self._pen.say(text, 2)
        yield "\n"

    def _names_not_planned(self, group: list[NotPlanned]) -> Iterator[str]:
        if self._verbose:
            yield from map(self._one_not_planned, group)
        else:
            names = map(safe, _names_told_apart(group))
            yield f"    {names_of(list(names), self._pen.width - 4)}\n"

    def notes(self) -> Iterator[str]:
        """Notes on the targets."""
        for note in self._plan.notes:
            yield self._pen.say(f"note: {note}")
        if self._plan.notes:
            yield "\n"

    def errors(self) -> Iterator[str]:
        """Errors of files and targets that could not be read; without ``--verbose`` only the first
        ones."""
        errors = self._plan.errors
        if not errors:
            return
        yield self._pen.title("Could not be read", "bad")
        shown = errors if self._verbose else errors[:_SHOWN_ERRORS]
        more = [hidden(len(errors) - len(shown))] if len(shown) < len(errors) else []
        yield from (self._pen.say(error, 2) for error in (*shown, *more))
        yield "\n"

    def closing(self) -> str:
        """The summary, wrapped."""
        held = self._plan.errors or any(state_of(step) == "blocked" for step in self._plan.steps)
        lines = self._pen.say(summary(self._plan)).splitlines()
        return "".join(self._pen.title(line, "bad" if held else "good") for line in lines)

    def _domain(self, steps: list[Step]) -> str:
        words = dict.fromkeys(_about(steps, verbose=self._verbose))
        return self._pen.words(Part(_name(steps[0].about), style="name"), *words, indent=2)

    def _one_not_planned(self, one: NotPlanned) -> str:
        file = _file_as_named(one)
        place = f"{file}:{one.line}" if one.line else file
        rules = ", ".join(one.rules)
        return self._pen.words(_name(one.about), part_label(one.about), rules, place, indent=4)


def _file_as_named(one: NotPlanned) -> str:
    """The file, from where its target begins in it; the target, if it is in no file."""
    if one.file is None:
        return one.target
    _before, found, below = f"{one.file}/".partition(f"/{one.target.rstrip('/')}/")
    return f"{one.target.rstrip('/')}/{below}".rstrip("/") if found else one.file


def _names_told_apart(group: list[NotPlanned]) -> list[str]:
    """The name of each, with its file, target, id or line if names are not unique."""
    shared = shared_folder(one.file for one in group if one.file)
    return disambiguated(
        (_name(one.about), (one.file or "")[shared:], one.target, one.about.id or "",
         f"line {one.line}" if one.line else "")
        for one in group
    )  # fmt: skip


def _grouped(steps: Iterable[Step]) -> dict[str, dict[tuple[str, ...], list[Step]]]:
    """Target -> domain -> its steps, in the order of the plan."""
    found: dict[str, dict[tuple[str, ...], list[Step]]] = {}
    for step in steps:
        found.setdefault(step.target, {}).setdefault(guest_key(step), []).append(step)
    return found


def _name(about: Ref) -> str:
    return about.name or about.id or NAMELESS


def _about(steps: list[Step], *, verbose: bool) -> Iterator[str]:
    """Parts of the header line after the domain's name, from all its steps."""
    for step in steps:
        yield name_of(step.owner)
        unit = step.unit
        if isinstance(unit, SettingUnit | ClusterUnit) and unit.kind != "kube-vm":
            yield guest_kind(step)
            continue
        if isinstance(unit, CloudUnit):
            yield from _in_cloud(step, unit)
        elif not isinstance(unit, FileUnit):
            yield "running" if step.running else "shut off"
        elif unit.line is not None and unit.definition != "/domain":
            yield f"{unit.path}:{unit.line}"
        elif unit.path != step.target:
            yield unit.path
        if unit.kind != "flavor":
            yield f"readiness: {step.readiness}"
        if verbose and step.about.id and not isinstance(unit, CloudUnit):
            yield step.about.id


def _in_cloud(step: Step, unit: CloudUnit) -> Iterator[str]:
    """Kind of a cloud object, its state, project, host and id."""
    yield unit.kind
    if unit.kind == "server":
        yield "running" if step.running else "off"
    if unit.project:
        yield f"project {name_and_id(unit.project_name, unit.project)}"
    if isinstance(unit, ServerUnit) and unit.host:
        yield f"on {unit.host}"
    if step.about.id:
        yield step.about.id
