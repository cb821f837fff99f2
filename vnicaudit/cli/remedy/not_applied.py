"""The steps of a plan that a run leaves alone: which, why, and how they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vnicaudit.base.wording import count
from vnicaudit.cli.output.stderr import tell

if TYPE_CHECKING:
    from vnicaudit.model.plan import Mode, Plan, Step
    from vnicaudit.model.runs import Foreseen
    from vnicaudit.remedy.applying.kinds import KindTable

_EACH = 20
"""As many steps are told one by one; of more, each reason once."""


def split_steps(
    plan: Plan, kinds: KindTable, mode: Mode, *, unsafe: bool
) -> tuple[list[Step], list[tuple[Step, Foreseen]]]:
    """The steps that are to be done, and the others, each with why not."""
    chosen: list[Step] = []
    others: list[tuple[Step, Foreseen]] = []
    for step in plan.steps:
        why_not = _blocking_reason(step, kinds, mode, unsafe=unsafe)
        if why_not is None:
            chosen.append(step)
        else:
            others.append((step, why_not))
    return chosen, others


def _blocking_reason(step: Step, kinds: KindTable, mode: Mode, *, unsafe: bool) -> Foreseen | None:
    """None: it is to be done."""
    from vnicaudit.model.plan import FileUnit
    from vnicaudit.model.runs import Foreseen

    def is_refused(reason: str, codes: tuple[str, ...]) -> Foreseen:
        known = tuple(dict.fromkeys(filter(None, codes)))  # a plan may be older than codes
        place = step.unit.path if isinstance(step.unit, FileUnit) else step.target
        return Foreseen(kinds.unit_name(step), "refused", reason, known, (step.id,), place)

    if step.refused:
        lost = tuple("loss" for loss in step.losses if not loss.accepted)
        return is_refused("; ".join(step.refused), (*(one.code for one in step.blocked), *lost))
    if not step.safe and not unsafe:
        return is_refused(f"unsafe: {step.reason} (--include-unsafe)", ("unsafe",))
    if not _is_possible(step, kinds, mode):
        option = step.mode(mode)
        return is_refused(f"not possible with --mode {mode}: {option.reason}", (option.code,))
    return None


def _is_possible(step: Step, kinds: KindTable, mode: Mode) -> bool:
    """Text in a file can always be changed: its guest gets it at its next boot."""
    return step.mode(mode).possible or (mode == "next-boot" and kinds.of(step).is_text)


def tell_not_applied(not_done: Sequence[tuple[Step, Foreseen]]) -> None:
    """A line for each step; where there are many, one for each reason, with how many have it."""
    from vnicaudit.model.refs import mac_of
    from vnicaudit.reports.safe import safe

    if len(not_done) > _EACH:
        tell_reasons(not_done)
        return
    for step, why_not in not_done:
        name = f"{why_not.name} {mac_of(step.about) or ''}".rstrip()
        tell(safe(f"Not applied: step {step.id}, {name}: {why_not.message}"))


def tell_reasons(not_done: Sequence[tuple[Step, Foreseen]]) -> None:
    """Each reason once, with how many steps it keeps from being done."""
    from vnicaudit.reports.safe import safe

    reasons = Counter(why_not.message for _step, why_not in not_done)
    for reason, number in reasons.most_common():
        tell(safe(f"Not applied: {count(number, 'step')}: {reason}"))


def nothing_to_apply(
    not_done: Sequence[tuple[Step, Foreseen]], kinds: KindTable, mode: Mode
) -> str:
    """How many steps there are, and what each kind of them needs, where none is to be done."""
    blocked = sum(bool(step.refused) for step, _why_not in not_done)
    allowed = [(step, "unsafe" in why_not.codes) for step, why_not in not_done if not step.refused]
    impossible = [step for step, is_unsafe in allowed if not is_unsafe]
    mode_words = f" not possible with --mode {mode}{_other_mode(impossible, kinds, mode)}"
    parts = [
        (len(allowed) - len(impossible), "unsafe step", " (to include: --include-unsafe)"),
        (blocked, "blocked step", " (make a new plan when the causes are removed)"),
        (len(impossible), "step", mode_words),
    ]
    told = [f"{count(number, word)}{more}" for number, word, more in parts if number]
    return f"Nothing to apply: {', '.join(told) or 'the plan has no steps'}"


def _other_mode(steps: Sequence[Step], kinds: KindTable, mode: Mode) -> str:
    """The mode that all these steps can be applied with; empty where there is none."""
    if mode == "next-boot" or not all(_is_possible(one, kinds, "next-boot") for one in steps):
        return ""
    in_files = all(kinds.of(step).is_text for step in steps)
    return f" (use --mode next-boot{', which writes the files' if in_files else ''})"
