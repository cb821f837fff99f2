"""``vnicaudit audit --fix`` and ``--diff``: fix files, then audit what remains."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import Target
from vnicaudit.audit.work import AuditWork
from vnicaudit.audit.workers import why_not_here
from vnicaudit.base.deadlines import standard_input
from vnicaudit.base.files import BACKUP
from vnicaudit.base.wording import ascii_word, count, word
from vnicaudit.cli.options.output import Color, OutputOptions, use_color
from vnicaudit.cli.options.reading import NovaOptions
from vnicaudit.cli.options.records import group
from vnicaudit.cli.output.files import STDOUT, emit, flush, stream
from vnicaudit.cli.output.progress import ProgressLine, tell
from vnicaudit.cli.output.reading_progress import Progress, awaited_input
from vnicaudit.errors import UsageError
from vnicaudit.model.report import NotFixed
from vnicaudit.reports.safe import Paint, message, safe

if TYPE_CHECKING:
    from vnicaudit.cli.wiring.platforms import PlatformRegistry
    from vnicaudit.model.finding import Finding
    from vnicaudit.remedy.in_place import FileFixed, RefusedFix

# Progress line shown while files are fixed.


class FixingLine:
    """Counts files as they are fixed or tried. A thread shows the count every second, because one
    file may take long."""

    def __init__(
        self,
        total: int,
        *,
        writes: bool,
        enabled: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._total, self._done = total, 0
        self._doing = "Fixing" if writes else "Trying fixes"
        self._line = ProgressLine(enabled=enabled, clock=clock)
        self._lock = threading.Lock()

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Show the line inside this context."""
        self._line.tick(self.show)
        try:
            yield
        finally:
            self._line.stop_ticking()
            self._line.clear()

    @contextmanager
    def next_file(self) -> Iterator[None]:
        """Count a file. Inside this context, other output can be written."""
        with self._lock:
            self._done += 1
            self._line.clear()
            yield

    def show(self) -> None:
        """Write the line if it is due."""
        with self._lock:
            if self._line.is_due:
                self._line.show(f"{self._doing}: {self._done:,} of {count(self._total, 'file')}")


_NAMED = 20
"""Refused fixes that are listed one by one."""
_COPIES = 20
"""Backup copies for which the restore command is printed."""
_REPORTED = 10_000
"""Refused fixes listed in a report."""


class FixOptions(msgspec.Struct, frozen=True):
    """The options ``--fix`` and ``--diff`` of ``vnicaudit audit``."""

    fix: bool
    diff: bool
    include_unsafe: bool
    backup: bool


fix_options = group(
    "fixes",
    FixOptions,
    click.option(
        "--fix",
        is_flag=True,
        help="Apply safe fixes in place to nova.conf, KubeVirt manifests and offline domain XML, "
        "then report the remaining findings.",
    ),
    click.option(
        "--diff",
        is_flag=True,
        help="Print the changes that --fix would make (with --fix: those it makes) instead of the "
        "report.",
    ),
    click.option(
        "--include-unsafe",
        is_flag=True,
        help="With --fix or --diff: include fixes that may harm a guest.",
    ),
    click.option(
        "--backup",
        is_flag=True,
        help="With --fix: keep a copy of each changed file beside it, FILE.vnicaudit.bak.",
    ),
)
"""Options that change files, or show the changes."""


class FixRequest(msgspec.Struct, frozen=True):
    """Options for fixing files: write or only show the changes, and which changes are made."""

    write: bool = False
    diff: bool = False
    include_unsafe: bool = False
    backup: bool = False
    color: Color = "auto"
    quiet: bool = False

    @property
    def is_on(self) -> bool:
        """True if files are changed, or their changes shown."""
        return self.write or self.diff


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


def fixing_of(
    options: FixOptions, output: OutputOptions, nova: NovaOptions, targets: Iterable[Target]
) -> FixRequest:
    """The request made by the options. Raises UsageError if these targets cannot be fixed."""
    fixing = FixRequest(
        options.fix,
        options.diff,
        options.include_unsafe,
        options.backup,
        output.color,
        output.quiet,
    )
    if fixing.include_unsafe and not fixing.is_on:
        raise UsageError("--include-unsafe needs --fix or --diff")
    if fixing.backup and not fixing.write:
        raise UsageError("--backup needs --fix: it copies the files that --fix changes")
    if fixing.is_on and nova.nova_config:
        raise UsageError(
            "--fix and --diff do not change files named with --nova-config: name them as TARGETs"
        )
    for target in targets if fixing.is_on else ():
        if target.kind == "stdin" and fixing.write:
            raise UsageError(
                "standard input cannot be fixed in place: name a file, or use --diff without --fix"
            )
        if target.kind not in ("stdin", "path"):
            raise UsageError(
                f"{target.name}: --fix and --diff work on files only; an audit never changes a "
                "live host or cloud"
            )
    return fixing


def beside_diff(
    fixing: FixRequest, outputs: list[tuple[str, str]], formats: tuple[str, ...]
) -> list[tuple[str, str]]:
    """Reports to write. With ``--diff``, standard output is used for the diff, so the default text
    report is dropped. Raises UsageError if another report was requested there."""
    if not fixing.diff:
        return outputs
    if formats and any(place == STDOUT for _format, place in outputs):
        raise UsageError(
            "--diff writes to standard output: send the report elsewhere with --output"
        )
    return [output for output in outputs if output[1] != STDOUT]


def fix(
    targets: list[Target],
    fixing: FixRequest,
    work: AuditWork,
    options: RunOptions,
    platforms: PlatformRegistry,
) -> FixCounts:
    """Fix the files of the targets, or show how. Prints on standard error what was not fixed."""
    if not fixing.is_on:
        return FixCounts()
    from vnicaudit.remedy.in_place import files_with_changes, fix_files, fix_text

    names = [target.name for target in targets if target.kind == "path"]
    progress = Progress(enabled=not fixing.quiet)
    try:
        paths = files_with_changes(names, work, options, progress)
    finally:
        progress.clear()
    report, writer = _FixReport(fixing), platforms.writer
    found = fix_files(
        paths,
        work,
        writer,
        include_unsafe=fixing.include_unsafe,
        write=fixing.write,
        backup=fixing.backup,
        targets=names,
    )
    line = FixingLine(len(paths), writes=fixing.write, enabled=not fixing.quiet)
    with line.ticking():
        for one in found:
            with line.next_file():
                report.take(one)
    data = _stdin(quiet=fixing.quiet) if len(names) < len(targets) else None
    if data is not None and why_not_here(data, "-", platforms) is None:
        report.take(fix_text(data, "-", work, writer, include_unsafe=fixing.include_unsafe))
    return msgspec.structs.replace(report.end(), stdin=data)


class _FixReport:
    """Prints progress while files are fixed, and the totals at the end."""

    def __init__(self, fixing: FixRequest) -> None:
        self._fixing = fixing
        self._paint = Paint(color=use_color(fixing.color, to_terminal=stream().isatty()))
        self._problems = self._files = self._refused = self._unsafe = self._risks = 0
        self._owned: Counter[str] = Counter()
        self._backups = 0
        self._copies: list[str] = []
        self._not_fixed: list[NotFixed] = []

    def take(self, one: FileFixed) -> None:
        """Print and count the result for one file."""
        from vnicaudit.reports.wording import diff_lines

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
        if not self._fixing.quiet:
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
        if not self._fixing.quiet:
            for reason, number in self._owned.most_common():
                _note(f"{number:,} not fixed here: {reason}")
            self._say_numbers()
        written = self._fixing.write
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
            would = "Fixed" if self._fixing.write else "Would fix"
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
    from vnicaudit.audit.reading.files import MAX_BYTES

    stream = standard_input()
    if stream is None:
        return None
    with awaited_input(quiet=quiet):
        return stream.read(MAX_BYTES + 1)
