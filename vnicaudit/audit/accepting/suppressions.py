"""Which findings somebody has accepted: in the settings, or beside the thing itself.

Beside the thing is in the metadata of a domain, in an annotation of a manifest, or in a comment of
its file. Findings that compare several guests or nodes belong to none of them, and are accepted in
the settings alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from msgspec.structs import replace

from vnicaudit.audit.accepting.settings_entries import Form, SettingsEntries, expired, invalid
from vnicaudit.audit.accepting.suppression import (
    RunRules,
    Suppression,
    own_suppression,
    without_accepted,
)
from vnicaudit.audit.judging.catalogue import Catalogue, shipped_catalogue
from vnicaudit.model.decoding import json_as
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import (
    KUBEVIRT,
    AcceptingComment,
    Description,
    Finding,
    Location,
    Ref,
)
from vnicaudit.model.report import Audited
from vnicaudit.text.comment_walk import MOST_COMMENTS

MAX_PER_DOMAIN = 256
"""Maximum number of suppressions read from one domain: a definition may come from anywhere."""


class FileComments:
    """The comments of one file: the valid ones by line, and findings about the others. A file may
    have thousands of descriptions, each of which carries all comments, which are read once."""

    def __init__(
        self,
        comments: tuple[AcceptingComment, ...],
        target: str,
        catalogue: Catalogue,
        today: datetime.date,
    ) -> None:
        self.place = comments[0].file, comments[0].line
        """File and line of the first comment."""
        self.problems: list[Finding] = []
        self._on_line: dict[int, list[Suppression]] = {}
        self._of_documents: list[Suppression] = []
        about = Ref("config")
        for number, comment in enumerate(comments):
            place = Location(target, comment.file, comment.line)
            lines = comment.first, comment.last
            entry = own_suppression(dict(comment.entry), place, catalogue, lines)
            if number >= MOST_COMMENTS:
                entry = f"more than {MOST_COMMENTS:,} in one file; the others are not read"
            if isinstance(entry, str):
                self.problems.append(invalid(entry, about, place, "comment"))
            elif entry.expired(today):
                self.problems.append(expired(entry, about))
            elif comment.first == comment.last:
                self._on_line.setdefault(comment.first, []).append(entry)
            else:
                self._of_documents.append(entry)

    def near(self, findings: Iterable[Finding], start: int) -> list[Suppression]:
        """The entries for the line of one of these findings, and those for the whole document that
        contains ``start``, the first line of their description."""
        lines = {finding.location.line or 0 for finding in findings}
        found = [entry for line in lines for entry in self._on_line.get(line, ())]
        for entry in self._of_documents:
            first, last = entry.lines or (0, 0)
            if first <= start <= last:
                found.append(entry)
        return sorted(found, key=lambda entry: entry.location.line or 0)


class Suppressor:
    """Applies suppressions. ``today`` decides what has expired; ``rules`` are the ids that are
    judged in this run. Each worker process has its own."""

    def __init__(
        self,
        settings: tuple[Suppression, ...],
        today: datetime.date,
        rules: Iterable[str],
        catalogue: Catalogue | None = None,
    ) -> None:
        self._today = today
        self._catalogue = catalogue or shipped_catalogue()
        self.settings = SettingsEntries(settings, today, RunRules(rules, self._catalogue))
        self._comments: FileComments | None = None
        """Of the file whose descriptions come now."""

    def apply(self, audited: Audited, item: Domain | Description | None) -> Audited:
        """Return the judgement on an item (None: a host, or a comparison of several) with accepted
        findings moved to ``suppressed``, and with findings about invalid or expired suppressions of
        its own. Returns ``audited`` itself where there is nothing to do."""
        domain = item if isinstance(item, Domain) else None
        problems: list[Finding] = []
        if domain is not None and domain.suppressions:
            entries, problems = self._in_metadata(domain)
            audited, _used = without_accepted(audited, entries, domain)
        if item is not None and item.comments:
            audited, of_comments = self._by_comments(audited, item)
            problems = [*problems, *of_comments]
        if problems:
            audited = replace(audited, findings=(*audited.findings, *problems))
        return self.settings.apply(audited, domain)

    def _in_metadata(self, domain: Domain) -> tuple[list[Suppression], list[Finding]]:
        """The valid entries of a domain itself, and findings about the others."""
        place, form = domain.location, _form(domain)
        if form == "metadata":  # the path of an annotation points there already
            xpath = f"{place.xpath or '/domain'}/metadata"
            place = Location(place.target, place.file, place.line, xpath)
        valid: list[Suppression] = []
        problems: list[Finding] = []
        for raw in domain.suppressions[:MAX_PER_DOMAIN]:
            entry = own_suppression(json_as(raw, dict[str, str]), place, self._catalogue)
            if isinstance(entry, str):
                problems.append(invalid(entry, domain.ref, place, form))
            elif entry.expired(self._today):
                problems.append(expired(entry, domain.ref))
            else:
                valid.append(entry)
        if len(domain.suppressions) > MAX_PER_DOMAIN:
            problem = f"more than {MAX_PER_DOMAIN} in one domain; the others are not read"
            problems.append(invalid(problem, domain.ref, place, form))
        return valid, problems

    def _by_comments(
        self, audited: Audited, item: Domain | Description
    ) -> tuple[Audited, list[Finding]]:
        """Return the judgement without the findings that comments of the file accept, and findings
        about invalid comments, with the first description of a file."""
        domain = item if isinstance(item, Domain) else None
        place = item.location if isinstance(item, Domain) else item.place(None)
        first = item.comments[0]
        if first.file != place.file:
            return audited, []
        comments = self._comments
        if comments is None or first.reporter or comments.place != (first.file, first.line):
            comments = FileComments(item.comments, place.target, self._catalogue, self._today)
            self._comments = comments
        start = (place.line if isinstance(item, Domain) else item.first_line()) or 0
        entries = comments.near(audited.findings, start)
        audited, _used = without_accepted(audited, entries, domain)
        return audited, comments.problems if first.reporter else []


def _form(domain: Domain) -> Form:
    return "annotation" if domain.declared.platform == KUBEVIRT else "metadata"
