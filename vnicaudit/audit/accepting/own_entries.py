"""Suppressions stored with the object they apply to: in the metadata of a domain, or in an
annotation of a manifest. For comments see :mod:`vnicaudit.audit.accepting.file_comments`."""

from __future__ import annotations

import datetime
from typing import NamedTuple

from vnicaudit.audit.accepting import stale
from vnicaudit.audit.accepting.suppression import Suppression, own_suppression
from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.model.decoding import json_as
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import Finding
from vnicaudit.model.location import AcceptingComment, Location
from vnicaudit.model.platform_name import KUBEVIRT
from vnicaudit.model.refs import ConfigRef, Ref

MAX_PER_DOMAIN = 256
"""Maximum number of suppressions read from one domain: a definition may come from anywhere."""


class OwnTexts(NamedTuple):
    """The suppressions of a domain or description as text, unparsed. ``place`` is the place of its
    metadata, ``about`` the judged object, ``start`` its first line in the file."""

    place: Location
    about: Ref
    metadata: tuple[str, ...] = ()
    comments: tuple[AcceptingComment, ...] = ()
    form: stale.Form = "metadata"
    start: int | None = None

    def __bool__(self) -> bool:
        return bool(self.metadata or self.comments)


def texts_of(domain: Domain) -> OwnTexts:
    """The suppressions that belong to a domain itself."""
    place, ref = domain.location, domain.ref
    if domain.declared.platform == KUBEVIRT:  # the path points into the metadata
        return OwnTexts(place, ref, domain.suppressions, domain.comments, "annotation", place.line)
    inside = Location(place.target, place.file, place.line, f"{place.xpath or '/domain'}/metadata")
    return OwnTexts(inside, ref, domain.suppressions, domain.comments, start=place.line)


def texts_in(
    place: Location, comments: tuple[AcceptingComment, ...], about: Ref | None = None
) -> OwnTexts:
    """The suppressions in comments of a description's own file; ``place``: the start of the
    description."""
    is_own = bool(comments) and comments[0].file == place.file
    own = comments if is_own else ()
    return OwnTexts(place, about or ConfigRef(), comments=own, start=place.line)


class OwnEntries:
    """The valid entries in the metadata of a judged object, and findings about invalid ones."""

    def __init__(self, texts: OwnTexts, catalogue: Catalogue, today: datetime.date) -> None:
        self.entries: list[Suppression] = []
        self.problems: list[Finding] = []
        place, about = texts.place, texts.about
        for raw in texts.metadata[:MAX_PER_DOMAIN]:
            entry = own_suppression(json_as(raw, dict[str, str]), place, catalogue)
            if isinstance(entry, str):
                self.problems.append(stale.invalid(entry, about, place, texts.form))
            elif entry.expired(today):
                self.problems.append(stale.expired(entry, about))
            else:
                self.entries.append(entry)
        if len(texts.metadata) > MAX_PER_DOMAIN:
            problem = f"more than {MAX_PER_DOMAIN} in one domain; the others are not read"
            self.problems.append(stale.invalid(problem, about, place, texts.form))
