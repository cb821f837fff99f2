"""The changes of one file, made and tried in memory, until none is left to make.

Each round makes as many changes at once as do not affect each other, one for each NIC or option. If
there is an objection, the change that causes it is found by halving, and left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.audit.reading.files import MAX_BYTES, real_path
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.opening import open_regular
from vnicaudit.errors import OwnedElsewhereError, RefusedError
from vnicaudit.knowledge.to_virtio import address_removal, rom_removal
from vnicaudit.model.domain import Domain
from vnicaudit.model.file_kind import Item
from vnicaudit.model.finding import Change, Finding, rewritten_by
from vnicaudit.model.fix import FixRefusal
from vnicaudit.model.nova import NovaConfig
from vnicaudit.model.report import Audited
from vnicaudit.remedy.check import JudgedFile, Key, MadeChange, Reader, objection
from vnicaudit.remedy.replacing import PlatformWriter, Remembering, Writers, replace_file
from vnicaudit.text.edits import Edit, OverlappingEditsError, applied

_TRIES = 256
"""Maximum number of attempts on one file. Each reads and judges it again."""


class RefusedFix(NamedTuple):
    """A finding that was not fixed, and the reason."""

    finding: Finding
    reason: str
    code: FixRefusal

    @property
    def owned(self) -> bool:
        """True if somebody else owns the text, so that it is not changed here."""
        return self.code == "owner"


class FixedText(NamedTuple):
    """The result of fixing one file's text. ``unsafe`` counts the unsafe fixes left out because
    they were not requested."""

    before: bytes
    after: bytes
    changes: tuple[Finding, ...]
    refused: tuple[RefusedFix, ...]
    unsafe: int
    writer: PlatformWriter | None
    """The writer that changed the text; None: nothing was changed."""


def fixed(
    data: bytes,
    path: str,
    work: AuditWork,
    writers: Writers,
    *,
    include_unsafe: bool,
    preferences: frozenset[str] = frozenset(),
) -> FixedText:
    """Fix what can be fixed in the text of ``path``; ``work`` finds the problems. ``preferences``:
    the files whose preferences are fixed too."""
    reader = Reader(path, work, preferences)
    rounds = _Rounds(reader, data, writers, include_unsafe=include_unsafe)
    rounds.run()
    return rounds.outcome(data)


class _Try(NamedTuple):
    """A change to be made, and its edits."""

    change: MadeChange
    writer: PlatformWriter
    edits: list[Edit]


class _Rounds:
    """The rounds of changes on one file."""

    def __init__(
        self, reader: Reader, data: bytes, writers: Writers, *, include_unsafe: bool
    ) -> None:
        self._writers = writers
        self._reader = reader
        self._data = data
        self._include_unsafe = include_unsafe
        self._reading = reader.read(data)
        self._made: dict[Key, MadeChange] = {}
        self._refused: dict[Key, RefusedFix] = {}
        self._writer: PlatformWriter | None = None

    def run(self) -> None:
        """Make changes until none is left, or the maximum number of attempts is reached."""
        at_once: int | None = None
        for _ in range(_TRIES):
            batch = self._batch(at_once)
            if not batch:
                return
            at_once = self._attempt(batch)
        for one in self._batch(None):
            self._refuse(one.change, "gave-up", f"given up after {_TRIES} attempts on this file")

    def outcome(self, before: bytes) -> FixedText:
        """The result of the fixes made so far; ``before`` is the original text."""
        left = self._candidates()
        return FixedText(
            before,
            self._data,
            tuple(one.finding for one in self._made.values()),
            tuple(self._refused.values()),
            sum(not made.change.safe for made, _writer in left if made.key not in self._refused),
            self._writer,
        )

    def _candidates(self) -> list[tuple[MadeChange, PlatformWriter]]:
        return candidates(self._reading, self._reader.work, self._writers)

    def _batch(self, at_once: int | None) -> list[_Try]:
        """The next changes: one for each NIC, or each name of an option, at most ``at_once``."""
        batch: list[_Try] = []
        taken: set[tuple[int, object]] = set()
        for made, writer in self._candidates():
            place = (
                made.subject,
                changed_place(self._reading.audited_items[made.subject].item, made),
            )
            if place in taken or not self._may_make(made, writer):
                continue
            one = self._edit_for(made, writer)
            if one is not None:
                batch.append(one)
                taken.add(place)
            if at_once is not None and len(batch) >= at_once:
                break
        return batch

    def _may_make(self, made: MadeChange, writer: PlatformWriter) -> bool:
        """False also, with the refusal recorded, if somebody else owns the definition."""
        if made.key in self._refused:
            return False
        try:
            check_owner(self._reading.audited_items[made.subject].item, writer)
        except OwnedElsewhereError as error:
            self._refuse(made, "owner", str(error))
            return False
        return self._include_unsafe or made.change.safe

    def _edit_for(self, made: MadeChange, writer: PlatformWriter) -> _Try | None:
        """The edits of a change; None, with the refusal recorded, if it cannot be made."""
        if made.key in self._made:
            self._refuse(made, "returns", "fixing other problems brings it back")
            return None
        try:
            place = made.finding.location
            edits = [
                edit for change in made.changes
                for edit in writer.edits_for(self._data, place, change)
            ]  # fmt: skip
        except RefusedError as error:
            owned = isinstance(error, OwnedElsewhereError)
            self._refuse(made, "owner" if owned else "cannot-be-written", str(error))
            return None
        return _Try(made, writer, edits)

    def _attempt(self, batch: list[_Try]) -> int | None:
        """Make the changes unless there is an objection. Returns how many to make at once next;
        None for as many as there are."""
        made = [one.change for one in batch]
        code: FixRefusal = "objection"
        try:
            data = applied(self._data, (edit for one in batch for edit in one.edits))
            reading = self._reader.read(data)
            reason = objection(self._reading, reading, made, self._writers)
        except OverlappingEditsError as error:
            code, reason = "overlaps", str(error)
        if reason is None:
            self._data, self._reading = data, reading
            self._made |= {one.key: one for one in made}
            self._writer = batch[-1].writer
        elif len(batch) > 1:
            return len(batch) // 2
        elif (without := self._without_address(batch[0])) is not None:
            return self._attempt([without])
        else:
            self._refuse(made[0], code, reason)
        return None

    def _without_address(self, one: _Try) -> _Try | None:
        """Another model, and no PCI address, which may exist for the old model alone; None if there
        is none, or it is removed already. The guest may rename its interface: that is unsafe."""
        made = one.change
        item, index = self._reading.audited_items[made.subject].item, made.finding.about.index
        if not isinstance(item, Domain) or index is None or not self._include_unsafe:
            return None
        removal = address_removal(item.nics[index], made.changes)
        if removal is None:
            return None
        # a reason to be safe is that the address stays
        why = "" if made.change.safe else f"{made.change.reason}; "
        change = replace(made.change, safe=False, reason=f"{why}{removal.reason}")
        return self._edit_for(
            made._replace(
                finding=replace(made.finding, change=change),
                change=change,
                beside=(*made.beside, removal),
            ),
            one.writer,
        )

    def _refuse(self, made: MadeChange, code: FixRefusal, reason: str) -> None:
        self._refused[made.key] = RefusedFix(made.finding, reason, code)


def candidates(
    reading: JudgedFile, work: AuditWork, writers: Writers
) -> list[tuple[MadeChange, PlatformWriter]]:
    """Every change that is proposed for a text, with the writer that can make it."""
    found: list[tuple[MadeChange, PlatformWriter]] = []
    for number, one in enumerate(reading.audited_items):
        writer = writers(one.item)
        if writer is None:
            continue
        for finding in one.audited.findings:
            if finding.change is not None and work.selects(finding):
                beside = _beside(one.item, finding, finding.change)
                found.append((MadeChange(number, finding, finding.change, beside), writer))
    return found


def _beside(item: Item, finding: Finding, change: Change) -> tuple[Change, ...]:
    """The removal of a boot ROM that goes with the old model."""
    index = finding.about.index
    if not isinstance(item, Domain) or index is None:
        return ()
    removal = rom_removal(item.nics[index].declared, change)
    return () if removal is None else (removal,)


def changed_place(item: Item, made: MadeChange) -> object:
    """The place of a change: for a NIC its number; in a configuration the section and name of the
    option, as another change of it may affect the same lines."""
    if not isinstance(item, NovaConfig):
        return made.finding.about.index
    option = item.at_place(made.finding.location)
    return option and option.written


def check_owner(item: Item, writer: PlatformWriter) -> None:
    """Raises OwnedElsewhereError for a definition that its owner regenerates."""
    if not isinstance(item, Domain) or not writer.OWNER_REWRITES:
        return
    if name := rewritten_by(item.declared.owner):
        raise OwnedElsewhereError(
            f"the definition belongs to {name}, which rewrites it: change it there"
        )


# Fix many files in place, one after the other.


class FileFixed(NamedTuple):
    """The result of fixing one file. ``before`` and ``after`` are its text if it changes, else
    empty; ``error`` says why a file with findings could not be checked again; ``backup`` is the
    copy of the old file, if one was requested."""

    path: str
    before: str = ""
    after: str = ""
    changes: int = 0
    refused: tuple[RefusedFix, ...] = ()
    unsafe: int = 0
    error: str = ""
    backup: str = ""
    risks: tuple[Finding, ...] = ()
    """The findings whose unsafe changes were made."""


def files_with_changes(products: Iterable[object], work: AuditWork) -> dict[str, bool]:
    """The files in which there is a change to make -> True if a change is of a preference. Those
    come first: they decide the result for virtual machines in other files. ``products``: what an
    audit of all files with this ``work`` yields."""
    preferences: dict[str, bool] = {}
    found: dict[str, bool] = {}
    for product in products:
        if not isinstance(product, Audited):
            continue
        of_preference = product.scope == "preference"
        for finding in product.findings:
            file = finding.location.file
            if finding.change is not None and file is not None and work.selects(finding):
                (preferences if of_preference else found)[file] = of_preference
    return preferences | {path: path in preferences for path in found}


def fix_files(
    paths: Mapping[str, bool],
    work: AuditWork,
    writers: Writers,
    *,
    include_unsafe: bool,
    write: bool,
    backup: bool = False,
    targets: Sequence[str] = (),
) -> Iterator[FileFixed]:
    """Fix each file, as :func:`files_with_changes` names them for ``targets``. ``write`` False:
    only report the result; ``backup``: keep a copy of each file that changes. If a link leads to a
    file outside all targets, that file is skipped."""
    preferences = frozenset(os.path.abspath(path) for path, of_one in paths.items() if of_one)
    tops = frozenset(map(os.path.realpath, targets))
    named = frozenset(targets)
    for path in paths:
        real = os.path.realpath(real_path(path))
        if targets and path not in named and not _is_within(real, tops):
            yield FileFixed(
                path,
                error=f"a link that leads out of the target, to {real}: name that file instead",
            )
            continue
        try:
            outcome = fixed(
                file_content(path),
                path,
                work,
                writers,
                include_unsafe=include_unsafe,
                preferences=preferences,
            )
        except OSError as error:
            yield FileFixed(path, error=error.strerror or str(error))
            continue
        replaced = _replaced(path, outcome, backup=backup) if write else None
        yield replaced or file_result(path, outcome)


def _is_within(real: str, tops: frozenset[str]) -> bool:
    """True if a file, with all links resolved, is one that the user named, or lies in a named
    folder."""
    while real not in tops:
        parent = os.path.dirname(real)
        if parent == real:
            return False
        real = parent
    return True


def fix_text(
    data: bytes, name: str, work: AuditWork, writers: Writers, *, include_unsafe: bool
) -> FileFixed:
    """The result of fixing a text that is not in a file; the fixed text is only returned."""
    outcome = fixed(data, name, work, writers, include_unsafe=include_unsafe)
    return file_result(name, outcome)


def file_result(path: str, outcome: FixedText) -> FileFixed:
    """The outcome of a file, for the report."""
    refused, unsafe = outcome.refused, outcome.unsafe
    if outcome.writer is None or outcome.before == outcome.after:
        return FileFixed(path, refused=refused, unsafe=unsafe)
    text_of = outcome.writer.text_of
    texts = text_of(outcome.before), text_of(outcome.after)
    risks = tuple(one for one in outcome.changes if one.change and not one.change.safe)
    return FileFixed(path, *texts, len(outcome.changes), refused, unsafe, risks=risks)


def _replaced(path: str, outcome: FixedText, *, backup: bool) -> FileFixed:
    copy = ""
    if outcome.before != outcome.after:
        try:
            copy = replace_file(real_path(path), outcome.before, outcome.after, backup=backup)
            if isinstance(outcome.writer, Remembering):
                outcome.writer.note_replaced(outcome.before, outcome.after)
        except RefusedError as error:
            code: FixRefusal = "cannot-be-written"
            if "edited" in error.codes:
                code = "changed-meanwhile"
            lost = (RefusedFix(finding, str(error), code) for finding in outcome.changes)
            return FileFixed(path, refused=(*outcome.refused, *lost), unsafe=outcome.unsafe)
    return file_result(path, outcome)._replace(backup=copy)


def file_content(path: str) -> bytes:
    """The file's content, up to the largest size that could be changed: a save image is larger."""
    with open_regular(real_path(path)) as stream:
        return stream.read(MAX_BYTES)
