"""Carry out ``vnicaudit audit``: fix, read, judge, write the reports, and find the exit code."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.reading.targets import unique_targets
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.clock import timestamp
from vnicaudit.base.wording import count
from vnicaudit.cli.audit.fixing import FixCounts, fix
from vnicaudit.cli.audit.reports import (
    Reports,
    end_of,
    exit_code,
    settled_in_baseline,
    with_closing,
)
from vnicaudit.cli.audit.request import AuditOptions, AuditRequest, request_of
from vnicaudit.cli.options.finding_filters import options_of
from vnicaudit.cli.output.progress import Progress
from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import RefusedError
from vnicaudit.model.report import Summary, TargetResult
from vnicaudit.reports.formats import load
from vnicaudit.reports.safe import safe
from vnicaudit.reports.unjudged import not_judged_of, unread_of
from vnicaudit.reports.wording import not_judged_sentence
from vnicaudit.reports.writer import Replacements

if TYPE_CHECKING:
    from vnicaudit.cli.wiring import Wiring
    from vnicaudit.remedy.offered import OfferedFixes

_UNREAD = 20
"""Errors of a target that are printed beside a diff."""


def audit_with(options: AuditOptions, wiring: Wiring) -> int:
    """Audit with these options; returns the exit code."""
    # reject impossible combinations before anything is written
    platforms = wiring.platforms()
    targets = unique_targets(options.targets, platforms.targets)
    return audit(request_of(options, targets, platforms))


def audit(request: AuditRequest) -> int:
    """Fix what is requested, audit and report; returns the exit code."""
    with ExitStack() as stack:
        reports = Reports(request, stack, replacements=_replacements(request))
        judging = audit_work(request, regrades=False)
        done = fix(
            request.targets, request.fixing, judging, request.reading.options, request.platforms
        )
        rows = any(load(name).NEEDS_ROWS for name, _place in request.outputs)
        work = audit_work(request, regrades=True, with_rows=rows)
        progress = Progress(enabled=not request.quiet)
        run = AuditRun(work, request.reading.options, progress, done.input)
        reports.start(timestamp("seconds"))
        products = run.items(target.name for target in request.targets)
        whole = not _is_filtered(request)
        audited = with_closing(run, products, work.suppressor, request.finding_filter, whole=whole)
        reports.add(audited, progress.clear)
        progress.clear()
        end = replace(end_of(run, _summary(run, request, done)), not_fixed=done.not_fixed)
        end = reports.finish(end)
    if request.fixing.diff:
        _tell_unread(run)
    if not request.quiet:
        _tell_not_judged(end.targets, request)
    _tell_filtered(end.summary.filtered, request)
    if done.refused and not end.is_partial:
        return RefusedError.exit_code
    return 0 if reports.writes_baseline and not end.is_partial else exit_code(run, request)


def _replacements(request: AuditRequest) -> Replacements | None:
    """How findings are fixed in files, for reports that show it; the files are read again for that.
    None if reports are redacted."""
    if request.redactor is not None:
        return None

    @cache
    def offered() -> OfferedFixes:
        # imported here: most reports do not need it
        from vnicaudit.remedy.offered import OfferedFixes

        return OfferedFixes(audit_work(request, regrades=False), request.platforms.writer)

    return lambda finding: offered().of(finding)


def audit_work(request: AuditRequest, *, regrades: bool, with_rows: bool = False) -> AuditWork:
    """The work of judging as requested. Each instance counts uses of suppressions separately.
    ``with_rows``: each domain comes with its NICs."""
    read = request.reading
    rules, catalogue = request.rules, read.catalogue
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules, catalogue)
    return AuditWork(
        rules, read.assumptions, suppressor, request.baseline, request.platforms, catalogue,
        regrades=regrades, with_rows=with_rows, finding_filter=request.finding_filter,
    )  # fmt: skip


def _tell_unread(run: AuditRun) -> None:
    """Print the read errors that a report would list: with ``--diff`` there may be no report."""
    for result in run.results:
        for number, error in enumerate(unread_of(result)):
            if number == _UNREAD:
                tell(f"… {result.unread - number:,} more in {safe(result.target)}")
                break
            tell(safe(f"{error.place}: {error.message}"))
    if run.summary.crashed:
        tell("A rule crashed: to see which, write the report (run without --diff)")


def _tell_not_judged(results: tuple[TargetResult, ...], request: AuditRequest) -> None:
    """Print how many parts of files were not judged, and where the first is, if no report lists
    them."""
    if any(load(name).NAMES_NOT_JUDGED for name, _place in request.outputs):
        return

    sentence = not_judged_sentence(results)
    if sentence:
        first = next(part.place for each in results for part in not_judged_of(each))
        more = sum(result.not_judged_count for result in results) - 1
        places = f"{first} and {more:,} more" if more else first
        tell(safe(f"{sentence}: {places}; --format text shows why"))


def _tell_filtered(number: int, request: AuditRequest) -> None:
    """Print how many findings the filters left out, if no report says so. Also with ``--quiet``,
    since they may be the reason for exit code 0."""
    silent = ("text", "concise") if request.quiet else ()
    names = [name for name, _place in request.outputs if name not in silent]
    if number and not any(load(name).TELLS_FILTERED for name in names):
        tell(f"{count(number, 'finding')} left out by {options_of(request.finding_filter)}")


def _summary(run: AuditRun, request: AuditRequest, done: FixCounts) -> Summary:
    return replace(
        run.summary,
        baseline_gone=settled_in_baseline(request, run, whole=not _is_filtered(request)),
        fixed=done.problems,
        fixed_files=done.files,
        refused=done.refused,
    )


def _is_filtered(request: AuditRequest) -> bool:
    """True if only selected servers are read."""
    return bool(request.reading.options.servers.values_by_kind)
