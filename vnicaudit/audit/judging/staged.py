"""Fixes without changes that the persistent definition already has, so that nobody edits it twice.

Rules judge the running NIC. If its persistent definition differs, that may already have the change,
or may have nothing to change.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.effective import Resolver
from vnicaudit.audit.judging.judgement import Judgement
from vnicaudit.model.domain import StagedNic
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import AlreadyStaged, NothingToEdit
from vnicaudit.model.rule import Problem
from vnicaudit.model.subject import Subject


def without_edits_made(
    verdicts: tuple[Judgement, ...],
    staged: StagedNic,
    later: tuple[Judgement, ...],
) -> tuple[Judgement, ...]:
    """The verdicts on a running NIC without the changes that its persistent definition does not
    need. ``later``: the verdicts of the same rules on the NIC as it is there."""
    return tuple(
        replace(
            verdict,
            problems=tuple(
                _reduced(problem, staged, later, verdict.rule.id) for problem in verdict.problems
            ),
        )
        for verdict in verdicts
    )


def at_the_next_start(subject: Subject, staged: StagedNic, resolve: Resolver) -> Subject | None:
    """The NIC of the persistent definition, not run by any QEMU yet; None if it is not there."""
    if staged.later is None:
        return None
    effective = resolve(staged.later, subject.domain, subject.host, None)
    return replace(subject, nic=staged.later, effective=effective, running=None, staged=None)


def _reduced(
    problem: Problem, staged: StagedNic, later: tuple[Judgement, ...], rule_id: str
) -> Problem:
    change = problem.change
    if change is None:
        return problem
    if staged.gone:
        return replace(problem, change=None, fix=NothingToEdit())
    new = next((new for field, _running, new in staged.fields if field == change.field), None)
    if new is None or _still_wanted(change, later, rule_id):
        return problem
    return replace(problem, change=None, fix=AlreadyStaged(change.field, new or None))


def _still_wanted(change: Change, later: tuple[Judgement, ...], rule_id: str) -> bool:
    """True if the persistent definition needs the change too: the rule reacts to it (found, skipped
    or crashed), or another one proposes a change of the same field."""
    return any(
        verdict.rule.id == rule_id
        or any(
            problem.change is not None and problem.change.field == change.field
            for problem in verdict.problems
        )
        for verdict in later
    )
