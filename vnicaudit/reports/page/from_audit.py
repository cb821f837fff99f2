"""Converts the stream of an audit into input of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from vnicaudit.model.finding import Crashed, Finding
from vnicaudit.model.owner import name_of
from vnicaudit.model.refs import mac_of
from vnicaudit.model.report import Audited, Placed, RunEnd, TargetResult
from vnicaudit.model.rule_info import RuleInfo
from vnicaudit.reports.page.data import (
    NO_MEMORY,
    PageEnd,
    PageHost,
    PageMemory,
    PageNote,
    PageRule,
    PageSettled,
    PageSubject,
    SettledState,
)
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.unjudged import not_judged_of, skip_sentences, unread_of
from vnicaudit.reports.wording import accepted_sentence, name_and_id, subject_label

_NOWHERE = Placed()
_CRASHES = 200
"""Maximum crashed rules listed; the others are counted."""


class AuditNotes:
    """Collects notes on parts of an audit that could not be judged, in bounded memory."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._crashed: list[PageNote] = []
        self._crashes = 0

    def add(self, audited: Audited) -> None:
        """Note the parts of a subject that were not judged."""
        self._tally.add(audited)
        for crashed in audited.crashed:
            self._crashes += 1
            if len(self._crashed) < _CRASHES:
                self._crashed.append(_crash(audited, crashed))

    def end_of(self, end: RunEnd, rules: Iterable[RuleInfo]) -> PageEnd:
        """The end of an audit as input of the page."""
        met = {rule for _severity, rule, _name in self._tally.findings}
        return PageEnd(
            finished=end.finished,
            hosts=tuple(map(_host, end.targets)),
            notes=tuple(self._notes(end)),
            rules=tuple(PageRule(one.id, one.name, one.summary) for one in rules if one.id in met),
            rules_asked=() if end.coverage is None else end.coverage.rules,
            accepted=accepted_sentence(end),
        )

    def _notes(self, end: RunEnd) -> Iterator[PageNote]:
        for target in end.targets:
            yield from host_notes(target)
        yield from self._crashed
        if (more := self._crashes - len(self._crashed)) > 0:
            yield PageNote("crashed", "", f"{more:,} more")
        for sentence in skip_sentences(self._tally):
            yield PageNote("not judged", "", sentence)


def subject_of(audited: Audited) -> PageSubject:
    """The results for a subject as input of the page."""
    placed = audited.placed or _NOWHERE
    return PageSubject(
        name=audited.title,
        scope=audited.scope,
        target=audited.target,
        host=placed.host or audited.target,
        uuid=audited.uuid,
        owner=name_of(audited.owner),
        server=audited.server if audited.server != audited.subject else "",
        image=name_and_id(placed.image, placed.image_id),
        flavor=placed.flavor,
        project=name_and_id(placed.project, placed.project_id),
        nics=audited.nics,
        rows=audited.rows,
        findings=audited.findings,
    )


def accepted_of(audited: Audited) -> Iterator[PageSettled]:
    """The findings on a subject that are suppressed or in the baseline."""
    for one in audited.suppressed:
        yield _accepted(audited, one.finding, "suppressed", one.reason)
    for finding in audited.baselined:
        yield _accepted(audited, finding, "in the baseline", "")


def with_memory(subject: PageSubject, memory: PageMemory) -> PageSubject:
    """The subject with its host's name and site, and the history of its findings."""
    name, site = memory.hosts.get(subject.target, (subject.host, subject.site))
    if memory is NO_MEMORY:
        return subject
    past = {
        one.fingerprint: memory.findings.get(one.fingerprint, memory.unknown)
        for one in subject.findings
    }
    return replace(subject, host=name, site=site, history=past)


def end_with_memory(end: PageEnd, memory: PageMemory) -> PageEnd:
    """The end of an audit, with the known state of its fleet."""
    hosts = []
    for one in end.hosts:
        name, site = memory.hosts.get(one.name, (one.name, one.site))
        hosts.append(replace(one, name=name, site=site))
    return replace(
        end,
        hosts=tuple(hosts),
        changes=memory.changes,
        trend=memory.trend,
        ranking=memory.ranking,
        rules_left_out=memory.rules_left_out,
    )


def _accepted(
    audited: Audited, finding: Finding, state: SettledState, reason: str
) -> PageSettled:  # fmt: skip
    placed = audited.placed or _NOWHERE
    return PageSettled(
        state=state,
        severity=finding.severity,
        rule=finding.rule,
        name=finding.name,
        subject=audited.title,
        host=placed.host or audited.target,
        site="",
        owner=name_of(finding.owner),
        mac=mac_of(finding.about) or "",
        message=finding.message,
        reason=reason,
    )


def host_notes(target: TargetResult) -> Iterator[PageNote]:
    """Notes on the parts of a target that were not read or not judged, then its other notes."""
    for error in unread_of(target):
        yield PageNote("not read", error.place, error.message)
    for part in not_judged_of(target):
        yield PageNote("not judged", part.place, part.message)
    for note in target.notes:
        yield PageNote("note", target.target, note)


def _crash(audited: Audited, crashed: Crashed) -> PageNote:
    return PageNote(
        "crashed", subject_label(audited.title, crashed.about), f"{crashed.rule}: {crashed.error}"
    )


def _host(target: TargetResult) -> PageHost:
    return PageHost(
        name=target.target,
        status=target.status,
        error=target.error or "",
        domains=target.domains,
        nics=target.nics,
    )
