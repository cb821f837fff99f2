"""A domain, judged as it is, and as it would be with its definition changed and read again."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.reading.files import read_stream
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import FileKinds
from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.model.refs import nic_index
from vnicaudit.remedy.definitions import Texts
from vnicaudit.remedy.planning.judged_item import JudgedItem, Judges, is_decided
from vnicaudit.remedy.planning.source import Source, with_actual_types
from vnicaudit.remedy.planning.subject import worst_first


class _Own(NamedTuple):
    """Start and end of one domain's document in a file, and the number of lines before it."""

    start: int
    end: int
    lines: int


class _ChangedNic(NamedTuple):
    """Changes of a NIC, and their result."""

    nic: Nic
    changes: tuple[Change, ...]
    text: bytes
    domain: Domain


class JudgedDomain(JudgedItem[Domain]):
    """One domain of a target, before anything is changed."""

    def __init__(self, source: Source, judges: Judges, texts: Texts) -> None:
        """Judge the domain. Raises RefusedError if a rule crashes."""
        self.source = source
        self.texts = texts
        self._kinds = judges.work.platforms.files
        self._last_changed: _ChangedNic | None = None
        """Planning a step asks for the same changes several times."""
        super().__init__(
            source.domain, judges, lambda work, one: work.domain(one, source.host, source.target)
        )

    def findings_of(self, nic: Nic) -> tuple[Finding, ...]:
        """The findings on one NIC."""
        return tuple(found for found in self.findings if nic_index(found.about) == nic.index)

    def with_changes(self, nic: Nic, changes: Iterable[Change]) -> tuple[bytes, Domain]:
        """The text with these changes of a NIC, and the domain it describes. Raises RefusedError if
        they cannot be made. For the same NIC and equal changes as in the last call, it is the same
        domain object: ``JudgedItem`` judges each object once."""
        changes, last = tuple(changes), self._last_changed
        if last is None or last.nic is not nic or last.changes != changes:
            text = self.texts.changed_at(self.source.text, nic.location.xpath or "", changes)
            last = self._last_changed = _ChangedNic(nic, changes, text, self._read_again(text))
        return last.text, last.domain

    def findings_to_plan(self, nic: Nic, changes: Iterable[Change]) -> list[Finding]:
        """The findings on the NIC that propose changes once these are made, the most severe first;
        without those that the policy decides."""
        changes = tuple(changes)
        after = self.with_changes(nic, changes)[1] if changes else self.item
        mine = (one for one in self.findings_after(after) if nic_index(one.about) == nic.index)
        return worst_first(filter(is_decided, mine))

    def _read_again(self, text: bytes) -> Domain:
        source = self.source
        found = self._of_file(text) if source.file is not None else with_actual_types(
            self.texts.reading.definition_of(text, source.target), source.domain
        )  # fmt: skip
        declared = replace(found.declared, readiness=source.domain.declared.readiness)
        return replace(
            found, declared=declared, live=source.domain.live,
            suppressions=source.domain.suppressions, location=source.domain.location,
        )  # fmt: skip

    def _of_file(self, text: bytes) -> Domain:
        place = self.source.domain.location
        own = self._own
        if own is None:
            found = _domain_in(text, place.target, self._kinds, place.xpath)
        else:
            end = own.end + len(text) - len(self.source.text)
            found = self._alone(text[own.start : end], own.lines)
        if found is None:
            raise RefusedError("the changed file could not be read again")
        return found

    @cached_property
    def _own(self) -> _Own | None:
        """The place of the domain's document in a file with several, if it reads the same alone:
        then only that part is read again for each change, and not all the others."""
        text, place = self.source.text, self.source.domain.location
        found = self.texts.reading.document_at(text, place.xpath or "")
        if found is None:
            return None
        start, end = found
        lines = text.count(b"\n", 0, start)
        same = self._alone(text[start:end], lines) == self.source.domain
        return _Own(start, end, lines) if same else None

    def _alone(self, text: bytes, lines: int) -> Domain | None:
        place = self.source.domain.location
        found = _domain_in(text, place.target, self._kinds)
        return None if found is None else _rebased(found, place, lines)


def _rebased(domain: Domain, place: Location, lines: int) -> Domain:
    """A domain that was read alone, with its places in the whole file."""
    own, in_file = domain.location.xpath or "", place.xpath or ""
    nics = tuple(
        replace(
            nic,
            location=_moved(nic.location, own, in_file, lines),
            lines=tuple((field, line + lines) for field, line in nic.lines),
        )
        for nic in domain.nics
    )
    moved = _moved(domain.location, own, in_file, lines)
    return replace(domain, location=moved, nics=nics)


def _moved(place: Location, own: str, in_file: str, lines: int) -> Location:
    line = None if place.line is None else place.line + lines
    xpath = None if place.xpath is None else in_file + place.xpath.removeprefix(own)
    return replace(place, line=line, xpath=xpath)


def _domain_in(
    text: bytes, target: str, kinds: FileKinds, xpath: str | None = None
) -> Domain | None:
    """The domain at a path in a text; without a path the only one. None if it is not there."""
    found = [
        item for item in read_stream(BytesIO(text), target, kinds)
        if isinstance(item, Domain) and xpath in (None, item.location.xpath)
    ]  # fmt: skip
    return found[0] if len(found) == 1 or (found and xpath is not None) else None
