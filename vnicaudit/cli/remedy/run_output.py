"""Output of apply and rollback: ask, show progress, and print the result."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from vnicaudit.base.wording import count, disambiguated, word
from vnicaudit.cli.options.output import screen_options
from vnicaudit.cli.options.remedy import RemedyOptions
from vnicaudit.cli.output.files import discard, emit, flush
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import ReaderGoneError, RefusedError, UsageError, VnicauditError
from vnicaudit.model.plan import FileUnit
from vnicaudit.model.runs import WELL, Preview
from vnicaudit.remedy.replacing import ALL
from vnicaudit.reports.runs import awaited, dry_run_json, render_outcome, runs_json
from vnicaudit.reports.safe import safe
from vnicaudit.text.targets import command

if TYPE_CHECKING:
    from vnicaudit.cli.options.output import Format
    from vnicaudit.model.plan import BlockedCode, Mode, ModeCode, NotAppliedCode, Plan, Step
    from vnicaudit.model.runs import RunRecord, UnitRun
    from vnicaudit.remedy.applying.driver import KindTable
    from vnicaudit.remedy.applying.runner import RunResult
    from vnicaudit.reports.runs import RunKind

ROLLED_BACK = 6
"""Exit code: a change made something worse and was rolled back."""
_NAMED = 20
"""Guests that are listed by name."""


_WOULD_BE = {"apply": "would be applied", "rollback": "would be undone"}


def print_dry_run(
    kind: RunKind, mode: Mode, units: Sequence[Preview], options: RemedyOptions,
    others: Sequence[Preview] = (),
) -> int:  # fmt: skip
    """Print what would be done to each domain, or why not; returns the exit code. ``others``: steps
    that were left out, and have been reported in words."""
    if options.format == "json":
        emit(dry_run_json(kind, mode, units, others).decode())
    else:
        names = disambiguated((one.name, one.place) for one in units)
        for one, name in zip(units, names, strict=True):
            told = [_WOULD_BE[kind]] if one.outcome == "would-change" else []
            emit(f"{safe(name)}: {safe('; '.join(filter(None, [*told, one.message])))}\n")
        if not options.output.quiet:
            flush()
            tell("Nothing was changed.")
    return 0 if all(one.outcome in WELL for one in units) else RefusedError.exit_code


def show_change(name: str, diff: str) -> None:
    """Print how the text of a domain or file would change."""
    emit(f"{safe(name)}:\n")
    for line in diff.splitlines():
        emit(f"  {safe(line)}\n")


def tell_damage(damage: Iterable[str]) -> None:
    """Print what is damaged in a run's folder."""
    with suppress(UsageError):  # a folder that cannot be read is reported by whoever needs it
        for text in damage:
            tell(safe(f"Warning: {text}; the rest of the run's journal is used"))


def print_result(pieces: Callable[[], Iterable[str]]) -> None:
    """Print the results of completed work. If that fails, the exit code still reflects the work."""
    if sys.stdout is None:
        return
    try:
        for text in pieces():
            emit(text)
        flush()
    except ReaderGoneError:
        discard()
    except VnicauditError as error:
        discard()
        tell(f"Error: {error}")


def print_run(
    done: RunResult,
    options: RemedyOptions,
    kinds: KindTable,
    *,
    refused: bool = False,
    form: Format = "text",
) -> int:
    """Print the result of a run; returns the exit code."""
    print_runs([done], options, form)
    return end_of_run(done, options, kinds, refused=refused)


def print_runs(done: Sequence[RunResult], options: RemedyOptions, form: Format) -> None:
    """Print the results of runs, as text or as one JSON document."""

    def pieces() -> Iterator[str]:
        runs = [one.run for one in done]
        if form == "json":
            yield runs_json(runs).decode()
        for run in runs if form == "text" else ():
            yield from render_outcome(run, screen_options(options.output))

    print_result(pieces)


def end_of_run(
    done: RunResult, options: RemedyOptions, kinds: KindTable, *, refused: bool = False
) -> int:
    """Print what can be done next; returns the exit code of the run."""
    if not options.output.quiet:
        _tell_next(done.run, options)
    if done.stopped:
        left = sum(unit.outcome == "not-reached" for unit in done.run.steps)
        tell(safe(f"Stopped: {done.stopped}" + (f"; {left:,} not touched" if left else "")))
    if done.run.outcome == "unfinished" and not done.is_lost:
        undo = _follow_up(f"rollback {done.run.id}", done.run, options)
        back = f", or undo it with {undo}"
        tell(
            f"Run {done.run.id} is unfinished: repeat the command to resume it"
            + ("" if done.rolled_back else back)
        )
    if done.rolled_back:
        return code_of_undone(done.run)
    return code_of(done.run, kinds, refused=refused)


def _tell_next(run: RunRecord, options: RemedyOptions) -> None:
    """Print which guests wait for it to take effect, and how to undo the run."""
    named = disambiguated((unit.name, unit.target, unit.uuid or "") for unit in run.steps)
    waiting = [name for unit, name in zip(run.steps, named, strict=True) if unit.waiting]
    if waiting:
        what = awaited(unit for unit in run.steps if unit.waiting)
        more = f" and {len(waiting) - _NAMED:,} more" if len(waiting) > _NAMED else ""
        names = f"{', '.join(waiting[:_NAMED])}{more}"
        tell(safe(f"Waiting for {what}: {names}"))
        tell(f"Check later: {_follow_up(f'runs --verify {run.id}', run, options)}")
    if any(unit.outcome == "applied" and unit.undone_by is None for unit in run.steps):
        again = "Undo the rollback" if run.kind == "rollback" else "Undo"
        tell(f"{again}: {_follow_up(f'rollback {run.id}', run, options)}")


_FEW = 2
"""Beyond that many URIs to trust, a command that names each cannot be read."""


def _follow_up(words: str, run: RunRecord, options: RemedyOptions) -> str:
    """A command on a run that works later: it repeats what is known only from options."""
    words = command(words, options.folder)
    targets = {unit.target for unit in run.steps}
    trusted = [uri for uri in options.trusted_uris if uri in {*targets, ALL}]
    for uri in trusted if len(trusted) <= _FEW else [ALL]:
        words += f" --trust-uri {word(uri)}"
    return words


def code_of_undone(run: RunRecord) -> int:
    """Exit code of an interrupted run that was to be undone; an undone run is not a failure."""
    outcomes = {unit.outcome for unit in run.steps}
    return RefusedError.exit_code if outcomes & {"failed", "unfinished"} else 0


def code_of(run: RunRecord, kinds: KindTable, *, refused: bool) -> int:
    """Exit code of a run: unfinished, failed or unverified units take precedence, then those rolled
    back."""
    outcomes = {unit.outcome for unit in run.steps}
    if outcomes & {"failed", "unfinished"} or any(map(_unverified, run.steps)):
        return RefusedError.exit_code
    if "rolled-back" in outcomes:
        return ROLLED_BACK
    if kinds.may_have_moved(unit for unit in run.steps if unit.outcome == "gone"):
        refused = True  # for servers, Nova knows that they do not run elsewhere
    return RefusedError.exit_code if refused or outcomes & {"refused", "not-reached"} else 0


def _unverified(unit: UnitRun) -> bool:
    """True if checks were made and none of them proves that the guest is back."""
    proofs = [check for check in unit.checks if check.name in ("guest", "traffic")]
    return (
        unit.outcome == "applied"
        and bool(proofs)
        and not any(check.verdict == "ok" for check in proofs)
    )


# The steps of a plan that a run does not apply, and the reasons.


_EACH = 20
"""Up to this number, steps are listed one by one; beyond it, each reason once."""
_LOSS: NotAppliedCode = "loss"
_UNSAFE: NotAppliedCode = "unsafe"


def split_steps(
    plan: Plan, kinds: KindTable, mode: Mode, *, unsafe: bool
) -> tuple[list[Step], list[tuple[Step, Preview]]]:
    """The steps to apply, and the other steps, each with the reason."""
    chosen: list[Step] = []
    others: list[tuple[Step, Preview]] = []
    for step in plan.steps:
        why_not = _blocking_reason(step, kinds, mode, unsafe=unsafe)
        if why_not is None:
            chosen.append(step)
        else:
            others.append((step, why_not))
    return chosen, others


def _blocking_reason(step: Step, kinds: KindTable, mode: Mode, *, unsafe: bool) -> Preview | None:
    """Why a step is not applied; None: it is."""

    def is_refused(
        reason: str, codes: tuple[BlockedCode | ModeCode | NotAppliedCode | Literal[""], ...]
    ) -> Preview:
        known = tuple(dict.fromkeys(filter(None, codes)))  # one that was edited may have none
        place = step.unit.path if isinstance(step.unit, FileUnit) else step.target
        return Preview(kinds.unit_name(step), "refused", reason, known, (step.id,), place)

    if step.refused:
        lost = tuple(_LOSS for loss in step.losses if not loss.accepted)
        return is_refused("; ".join(step.refused), (*(one.code for one in step.blocked), *lost))
    if not step.safe and not unsafe:
        return is_refused(f"unsafe: {step.reason} (--include-unsafe)", (_UNSAFE,))
    if not _is_possible(step, kinds, mode):
        option = step.mode(mode)
        return is_refused(f"not possible with --mode {mode}: {option.reason}", (option.code,))
    return None


def _is_possible(step: Step, kinds: KindTable, mode: Mode) -> bool:
    """True if the mode can make the change. Text in a file can always be changed: its guest gets it
    at its next boot."""
    return step.mode(mode).possible or (mode == "next-boot" and kinds.of(step).is_text)


def tell_not_applied(not_done: Sequence[tuple[Step, Preview]]) -> None:
    """Print a line for each step; if there are many, one for each reason, with the number of
    steps."""
    if len(not_done) > _EACH:
        reasons = Counter(why_not.message for _step, why_not in not_done)
        for reason, number in reasons.most_common():
            tell(safe(f"Not applied: {count(number, 'step')}: {reason}"))
        return
    for step, why_not in not_done:
        name = f"{why_not.name} {step.about.mac or ''}".rstrip()
        tell(safe(f"Not applied: step {step.id}, {name}: {why_not.message}"))


def nothing_to_apply(not_done: Sequence[tuple[Step, Preview]], kinds: KindTable, mode: Mode) -> str:
    """A message for when no step can be applied: the number of steps, and what each kind of them
    needs."""
    blocked = sum(bool(step.refused) for step, _why_not in not_done)
    allowed = [(step, _UNSAFE in why_not.codes) for step, why_not in not_done if not step.refused]
    impossible = [step for step, is_unsafe in allowed if not is_unsafe]
    mode_words = f" not possible with --mode {mode}{_other_mode(impossible, kinds, mode)}"
    parts = [
        (
            len(allowed) - len(impossible),
            "unsafe step",
            " (why: above; to apply it: --include-unsafe)",
        ),
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
