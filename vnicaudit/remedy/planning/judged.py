"""A domain judged as it is, and as it would be."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from io import BytesIO
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.files import read_stream
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.domain import Domain
from vnicaudit.model.finding import SEVERITIES, Change, Finding
from vnicaudit.model.location import Location
from vnicaudit.model.nic import Nic
from vnicaudit.remedy.definitions import changed_at, reading
from vnicaudit.remedy.planning.source import Source, with_actual_types

_POLICYS = {"queues": 1, "rx_queue_size": 256, "tx_queue_size": 256}
"""Fields of which more is the policy's to give, and what they are where they are not set."""


class _Own(NamedTuple):
    """Where the document of one domain stands in a file, and the lines before it."""

    start: int
    end: int
    lines: int


class Judged:
    """One domain of a target, before anything is changed."""

    def __init__(self, source: Source, work: AuditWork, by_all: AuditWork) -> None:
        """``work`` says what is to be changed, ``by_all`` what would be wrong then: by all rules,
        be they asked for or not."""
        self.source = source
        self._work = work
        self._by_all = by_all
        self.findings = self._findings(source.domain, work)

    def of(self, nic: Nic) -> tuple[Finding, ...]:
        """What was found on one NIC."""
        return tuple(found for found in self.findings if found.nic.index == nic.index)

    def changed(self, nic: Nic, changes: Iterable[Change]) -> tuple[bytes, Domain]:
        """The text with these changes of a NIC, and the domain it describes. Raises RefusedError
        where they cannot be made."""
        text = changed_at(self.source.text, nic.location.xpath or "", changes)
        return text, self._read_again(text)

    def proposed(self, nic: Nic, changes: Iterable[Change]) -> list[Finding]:
        """What findings propose for the NIC once these changes are made, the most severe first;
        only what findings decide."""
        changes = tuple(changes)
        domain = self.changed(nic, changes)[1] if changes else self.source.domain
        found = self._findings(domain, self._work) if changes else self.findings
        mine = [one for one in found if one.nic.index == nic.index and is_decided(one)]
        return sorted(mine, key=lambda one: -SEVERITIES.index(one.severity))

    def worse(self, nic: Nic, after: Domain) -> tuple[str, ...]:
        """Errors that a change of the NIC would bring up."""
        return tuple(
            f"it would bring up {found.rule}: {found.message}"
            for found in self._findings(after, self._by_all)
            if found.severity == "error" and found.fingerprint not in self._errors
            and found.nic.index in (nic.index, None)
        )  # fmt: skip

    @cached_property
    def _errors(self) -> frozenset[str]:
        """Fingerprints of the errors that there are already."""
        same = self._by_all is self._work
        found = self.findings if same else self._findings(self.source.domain, self._by_all)
        return frozenset(one.fingerprint for one in found if one.severity == "error")

    def _read_again(self, text: bytes) -> Domain:
        source = self.source
        found = self._of_file(text) if source.file is not None else with_actual_types(
            reading().definition_of(text, source.target), source.domain
        )  # fmt: skip
        declared = replace(found.declared, readiness=source.domain.declared.readiness)
        return replace(
            found, declared=declared, state=source.domain.state,
            suppressions=source.domain.suppressions, location=source.domain.location,
        )  # fmt: skip

    def _of_file(self, text: bytes) -> Domain:
        place = self.source.domain.location
        own = self._own
        if own is None:
            found = _read(text, place.target, place.xpath)
        else:
            end = own.end + len(text) - len(self.source.text)
            found = self._alone(text[own.start : end], own.lines)
        if found is None:
            raise RefusedError("what would come of the file could not be read again")
        return found

    @cached_property
    def _own(self) -> _Own | None:
        """Its document in a file with several, if it says the same alone: then only that is read
        again for each change, and not all the others."""
        text, place = self.source.text, self.source.domain.location
        found = reading().document_at(text, place.xpath or "")
        if found is None:
            return None
        start, end = found
        lines = text.count(b"\n", 0, start)
        same = self._alone(text[start:end], lines) == self.source.domain
        return _Own(start, end, lines) if same else None

    def _alone(self, text: bytes, lines: int) -> Domain | None:
        place = self.source.domain.location
        found = _read(text, place.target)
        return None if found is None else _rebased(found, place, lines)

    def _findings(self, domain: Domain, work: AuditWork) -> tuple[Finding, ...]:
        audited = work.domain(domain, self.source.host, self.source.target)
        if audited.crashed:
            crashed = audited.crashed[0]
            raise RefusedError(f"rule {crashed.rule} crashes on it: {crashed.error}")
        return audited.findings


def is_decided(finding: Finding) -> bool:
    """Whether a finding proposes a change that findings decide: more queues or larger rings are
    the policy's to give."""
    change = finding.change
    if change is None:
        return False
    least = _POLICYS.get(change.field)
    if least is None or change.new is None:
        return True
    return int(change.new) < int(change.old or least)


def _rebased(domain: Domain, place: Location, lines: int) -> Domain:
    """A domain that was read alone, with the places that it has in its file."""
    own, wanted = domain.location.xpath or "", place.xpath or ""
    nics = tuple(
        replace(
            nic,
            location=_moved(nic.location, own, wanted, lines),
            lines=tuple((field, line + lines) for field, line in nic.lines),
        )
        for nic in domain.nics
    )
    moved = _moved(domain.location, own, wanted, lines)
    return replace(domain, location=moved, nics=nics)


def _moved(place: Location, own: str, wanted: str, lines: int) -> Location:
    line = None if place.line is None else place.line + lines
    xpath = None if place.xpath is None else wanted + place.xpath.removeprefix(own)
    return replace(place, line=line, xpath=xpath)


def _read(text: bytes, target: str, xpath: str | None = None) -> Domain | None:
    """The domain at a place in a text; without a place the only one. None where it is not there."""
    found = [
        item for item in read_stream(BytesIO(text), target)
        if isinstance(item, Domain) and xpath in (None, item.location.xpath)
    ]  # fmt: skip
    return found[0] if len(found) == 1 or (found and xpath is not None) else None
