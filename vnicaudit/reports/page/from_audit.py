"""The stream of an audit -> what the page takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vnicaudit.model.finding import Crashed
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited, Placed, RuleInfo, RunEnd, TargetResult
from vnicaudit.reports.page.data import PageEnd, PageHost, PageNote, PageRule, PageSubject
from vnicaudit.reports.tally import Tally
from vnicaudit.reports.wording import (
    accepted_sentence,
    name_and_id,
    not_judged_of,
    skip_sentences,
    subject_label,
    unread_of,
)

_NOWHERE = Placed()
_CRASHES = 200
"""Crashed rules that are named; more are counted."""


class AuditNotes:
    """Collects notes on parts of an audit that could not be judged, in bounded memory."""

    def __init__(self) -> None:
        self._tally = Tally()
        self._crashed: list[PageNote] = []
        self._crashes = 0

    def add(self, audited: Audited) -> None:
        """Note what was not judged of one subject."""
        self._tally.add(audited)
        for crashed in audited.crashed:
            self._crashes += 1
            if len(self._crashed) < _CRASHES:
                self._crashed.append(_crash(audited, crashed))

    def end_of(self, end: RunEnd, rules: Iterable[RuleInfo]) -> PageEnd:
        """The end of an audit, as the page takes it."""
        met = {rule for _severity, rule, _name in self._tally.findings}
        return PageEnd(
            finished=end.finished,
            hosts=tuple(map(_host, end.targets)),
            notes=tuple(self._notes(end)),
            rules=tuple(PageRule(one.id, one.name, one.summary) for one in rules if one.id in met),
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
    """A judgement as the page takes it."""
    placed = audited.placed or _NOWHERE
    return PageSubject(
        name=audited.subject,
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


def host_notes(target: TargetResult) -> Iterator[PageNote]:
    """Notes on the parts of a target that were not read or not judged, then other notes on it."""
    for error in unread_of(target):
        yield PageNote("not read", error.place, error.message)
    for part in not_judged_of(target):
        yield PageNote("not judged", part.place, part.message)
    for note in target.notes:
        yield PageNote("note", target.target, note)


def _crash(audited: Audited, crashed: Crashed) -> PageNote:
    return PageNote(
        "crashed", subject_label(audited.subject, crashed.about), f"{crashed.rule}: {crashed.error}"
    )


def _host(target: TargetResult) -> PageHost:
    return PageHost(
        name=target.target,
        status=target.status,
        error=target.error or "",
        domains=target.domains,
        nics=target.nics,
    )
