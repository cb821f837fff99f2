"""Judgements: the verdicts of rules on one subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import msgspec

from vnicaudit.audit.judging.catalogue import LoadedRule, NamedRule
from vnicaudit.audit.judging.fingerprint import digest
from vnicaudit.knowledge.fixes.owners import WordedFix, Wordings
from vnicaudit.model.finding import Crashed, Finding, Skipped
from vnicaudit.model.location import Location
from vnicaudit.model.names import NO_NAMES, FixNames
from vnicaudit.model.owner import Keeper
from vnicaudit.model.refs import Ref
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.model.rule import Problem

S = TypeVar("S")


class Judgement(msgspec.Struct, frozen=True):
    """One rule's answer on one subject: problems, or the facts it lacks, or how it crashed."""

    rule: NamedRule
    problems: tuple[Problem, ...] = ()
    needs: str = ""
    error: str = ""


def ask(rules: Iterable[LoadedRule[S]], subject: S) -> tuple[Judgement, ...]:
    """Every rule's answer; rules without an answer are left out."""
    verdicts = []
    for rule in rules:
        try:
            judge = rule.judge
            if not judge.applies(subject):
                continue
            missing = [need.tell for need in judge.needs if not need.known(subject)]
            if missing:
                verdicts.append(Judgement(rule, needs="; ".join(dict.fromkeys(missing))))
            elif problems := tuple(judge.check(subject)):
                verdicts.append(Judgement(rule, problems))
        except Exception as error:  # an edge: a rule's crash is reported, never a pass
            verdicts.append(Judgement(rule, error=f"{type(error).__name__}: {error}"))
    return tuple(verdicts)


def finding_of(
    rule: NamedRule,
    problem: Problem,
    ref: Ref,
    where: Location,
    owner: Keeper,
    mark: str,
    fix: WordedFix,
) -> Finding:
    """The finding of a problem, with its object, place, fingerprint (``mark``) and the fix, worded
    for the owner."""
    return Finding(
        rule.id,
        rule.name,
        problem.severity or rule.severity,
        problem.confidence,
        problem.message,
        ref,
        where,
        owner,
        problem.change,
        mark,
        fix.text,
        problem.related,
        fix.values,
    )


class FindingCollector:
    """Collects the verdicts of rules on one domain, host or file. ``wordings``: the words of fixes
    for each owner."""

    __slots__ = ("crashed", "findings", "skipped", "wordings")

    def __init__(self, wordings: Wordings) -> None:
        self.wordings = wordings
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def note(self, verdict: Judgement, ref: Ref) -> None:
        """Record a verdict that could not be reached."""
        if verdict.needs:
            self.skipped.append(Skipped(verdict.rule.id, ref, verdict.needs))
        elif verdict.error:
            self.crashed.append(Crashed(verdict.rule.id, ref, verdict.error))

    def take(
        self,
        verdicts: Iterable[Judgement],
        owner: Keeper,
        key_of: Callable[[str | None], str],
        place_of: Callable[[str | None], Location],
        ref: Ref,
        named: FixNames = NO_NAMES,
    ) -> None:
        """Collect verdicts on objects other than NICs, whose rules word the whole fix. ``key_of``:
        the object's key by a problem's field, for the fingerprint; ``place_of``: the place of a
        field; ``ref``: the object; ``named``: names that fixes can use."""
        for verdict in verdicts:
            for problem in verdict.problems:
                field = problem.field
                mark = digest(verdict.rule.id, key_of(field), field or "")
                where = place_of(field)
                fix = self.wordings.worded(None, problem.fix, owner, named)
                self.findings.append(
                    finding_of(verdict.rule, problem, ref, where, owner, mark, fix)
                )
            self.note(verdict, ref)

    def audited(self, target: str, subject: str, owner: Keeper, scope: AuditedScope) -> Audited:
        """Return everything collected on an object that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )
