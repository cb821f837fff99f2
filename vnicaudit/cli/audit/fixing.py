"""``vnicaudit audit --fix`` and ``--diff``: fix files, then audit what remains."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.audit.reading.files import MAX_BYTES
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.audit.workers import why_not_here
from vnicaudit.base.deadlines import standard_input
from vnicaudit.base.files import BACKUP
from vnicaudit.base.wording import ascii_word, count, word
from vnicaudit.cli.audit.reporting import RequestedSubjects
from vnicaudit.cli.options.output import use_color
from vnicaudit.cli.output.files import emit, flush, stream
from vnicaudit.cli.output.progress import ProgressLine, tell
from vnicaudit.cli.output.reading_progress import Progress, awaited_input
from vnicaudit.model.report import Audited, NotFixed
from vnicaudit.reports.safe import Paint, message, safe

if TYPE_CHECKING:
    from vnicaudit.cli.audit.request import AuditRequest
    from vnicaudit.model.finding import Finding
    from vnicaudit.remedy.in_place import FileFixed, RefusedFix

_NAMED = 20
"""Refused fixes that are listed one by one."""
_COPIES = 20
"""Backup copies for which the restore command is printed."""
_REPORTED = 10_000
"""Refused fixes listed in a report."""


class FixCounts(msgspec.Struct, frozen=True):
    """Counts of files and problems that were changed or refused. ``stdin``: standard input, if it
    was read for fixing. ``not_fixed``: the first refused fixes."""

    problems: int = 0
    files: int = 0
    refused: int = 0
    stdin: bytes | None = None
    not_fixed: tuple[NotFixed, ...] = ()

    @property
    def input(self) -> BytesIO | None:
        """Standard input, to be read again by the audit."""
        return None if self.stdin is None else BytesIO(self.stdin)


def fix(request: AuditRequest, work: AuditWork) -> FixCounts:
    """Fix the files of the targets, or show how. Prints on standard error what was not fixed."""
    targets, fixing, platforms = request.targets, request.fixing, request.platforms
    if not fixing.is_on:
        return FixCounts()
    from vnicaudit.remedy.in_place import files_with_changes, fix_files, fix_text

    names = [target.name for target in targets if target.kind == "path"]
    progress = Progress(enabled=not request.quiet)
    run, named = AuditRun(work, request.reading.options, progress), RequestedSubjects(request)
    try:
        paths = files_with_changes(_with_names_noted(run.items(names), named), work)
    finally:
        progress.clear()
    if len(names) == len(targets):  # otherwise it may be the name of what comes in by a pipe
        named.check(run.results)
    report, writer = _FixReport(request), platforms.writer
    found = fix_files(
        paths,
        work,
        writer,
        include_unsafe=fixing.include_unsafe,
        write=fixing.fix,
        backup=fixing.backup,
        targets=names,
    )
    line = ProgressLine(enabled=not request.quiet, clock=time.monotonic)
    doing = "Fixing" if fixing.fix else "Trying fixes"
    for number, one in enumerate(found, 1):
        line.clear()
        report.take(one)
        if line.is_due:
            line.show(f"{doing}: {number:,} of {count(len(paths), 'file')}")
    line.clear()
    data = _stdin(quiet=request.quiet) if len(names) < len(targets) else None
    if data is not None and why_not_here(data, "-", platforms) is None:
        report.take(fix_text(data, "-", work, writer, include_unsafe=fixing.include_unsafe))
    return msgspec.structs.replace(report.end(), stdin=data)


def _with_names_noted(products: Iterable[object], named: RequestedSubjects) -> Iterator[object]:
    """The products of an audit, whose names are noted: nothing is written for a misspelt one."""
    for product in products:
        if isinstance(product, Audited):
            named.take(product)
        yield product


class _FixReport:
    """Prints progress while files are fixed, and the totals at the end."""

    def __init__(self, request: AuditRequest) -> None:
        self._fixing, self._quiet = request.fixing, request.quiet
        self._paint = Paint(color=use_color(request.color, to_terminal=stream().isatty()))
        self._problems = self._files = self._refused = self._unsafe = self._risks = 0
        self._owned: Counter[str] = Counter()
        self._backups = 0
        self._copies: list[str] = []
        self._not_fixed: list[NotFixed] = []

    def take(self, one: FileFixed) -> None:
        """Print and count the result for one file."""
        from vnicaudit.reports.unified_diff import diff_lines

        if self._fixing.diff:
            for line in diff_lines(one.before, one.after, one.path, self._paint):
                emit(line)
        self._problems += one.changes
        self._files += bool(one.changes)
        self._unsafe += one.unsafe
        if one.backup:
            self._backups += 1
            if len(self._copies) < _COPIES:
                self._copies.append(one.backup)
        if not self._quiet:
            self._tell_risks(one.risks)
        if one.error:
            self._tell_refused(f"{one.path}: not fixed: {one.error}")
        for refused in one.refused:
            self._note_refused(refused)
            if refused.owned:
                self._owned[refused.reason] += 1
            else:
                place, rule = refused.finding.location, refused.finding.rule
                self._tell_refused(f"{place}: {rule} not fixed: {refused.reason}")

    def end(self) -> FixCounts:
        """Return the totals, and print those that the report does not contain."""
        if self._risks > _NAMED:
            _note(f"… {self._risks - _NAMED:,} more unsafe changes")
        if self._refused > _NAMED:
            _note(f"… {self._refused - _NAMED:,} more not fixed")
        if not self._quiet:
            for reason, number in self._owned.most_common():
                _note(f"{number:,} not fixed here: {reason}")
            self._say_numbers()
        written = self._fixing.fix
        return FixCounts(
            self._problems * written,
            self._files * written,
            self._refused,
            not_fixed=tuple(self._not_fixed),
        )

    def _note_refused(self, one: RefusedFix) -> None:
        if len(self._not_fixed) < _REPORTED:
            self._not_fixed.append(NotFixed(one.finding.fingerprint, one.code, one.reason))

    def _tell_refused(self, text: str) -> None:
        self._refused += 1
        if self._refused <= _NAMED:
            _note(text)

    def _tell_risks(self, findings: tuple[Finding, ...]) -> None:
        for finding in findings:
            self._risks += 1
            if self._risks <= _NAMED and finding.change is not None:
                _note(f"{finding.location}: {finding.rule} unsafe: {finding.change.reason}")

    def _say_numbers(self) -> None:
        if self._fixing.diff and not self._problems:
            _note("Nothing to fix")
        elif self._fixing.diff:
            would = "Fixed" if self._fixing.fix else "Would fix"
            problems = count(self._problems, "problem")
            _note(f"{would} {problems} in {count(self._files, 'file')}")
        if self._backups:
            self._say_way_back()
        if self._unsafe:
            _note(f"{self._unsafe:,} more with unsafe fixes (--include-unsafe)")

    def _say_way_back(self) -> None:
        kept = f"Saved a copy of {count(self._backups, 'file')}; to restore:"
        commands = list(map(_way_back, self._copies))
        if self._backups == 1:
            _note(f"{kept} {commands[0]}")
            return
        for line in (kept, *(f"  {command}" for command in commands)):
            _note(line)
        if more := self._backups - len(commands):
            _note(f"  … {more:,} more")


def _way_back(copy: str) -> str:
    """The command that restores a file from its backup copy."""
    return f"mv {_word(copy)} {_word(copy[: copy.rindex(BACKUP)])}"


def _word(path: str) -> str:
    """A path as one shell word, escaped if it is not safe to print."""
    return word(path) if safe(path) == path else ascii_word(path)


def _note(text: str) -> None:
    flush()  # the output it refers to comes first, even if both go to the same place
    tell(message(text))


def _stdin(*, quiet: bool) -> bytes | None:
    """Standard input, read once; None if it is closed (the audit reports that)."""
    stream = standard_input()
    if stream is None:
        return None
    with awaited_input(quiet=quiet):
        return stream.read(MAX_BYTES + 1)
