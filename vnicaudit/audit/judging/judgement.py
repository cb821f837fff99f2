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
    """One rule's answer on one subject: problems, or what it needs, or how it crashed."""

    rule: NamedRule
    problems: tuple[Problem, ...] = ()
    needs: str = ""
    error: str = ""


def ask(rules: Iterable[LoadedRule[S]], subject: S) -> tuple[Judgement, ...]:
    """Every rule's answer, silent ones left out."""
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
    """A problem with who, where, its fingerprint (``mark``) and the fix in the owner's words."""
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
    """Collects what the rules say of one domain, host or file. ``wordings``: how fixes are worded
    for each owner."""

    __slots__ = ("crashed", "findings", "skipped", "wordings")

    def __init__(self, wordings: Wordings) -> None:
        self.wordings = wordings
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def note(self, verdict: Judgement, ref: Ref) -> None:
        """Take a verdict that could not be reached."""
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
        """Take verdicts on what is no NIC, whose rules word the whole fix. ``key_of`` and
        ``place_of`` say of the field that a problem hangs on what it is part of (for the
        fingerprint), and where it stands; ``ref`` says what it is, ``named`` what fixes
        can name."""
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
        """Return all that was collected, of something that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )
