"""Equal steps of a plan, grouped: their text once, their number, and their guests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from msgspec.structs import replace

from vnicaudit.base.wording import count
from vnicaudit.model.last_readings import NO_HISTORY, PlanHistory
from vnicaudit.model.plan import CloudUnit, FileUnit, ServerUnit, Step, StepWords
from vnicaudit.model.refs import NicRef
from vnicaudit.reports.findings.grouped import files_of_a_host
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.plan.by_change import names_shown, steps_by_change
from vnicaudit.reports.plan.history import history_line
from vnicaudit.reports.plan.of_any import of_any, without_heads
from vnicaudit.reports.plan.overview import guest_names
from vnicaudit.reports.plan.step_text import StepText
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import name_and_id
from vnicaudit.reports.wrap import Piece, title_line, wrap
from vnicaudit.reports.writer import Options

PlanGroupBy = Literal["change", "image", "flavor", "project", "host", "rule"]
PLAN_GROUP_BY: tuple[PlanGroupBy, ...] = get_args(PlanGroupBy)

_NOT_TOLD = "not told"


class _EqualSteps:
    """Equal steps, and the ids and names of the first."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.names: list[str] = []


def grouped_steps(
    steps: Iterable[Step], options: Options, history: PlanHistory = NO_HISTORY
) -> Iterator[str]:
    """All steps by change (exceptions first), or by image, flavor, project, host or rules; the
    largest group first."""
    if options.group_by == "change":
        yield from steps_by_change(steps, options, history)
        return
    paint, text = Paint(color=options.color), StepText(options)
    names = names_shown(options)
    found: dict[str, dict[str, _EqualSteps]] = {}
    steps = list(steps)
    for step, name in zip(steps, guest_names(steps), strict=True):
        equal = found.setdefault(_group(step, options.group_by), {})
        one = equal.setdefault(_common(step, text), _EqualSteps())
        one.steps.append(step)
        if len(one.names) < names:
            one.names.append(f"{name} (step {step.id})")
    for group, equal in sorted(found.items(), key=lambda item: (-_total(item[1]), item[0])):
        name = safe(group)
        about = f"{count(_total(equal), 'step')}, {count(len(equal), 'kind')}"
        yield title_line(Piece(name, paint("name", name)), about, options.width)
        for words, one in sorted(equal.items(), key=lambda item: -len(item[1].steps)):
            yield words
            more = len(one.steps) - len(one.names)
            on = ", ".join(one.names) + (f" and {more:,} more" if more else "")
            said = f"{count(len(one.steps), 'step')} like this, on {on}"
            yield wrap(safe(said), options.width, "    ", "      ")
            yield from history_line(one.steps, history, options)
            yield "\n"


def _total(equal: dict[str, _EqualSteps]) -> int:
    return sum(len(one.steps) for one in equal.values())


def _group(step: Step, by: str) -> str:
    unit = step.unit
    if by == "rule":
        return f"rules {', '.join(step.rules)}" if step.rules else "no rule: requested"
    if by == "host" and isinstance(unit, FileUnit):
        return f"host {files_of_a_host(unit.path)}"
    if not isinstance(unit, CloudUnit):
        return f"host {step.target}" if by == "host" else "no server of a cloud"
    if by == "project":
        return f"project {name_and_id(unit.project_name, unit.project) or _NOT_TOLD}"
    if unit.kind == by:  # the step on the image is listed with those on its servers
        return f"{by} {_own_name(step)}"
    if not isinstance(unit, ServerUnit):
        return f"{unit.kind}s"
    found = {
        "host": unit.host,
        "image": name_and_id(unit.image_name, unit.image),
        "flavor": unit.flavor,
    }
    return f"{by} {found.get(by) or _NOT_TOLD}"


def _own_name(step: Step) -> str:
    """Name of the step's object. For an image: name and id, as its servers refer to it. A flavor
    has only a name."""
    if step.unit.kind == "image":
        return name_and_id(step.about.name or "", step.about.id or "") or _NOT_TOLD
    return step.about.name or _NOT_TOLD


def _common(step: Step, text: StepText) -> str:
    """Text of a step without its id and NIC; equal steps have the same text."""
    words = step.general or StepWords(step.blocked, step.procedure, step.notes)
    guest, unit = step.guest, step.unit
    snippets = tuple(replace(one, text=of_any(one.text, step)) for one in guest.snippets)
    if isinstance(unit, ServerUnit):
        unit = replace(unit, macs=())
    elif isinstance(unit, FileUnit):
        unit = replace(unit, place=None, line=None)
    alike = replace(
        step,
        id=unit.kind if isinstance(unit, CloudUnit) else unit.shown_under,
        about=NicRef(),
        diff=of_any(without_heads(step.diff), step),
        digest="",
        unit=unit,
        guest=replace(guest, snippets=snippets) if snippets else guest,
        blocked=words.blocked,
        procedure=words.procedure,
        notes=words.notes,
    )
    return "".join(text.lines(alike))
