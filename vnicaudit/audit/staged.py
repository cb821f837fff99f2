"""What the persistent definition says already -> fixes that send nobody to edit it again.

Rules judge what runs. Where the persistent definition of a NIC is another, their change may be
made there already, or there may be nothing left to change.
"""

from __future__ import annotations

from msgspec.structs import replace

from vnicaudit.audit.effective import resolve
from vnicaudit.audit.judgement import Judgement
from vnicaudit.model.domain import StagedNic
from vnicaudit.model.finding import Change
from vnicaudit.model.rule import Problem, Subject

_GONE = (
    "There is nothing to edit: this NIC is not in the persistent definition, and is gone after the "
    "next power cycle. If it is to stay, see to this when adding it there."
)
_STAGED = (
    "The change is staged already: the persistent definition has {what}. Power the guest off and "
    "start it again; a reboot inside the guest keeps the running device."
)
_SHOWN = 60


def without_edits_made(
    verdicts: tuple[Judgement, ...], staged: StagedNic, later: tuple[Judgement, ...]
) -> tuple[Judgement, ...]:
    """The verdicts on a running NIC without the changes that its persistent definition does not
    need. ``later``: what the same rules say of the NIC as it is there."""
    return tuple(
        replace(
            verdict,
            problems=tuple(
                _worded(problem, staged, later, verdict.rule.id) for problem in verdict.problems
            ),
        )
        for verdict in verdicts
    )


def at_the_next_start(subject: Subject, staged: StagedNic) -> Subject | None:
    """A NIC as its persistent definition has it, run by nothing yet; None where it is not there."""
    if staged.later is None:
        return None
    effective = resolve(staged.later, subject.domain, subject.host, None)
    return replace(subject, nic=staged.later, effective=effective, running=None, staged=None)


def _worded(
    problem: Problem, staged: StagedNic, later: tuple[Judgement, ...], rule_id: str
) -> Problem:
    change = problem.change
    if change is None:
        return problem
    if staged.gone:
        return replace(problem, change=None, fix=_GONE, fixes={})
    new = next((new for field, _running, new in staged.fields if field == change.field), None)
    if new is None or _still_wanted(change, later, rule_id):
        return problem
    what = f"{change.field} {new[:_SHOWN]}" if new else f"no {change.field}"
    return replace(problem, change=None, fix=_STAGED.format(what=what), fixes={})


def _still_wanted(change: Change, later: tuple[Judgement, ...], rule_id: str) -> bool:
    """Whether the persistent definition is to be changed there too: the rule is not silent on it
    (found, skipped or crashed), or another one proposes a change of the same field."""
    return any(
        verdict.rule.id == rule_id
        or any(
            problem.change is not None and problem.change.field == change.field
            for problem in verdict.problems
        )
        for verdict in later
    )
