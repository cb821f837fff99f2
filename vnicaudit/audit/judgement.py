"""What rules say of one subject."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from vnicaudit.audit.catalogue import LoadedRule
from vnicaudit.audit.facts import FACTS
from vnicaudit.audit.fingerprint import digest
from vnicaudit.model.finding import Crashed, Finding, NicRef, Skipped
from vnicaudit.model.location import Location
from vnicaudit.model.report import Audited, AuditedScope
from vnicaudit.model.rule import AnySubject, Problem


class Judgement(msgspec.Struct, frozen=True):
    """What one rule said of one subject: problems, or what it needs, or how it crashed."""

    rule: LoadedRule
    problems: tuple[Problem, ...] = ()
    needs: str = ""
    error: str = ""


def ask(rules: Iterable[LoadedRule], subject: AnySubject) -> tuple[Judgement, ...]:
    """Every rule's answer, silent ones left out."""
    verdicts = []
    for rule in rules:
        try:
            if not rule.applies(subject):
                continue
            missing = [need for need in rule.needs if not FACTS[need].known(subject)]
            if missing:
                tell = "; ".join(dict.fromkeys(FACTS[need].tell for need in missing))
                verdicts.append(Judgement(rule, needs=tell))
            elif problems := tuple(rule.check(subject)):
                verdicts.append(Judgement(rule, problems))
        except Exception as error:  # an edge: a rule's crash is reported, never a pass
            verdicts.append(Judgement(rule, error=f"{type(error).__name__}: {error}"))
    return tuple(verdicts)


def finding_of(
    rule: LoadedRule,
    problem: Problem,
    ref: NicRef,
    where: Location,
    owner: str,
    mark: str,
    fix: str,
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
        fix,
        problem.related,
    )


class Tray:
    """Collects what the rules say of one domain, host or file."""

    __slots__ = ("crashed", "findings", "skipped")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.skipped: list[Skipped] = []
        self.crashed: list[Crashed] = []

    def note(self, verdict: Judgement, ref: NicRef) -> None:
        """Take a verdict that could not be reached."""
        if verdict.needs:
            self.skipped.append(Skipped(verdict.rule.id, ref, verdict.needs))
        elif verdict.error:
            self.crashed.append(Crashed(verdict.rule.id, ref, verdict.error))

    def take(
        self,
        verdicts: Iterable[Judgement],
        owner: str,
        key_of: Callable[[str | None], str],
        place_of: Callable[[str | None], Location],
        ref: NicRef | None = None,
    ) -> None:
        """Take verdicts on what is no NIC, whose rules word the whole fix. ``key_of`` and
        ``place_of`` say of the field that a problem hangs on what it is part of (for the
        fingerprint), and where it stands; ``ref`` names it, where it is of a cloud."""
        ref = ref or NicRef()
        for verdict in verdicts:
            for problem in verdict.problems:
                field = problem.field
                mark = digest(verdict.rule.id, key_of(field), field or "")
                where = place_of(field)
                self.findings.append(
                    finding_of(verdict.rule, problem, ref, where, owner, mark, problem.fix)
                )
            self.note(verdict, ref)

    def reword(self, words: Callable[[str], str]) -> None:
        """Say each fix in other words."""
        self.findings = [
            msgspec.structs.replace(finding, fix=words(finding.fix)) for finding in self.findings
        ]

    def audited(self, target: str, subject: str, owner: str, scope: AuditedScope) -> Audited:
        """All of it, of something that is not a domain."""
        return Audited(
            target=target,
            subject=subject,
            owner=owner,
            scope=scope,
            findings=tuple(self.findings),
            skipped=tuple(self.skipped),
            crashed=tuple(self.crashed),
        )
