"""Fix many files in place, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vnicaudit.audit.progress import RunProgress
from vnicaudit.audit.reading.files import MAX_BYTES, real_path
from vnicaudit.audit.reading.options import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.opening import open_regular
from vnicaudit.errors import RefusedError
from vnicaudit.model.finding import Finding
from vnicaudit.model.fix import FixRefusal
from vnicaudit.model.report import Audited
from vnicaudit.remedy.contract import Remembering, Writers
from vnicaudit.remedy.in_place import FixedText, RefusedFix, fixed
from vnicaudit.remedy.replacing import replace_file


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


def files_with_changes(
    targets: Iterable[str],
    work: AuditWork,
    options: RunOptions,
    progress: RunProgress | None = None,
) -> dict[str, bool]:
    """The files of the targets in which there is a change to make -> True if a change is of a
    preference. Those come first: they decide the result for virtual machines in other files."""
    preferences: dict[str, bool] = {}
    found: dict[str, bool] = {}
    for product in AuditRun(work, options, progress).items(targets):
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
            _note_replaced(outcome)
        except RefusedError as error:
            code: FixRefusal = "cannot-be-written"
            if "edited" in error.codes:
                code = "changed-meanwhile"
            lost = (RefusedFix(finding, str(error), code) for finding in outcome.changes)
            return FileFixed(path, refused=(*outcome.refused, *lost), unsafe=outcome.unsafe)
    return file_result(path, outcome)._replace(backup=copy)


def _note_replaced(outcome: FixedText) -> None:
    if isinstance(outcome.writer, Remembering):
        outcome.writer.note_replaced(outcome.before, outcome.after)


def file_content(path: str) -> bytes:
    """The file's content, up to the largest size that could be changed: a save image is larger."""
    with open_regular(real_path(path)) as stream:
        return stream.read(MAX_BYTES)
