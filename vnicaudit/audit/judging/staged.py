"""Fixes reduced by what the persistent definition already has, so that nobody edits it twice.

Rules judge what runs. Where the persistent definition of a NIC differs, it may already have the
change, or leave nothing to change.
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
    need. ``later``: what the same rules say of the NIC as it is there."""
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
    """A NIC as its persistent definition has it, run by nothing yet; None where it is not there."""
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
    """True where the persistent definition needs the change too: the rule reacts to it (found,
    skipped or crashed), or another one proposes a change of the same field."""
    return any(
        verdict.rule.id == rule_id
        or any(
            problem.change is not None and problem.change.field == change.field
            for problem in verdict.problems
        )
        for verdict in later
    )
