"""Fix many files in place, one after the other."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vnicaudit.audit.files import MAX_BYTES
from vnicaudit.audit.options import RunOptions
from vnicaudit.audit.run import Run
from vnicaudit.audit.work import AuditWork
from vnicaudit.errors import RefusedError
from vnicaudit.model.report import Audited
from vnicaudit.remedy.contract import Remembering, writer_of
from vnicaudit.remedy.in_place import Outcome, Refused, fixed
from vnicaudit.remedy.replacing import replace_file
from vnicaudit.text.regular import open_regular


class FileFixed(NamedTuple):
    """What became of one file. ``before`` and ``after`` are its text where it changes, else empty;
    ``error`` says why a file with findings could not be looked at once more."""

    path: str
    before: str = ""
    after: str = ""
    made: int = 0
    refused: tuple[Refused, ...] = ()
    unsafe: int = 0
    error: str = ""


def files_with_changes(
    targets: Iterable[str], work: AuditWork, options: RunOptions
) -> dict[str, bool]:
    """The files of the targets in which there is a change to make, and whether one of them is of a
    preference. Those come first: they decide what virtual machines in other files come to."""
    preferences: dict[str, bool] = {}
    found: dict[str, bool] = {}
    for product in Run(work, options).items(targets):
        if not isinstance(product, Audited):
            continue
        of_preference = product.scope == "preference"
        for finding in product.findings:
            if finding.change is not None and finding.location.file is not None:
                (preferences if of_preference else found)[finding.location.file] = of_preference
    return preferences | {path: path in preferences for path in found}


def fix_files(
    paths: Mapping[str, bool],
    work: AuditWork,
    *,
    include_unsafe: bool,
    write: bool,
    targets: Sequence[str] = (),
) -> Iterator[FileFixed]:
    """Fix each file, as :func:`files_with_changes` names them for ``targets``. ``write`` False: say
    what would become of it. A file that a link leads to, and that is in no target, is left out."""
    preferences = frozenset(os.path.abspath(path) for path, of_one in paths.items() if of_one)
    tops = frozenset(map(os.path.realpath, targets))
    named = frozenset(targets)
    for path in paths:
        if targets and path not in named and not _is_within(real := os.path.realpath(path), tops):
            yield FileFixed(
                path, error=f"a link leads out of the target, to {real}: name that file"
            )
            continue
        try:
            outcome = fixed(
                _content(path), path, work, include_unsafe=include_unsafe, preferences=preferences
            )
        except OSError as error:
            yield FileFixed(path, error=error.strerror or str(error))
            continue
        yield _replaced(path, outcome) if write else shown(path, outcome)


def _is_within(real: str, tops: frozenset[str]) -> bool:
    """Whether a file, behind all links, is one that the user named, or in a folder he named."""
    while real not in tops:
        parent = os.path.dirname(real)
        if parent == real:
            return False
        real = parent
    return True


def fix_text(data: bytes, name: str, work: AuditWork, *, include_unsafe: bool) -> FileFixed:
    """What would become of a text that is no file's."""
    return shown(name, fixed(data, name, work, include_unsafe=include_unsafe))


def shown(path: str, outcome: Outcome) -> FileFixed:
    """An outcome, to be reported."""
    refused, unsafe = outcome.refused, outcome.unsafe
    if outcome.platform is None or outcome.before == outcome.after:
        return FileFixed(path, refused=refused, unsafe=unsafe)
    text_of = writer_of(outcome.platform).text_of
    texts = text_of(outcome.before), text_of(outcome.after)
    return FileFixed(path, *texts, len(outcome.made), refused, unsafe)


def _replaced(path: str, outcome: Outcome) -> FileFixed:
    if outcome.before != outcome.after:
        try:
            replace_file(path, outcome.before, outcome.after)
            _note_replaced(outcome)
        except RefusedError as error:
            lost = (Refused(finding, str(error), owned=False) for finding in outcome.made)
            return FileFixed(path, refused=(*outcome.refused, *lost), unsafe=outcome.unsafe)
    return shown(path, outcome)


def _note_replaced(outcome: Outcome) -> None:
    writer = None if outcome.platform is None else writer_of(outcome.platform)
    if isinstance(writer, Remembering):
        writer.note_replaced(outcome.before, outcome.after)


def _content(path: str) -> bytes:
    """The file, as far as anything is read that could be changed: a save image is larger."""
    with open_regular(path) as stream:
        return stream.read(MAX_BYTES)
