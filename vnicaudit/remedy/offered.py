"""Safe fixes of a file as replacements in its text, for tools that apply them themselves.

Each is independent of the others, and is one that ``--fix`` would make: it has been tried in
memory.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vnicaudit.audit.work import AuditWork
from vnicaudit.base.deadlines import FILE_SECONDS, Deadline, OutOfTime, is_timed
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Finding
from vnicaudit.remedy.check import MadeChange, Reader, objection
from vnicaudit.remedy.in_place import candidates, changed_place, check_owner, file_content
from vnicaudit.remedy.replacing import PlatformWriter, Writers
from vnicaudit.text.edits import Edit, LineStarts, OverlappingEditsError, Replacement, applied

_TRIES = 64
"""Maximum number of attempts on one file. Each reads and judges it again."""
_STDIN = "-"

_Place = tuple[str, int | None, int | None, str | None]


class _Offer(NamedTuple):
    change: MadeChange
    edits: list[Edit]


class OfferedFixes:
    """Fixes of one file after the other; those of the last file are remembered. A fix that is not
    checked within ``seconds`` of CPU time for its file is not offered."""

    def __init__(self, work: AuditWork, writers: Writers, seconds: float = FILE_SECONDS) -> None:
        self._work = work
        self._writers = writers
        self._seconds = seconds
        self._path = ""
        self._fixes: dict[_Place, Sequence[Replacement]] = {}

    def of(self, finding: Finding) -> Sequence[Replacement]:
        """Replacements in the file that the finding names; empty if it cannot be fixed there, or
        not safely."""
        place = finding.location
        is_safe = finding.change is not None and finding.change.safe
        if place.file is None or place.target == _STDIN or not is_safe:
            return ()
        if place.file != self._path:
            self._path, self._fixes = place.file, self._of_file(place.file)
        return self._fixes.get(_place(finding), ())

    def _of_file(self, path: str) -> dict[_Place, Sequence[Replacement]]:
        fixes: dict[_Place, Sequence[Replacement]] = {}
        try:
            with Deadline(self._seconds):
                file = _FileOffers(file_content(path), Reader(path, self._work), self._writers)
                for place, replacements in file.fixes():
                    fixes[place] = replacements
        except OSError:  # deleted meanwhile; its findings stand
            return {}
        except OutOfTime:
            if is_timed():
                raise  # an enclosing deadline is over
        return fixes


class _FileOffers:
    """The fixes offered for one file."""

    def __init__(self, data: bytes, reader: Reader, writers: Writers) -> None:
        self._data = data
        self._reader = reader
        self._writers = writers
        self._reading = reader.read(data)
        self._tries = _TRIES
        self._is_plain: bool | None = None

    def fixes(self) -> Iterator[tuple[_Place, Sequence[Replacement]]]:
        """Replacements for each fixable finding, as soon as they are checked."""
        lines = LineStarts(self._data)
        for batch in self._batches():
            for one in self._checked(batch):
                edits = sorted(set(one.edits))
                yield _place(one.change.finding), [lines.replacement(edit) for edit in edits]

    def _batches(self) -> list[list[_Offer]]:
        """Offers in batches, each with at most one for any NIC or option, so that they do not
        affect each other."""
        batches: list[list[_Offer]] = []
        met: dict[tuple[int, object], int] = {}
        for made, writer in candidates(self._reading, self._reader.work, self._writers):
            edits = self._edits(made, writer) if made.change.safe else None
            if edits is None:
                continue
            item = self._reading.audited_items[made.subject].item
            place = made.subject, changed_place(item, made)
            number = met[place] = met.get(place, -1) + 1
            if number == len(batches):
                batches.append([])
            batches[number].append(_Offer(made, edits))
        return batches

    def _edits(self, made: MadeChange, writer: PlatformWriter) -> list[Edit] | None:
        """The edits of a change; None if it cannot be made, or the text is not plain UTF-8."""
        if self._is_plain is None:
            self._is_plain = _is_plain(self._data, writer)
        if not self._is_plain:
            return None
        try:
            check_owner(self._reading.audited_items[made.subject].item, writer)
            return writer.edits_for(self._data, made.finding.location, made.change)
        except RefusedError:
            return None

    def _checked(self, batch: list[_Offer]) -> Iterator[_Offer]:
        """The offers without objections, found by halving."""
        if not batch or not self._tries:
            return
        self._tries -= 1
        if self._is_sound(batch):
            yield from batch
        elif half := len(batch) // 2:
            yield from self._checked(batch[:half])
            yield from self._checked(batch[half:])

    def _is_sound(self, batch: list[_Offer]) -> bool:
        try:
            data = applied(self._data, (edit for one in batch for edit in one.edits))
        except OverlappingEditsError:
            return False
        after = self._reader.read(data)
        made = [one.change for one in batch]
        return objection(self._reading, after, made, self._writers) is None


def _is_plain(data: bytes, writer: PlatformWriter) -> bool:
    """True if columns of the text correspond to bytes: UTF-8 without a byte order mark."""
    try:
        return writer.text_of(data).encode() == data and not data.startswith(codecs.BOM_UTF8)
    except UnicodeEncodeError:
        return False


def _place(finding: Finding) -> _Place:
    place = finding.location
    return finding.fingerprint, place.line, place.column, place.xpath
