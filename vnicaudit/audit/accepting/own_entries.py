"""Suppressions that stand with what they are about: in the metadata of a domain, in an annotation
of a manifest, in a comment of a file."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.suppression import Suppression, own_suppression
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.model.accepting import MAX_COMMENTS, AcceptingComment
from vnicaudit.model.decoding import json_as
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.location import Location
from vnicaudit.model.platform_name import KUBEVIRT
from vnicaudit.model.refs import ConfigRef, Ref

MAX_PER_DOMAIN = 256
"""More suppressions than this in one domain are not read: a definition may come from anywhere."""


class OwnTexts(NamedTuple):
    """Suppressions in the words of a domain or description, unread. ``place`` is where its metadata
    are, ``about`` what is judged."""

    place: Location
    about: Ref
    metadata: tuple[str, ...] = ()
    comments: tuple[AcceptingComment, ...] = ()
    form: stale.Form = "metadata"

    def __bool__(self) -> bool:
        return bool(self.metadata or self.comments)


def texts_of(domain: Domain) -> OwnTexts:
    """The suppressions that a domain has itself."""
    place, ref = domain.location, domain.ref
    if domain.declared.platform == KUBEVIRT:  # it points into the metadata
        return OwnTexts(place, ref, domain.suppressions, domain.comments, "annotation")
    inside = Location(place.target, place.file, place.line, f"{place.xpath or '/domain'}/metadata")
    return OwnTexts(inside, ref, domain.suppressions, domain.comments)


def texts_in(
    place: Location, comments: tuple[AcceptingComment, ...], about: Ref | None = None
) -> OwnTexts:
    """The suppressions in comments of a description's own file."""
    own = tuple(one for one in comments if one.file == place.file)
    return OwnTexts(place, about or ConfigRef(), comments=own)


class OwnEntry(NamedTuple):
    """A suppression; ``sole``: it is known whether it is needed once this was judged."""

    suppression: Suppression
    sole: bool = True


class OwnEntries:
    """The valid entries of some texts, and findings about those that are not."""

    def __init__(self, texts: OwnTexts, catalogue: Catalogue, today: datetime.date) -> None:
        self._texts = texts
        self._catalogue = catalogue
        self._today = today
        self.entries: list[OwnEntry] = []
        self.problems: list[Finding] = []
        for raw in texts.metadata[:MAX_PER_DOMAIN]:
            given = json_as(raw, dict[str, str])
            self._take(own_suppression(given, texts.place, catalogue), texts.place, texts.form)
        for comment in texts.comments[:MAX_COMMENTS]:
            self._take_comment(comment)
        self.problems.extend(self._too_many())

    def _take_comment(self, comment: AcceptingComment) -> None:
        place = Location(self._texts.place.target, comment.file, comment.line)
        lines = comment.first, comment.last
        entry = own_suppression(dict(comment.entry), place, self._catalogue, lines)
        known = len(self.problems)
        self._take(entry, place, "comment", sole=comment.sole)
        if not comment.reporter:
            del self.problems[known:]

    def _take(
        self, entry: Suppression | str, place: Location, form: stale.Form, *, sole: bool = True
    ) -> None:
        if isinstance(entry, str):
            self.problems.append(stale.invalid(entry, self._texts.about, place, form))
        elif entry.expired(self._today):
            self.problems.append(stale.expired(entry, self._texts.about))
        else:
            self.entries.append(OwnEntry(entry, sole))

    def _too_many(self) -> Iterator[Finding]:
        texts = self._texts
        if len(texts.metadata) > MAX_PER_DOMAIN:
            problem = f"more than {MAX_PER_DOMAIN} in one domain; the others are not read"
            yield stale.invalid(problem, texts.about, texts.place, texts.form)
        if len(texts.comments) > MAX_COMMENTS:
            first = texts.comments[MAX_COMMENTS]
            place = Location(texts.place.target, first.file, first.line)
            problem = f"more than {MAX_COMMENTS} about one description; the others are not read"
            yield stale.invalid(problem, texts.about, place, "comment")
