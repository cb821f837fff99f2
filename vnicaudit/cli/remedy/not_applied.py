"""The steps of a plan that a run does not apply, and the reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vnicaudit.base.wording import count
from vnicaudit.cli.output.stderr import tell
from vnicaudit.model.plan import FileUnit
from vnicaudit.model.refs import mac_of
from vnicaudit.model.runs import Foreseen
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.model.plan import Mode, Plan, Step
    from vnicaudit.remedy.applying.kinds import KindTable

_EACH = 20
"""Up to this number, steps are listed one by one; beyond it, each reason once."""


def split_steps(
    plan: Plan, kinds: KindTable, mode: Mode, *, unsafe: bool
) -> tuple[list[Step], list[tuple[Step, Foreseen]]]:
    """The steps to apply, and the other steps, each with the reason."""
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
    """Why a step is not applied; None: it is."""

    def is_refused(reason: str, codes: tuple[str, ...]) -> Foreseen:
        known = tuple(dict.fromkeys(filter(None, codes)))  # one that was edited may have none
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
    """True if the mode can make the change. Text in a file can always be changed: its guest gets it
    at its next boot."""
    return step.mode(mode).possible or (mode == "next-boot" and kinds.of(step).is_text)


def tell_not_applied(not_done: Sequence[tuple[Step, Foreseen]]) -> None:
    """Print a line for each step; if there are many, one for each reason, with the number of
    steps."""
    if len(not_done) > _EACH:
        tell_reasons(not_done)
        return
    for step, why_not in not_done:
        name = f"{why_not.name} {mac_of(step.about) or ''}".rstrip()
        tell(safe(f"Not applied: step {step.id}, {name}: {why_not.message}"))


def tell_reasons(not_done: Sequence[tuple[Step, Foreseen]]) -> None:
    """Print each reason once, with the number of steps."""
    reasons = Counter(why_not.message for _step, why_not in not_done)
    for reason, number in reasons.most_common():
        tell(safe(f"Not applied: {count(number, 'step')}: {reason}"))


def nothing_to_apply(
    not_done: Sequence[tuple[Step, Foreseen]], kinds: KindTable, mode: Mode
) -> str:
    """A message for when no step can be applied: the number of steps, and what each kind of them
    needs."""
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
    """The mode with which all these steps can be applied; empty: there is none."""
    if mode == "next-boot" or not all(_is_possible(one, kinds, "next-boot") for one in steps):
        return ""
    in_files = all(kinds.of(step).is_text for step in steps)
    return f" (use --mode next-boot{', which writes the files' if in_files else ''})"
