"""A plan at a glance: one row for each NIC, or for each change if there are many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.base.wording import count
from vnicaudit.model.finding import name_of
from vnicaudit.model.plan import ClusterUnit, FileUnit, Naming, Plan, ServerUnit, SettingUnit, Step
from vnicaudit.reports.as_text import Grid, Pen
from vnicaudit.reports.grouped import and_more
from vnicaudit.reports.model import Part
from vnicaudit.reports.plan.steps import (
    STYLES,
    change_text,
    field_and_change,
    guest_key,
    guest_kind,
    guest_names,
    of_any,
    state_of,
)
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Options

_EACH = 20
"""Up to this number, each step has a row; beyond it, equal changes share one."""
_ROWS = 16
_REASONS = 3
_MOST_SETTINGS = 3
"""Settings of one change that are named."""
_BY_HAND = "by hand"
_ORDER = ("blocked", "unsafe", _BY_HAND, "safe")
"""Exceptions first."""
_MODELS = ("model", "hw_vif_model")
_SAYS_NOTHING = frozenset({"unknown", "-"})
"""A column with only these values is left out."""
_SAYINGS = (*_ORDER[:-1], "loses", "name", "snippet", "note")
"""Kinds of sentences below the table, in this order."""
_TITLES = ("NIC", "CHANGE", "RISK", "INTERFACE NAME", "TAKES EFFECT")
"""Of the columns behind the first, whose title is the kind of what is in it."""


class _Row(NamedTuple):
    """The cells of one or more steps."""

    guest: str
    nic: str
    change: str
    risk: str
    name: str
    effect: str


def overview(plan: Plan, options: Options) -> Iterator[str]:
    """The table, followed by reasons why steps are unsafe, blocked, or left to somebody else."""
    if not plan.steps:
        return
    pen, targets = Pen(options), plan.targets
    where = targets[0] if len(targets) == 1 else count(len(targets), "target")
    yield pen.say(f"Plan for {where}: {_planned(plan)}") + "\n"
    if len(plan.steps) <= _EACH:
        names = guest_names(plan.steps)
        rows = [(_row(step, name), "") for step, name in zip(plan.steps, names, strict=True)]
        yield from _table(rows, _title(plan.steps), pen)
    else:
        yield from _by_change(plan.steps, pen)
    yield "\n"
    yield from _reasons(plan.steps, pen)


def _planned(plan: Plan) -> str:
    """``166 changes in 148 guests, 36 to virtio``."""
    changes = sum(max(len(step.changes), 1) for step in plan.steps)
    kinds = Counter({guest_key(step): guest_kind(step) for step in plan.steps}.values())
    units = ", ".join(count(number, kind) for kind, number in kinds.items())
    new = sum(
        step.to != "virtio" or any(one.field in _MODELS for one in step.changes)
        for step in plan.steps
    )
    return f"{count(changes, 'change')} in {units}" + (f", {new:,} to {plan.to}" if new else "")


def names_of(names: Sequence[str], width: int) -> str:
    """As many names as fit into that many columns, but at least one, and the number of others."""
    unique = list(dict.fromkeys(names))
    shown = min(len(unique), width // 3 + 1)
    while shown > 1 and len(and_more(unique, shown, len(unique))) > width:
        shown -= 1
    return and_more(unique, shown, len(unique))


def _by_change(steps: Sequence[Step], pen: Pen) -> Iterator[str]:
    """Equal changes in one row, with some of the names below; changes beyond the limit are
    counted."""
    kinds: dict[tuple[str, ...], list[tuple[Step, str]]] = {}
    for step, name in zip(steps, guest_names(steps), strict=True):
        row = _row(step, name)
        key = (guest_kind(step), row.change, row.risk, _naming_class(step.guest.name), row.effect)
        kinds.setdefault(key, []).append((step, name))
    ordered = sorted(kinds.items(), key=lambda item: (_ORDER.index(item[0][2]), -len(item[1])))
    rows = []
    for (kind, change, risk, naming, effect), group in ordered[:_ROWS]:
        guests = {guest_key(step) for step, _name in group}
        nics = f"{len(group):,}" if kind == "guest" else "-"
        row = _Row(count(len(guests), kind), nics, change, risk, naming, effect)
        rows.append((row, names_of([name for _step, name in group], pen.width - 4)))
    yield from _table(rows, _title(steps), pen)
    if hidden := [group for _key, group in ordered[_ROWS:]]:
        number = count(sum(map(len, hidden)), "more step")
        yield pen.say(f"… {number} of {count(len(hidden), 'more kind')} (--diff)", 2)


def _title(steps: Sequence[Step]) -> str:
    """The title of the first column: ``GUEST``, ``LINK``."""
    kinds = {guest_kind(step) for step in steps}
    return "OBJECT" if len(kinds) > 1 else kinds.pop().upper()


def _table(rows: list[tuple[_Row, str]], first: str, pen: Pen) -> Iterator[str]:
    """Rows in columns; if these are too wide, each row is wrapped by itself."""
    titles = (first, *_TITLES)
    said = [at for at in range(len(titles)) if {row[at] for row, _names in rows} - _SAYS_NOTHING]
    grid = Grid(pen, indent=2, left=len(titles))
    grid.add(Part(titles[at], style="quiet") for at in said)
    for row, names in rows:
        parts = _parts(row)
        grid.add(parts[at] for at in said)
        grid.text(f"    {safe(names)}\n" if names else "")
    if grid.fits:
        yield from grid.lines()
        return
    for row, names in rows:
        cells = (part for part in _parts(row) if part.text not in _SAYS_NOTHING)
        yield pen.words(*cells, indent=2)
        yield pen.say(names, 4) if names else ""


def _parts(row: _Row) -> list[Part]:
    risk = Part(row.risk, style=STYLES.get(row.risk, "quiet"))
    return [Part(row.guest, style="name"), Part(row.nic), Part(row.change), risk, Part(row.name),
            Part(row.effect)]  # fmt: skip


def _row(step: Step, name: str) -> _Row:
    changes = [
        change_text(one) if one.field == "model" else field_and_change(one, _MOST_SETTINGS)
        for one in step.changes
    ]
    what = ", ".join(changes) or f"to {step.to}"
    naming = _naming(step.guest.name)
    return _Row(name, _nic(step), what, _risk(step), naming, _effect(step))


def _nic(step: Step) -> str:
    index = step.about.index
    if index is not None:
        return str(index)
    if isinstance(step.unit, ServerUnit) and step.unit.macs:
        return step.unit.macs[0] if len(step.unit.macs) == 1 else f"{len(step.unit.macs)} NICs"
    return step.about.mac or "-"


def _risk(step: Step) -> str:
    return _BY_HAND if step.procedure else state_of(step)


def _naming(naming: Naming) -> str:
    if naming.changes is None:
        return "unknown"
    if naming.changes:
        return f"{naming.before} → {naming.after}"
    return "stays" if naming.before is None else f"{naming.before} stays"


def _naming_class(naming: Naming) -> str:
    return {None: "unknown", True: "changes", False: "stays"}[naming.changes]


def _effect(step: Step) -> str:
    """When the guest gets the new NIC."""
    if step.procedure and isinstance(step.unit, SettingUnit):
        return "by its owner"
    if step.procedure:
        return f"by {name_of(step.owner)}" if guest_kind(step) == "guest" else "for new servers"
    if state_of(step) == "blocked":
        return "-"
    if isinstance(step.unit, FileUnit):
        return "after virsh define"
    if isinstance(step.unit, SettingUnit):
        # imported here: definitions have no settings of hosts
        from vnicaudit.knowledge.host_settings import effect_of

        return effect_of(step.unit.values)
    if not step.running:
        return "next start"
    if isinstance(step.unit, ClusterUnit):
        return "restart of the VM"
    swap = any(option.mode == "hotswap" and option.possible for option in step.modes)
    return "power cycle or hot swap" if swap else "power cycle"


def _reasons(steps: Sequence[Step], pen: Pen) -> Iterator[str]:
    """Reasons why steps are unsafe or blocked, work by hand, and notes: the most frequent sentences
    of each kind, and the number of steps with others."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in _SAYINGS}
    for step in steps:
        for kind, sentence in _sentences(step):
            found[kind][sentence] += 1
    for kind, sentences in found.items():
        if kind == "name" and sentences:
            yield pen.say(f"interface name: {_names_in_short(steps, sentences)}")
            continue
        ordered = sentences.most_common()
        for sentence, number in ordered[:_REASONS]:
            yield pen.say(f"{kind}, {count(number, 'step')}: {sentence}")
        if more := sum(number for _sentence, number in ordered[_REASONS:]):
            yield f"{kind}, {count(more, 'step')}: others (--diff)\n"
    if any(found.values()):
        yield "\n"


def _names_in_short(steps: Sequence[Step], unknown: Counter[str]) -> str:
    """``stays for 131, unknown for 32: …``, with the most frequent reason why it is unknown."""
    classes = Counter(_naming_class(step.guest.name) for step in steps)
    classes["unknown"] = unknown.total()  # a step that is not about a guest has no name
    parts = [f"{word} for {classes[word]:,}" for word in ("stays", "changes", "unknown")
             if classes[word]]  # fmt: skip
    if any(step.guest.snippets for step in steps):
        parts = [f"{part} (snippet)" if part.startswith("changes") else part for part in parts]
    ordered = unknown.most_common()
    others = "; other reasons: --diff" if len(ordered) > 1 else ""
    return f"{', '.join(parts)}: {ordered[0][0]}{others}"


def _sentences(step: Step) -> Iterator[tuple[str, str]]:
    """Sentences about a step for below the table, each with its kind."""
    risk = _risk(step)
    if risk == _BY_HAND and isinstance(step.unit, SettingUnit):
        yield from ((risk, f"{one.text}; --diff shows how") for one in step.blocked)
    elif risk == _BY_HAND:
        yield risk, f"{name_of(step.owner)} owns the definition; --diff shows what to do there"
    elif risk == "unsafe":
        yield risk, step.reason
    elif risk == "blocked":
        yield from ((risk, of_any(one.text, step)) for one in step.blocked)
    for loss in step.losses:
        if loss.accepted:
            yield "loses", loss.function
        else:
            yield "blocked", f"loses {loss.function} (--accept-loss {loss.function})"
    naming = step.guest.name
    if naming.changes is None and naming.reason:
        yield "name", naming.reason
    if step.guest.snippets:
        yield "snippet", "keeps the interface's name; put it into the guest first (--verbose)"
    for note in step.notes:
        yield "note", of_any(note, step)
