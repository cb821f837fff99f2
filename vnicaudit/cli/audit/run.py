"""Carry out ``vnicaudit audit``: fix, read, judge, write the reports, and find the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.accepting.stale import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.clock import timestamp
from vnicaudit.base.counting import count
from vnicaudit.cli.audit.fixing import FixCounts, fix
from vnicaudit.cli.audit.request import AuditRequest
from vnicaudit.cli.options.output import terminal_width, use_color
from vnicaudit.cli.output.files import STDOUT, ReportOutput
from vnicaudit.cli.output.stderr import Progress, tell
from vnicaudit.cli.output.stdout import stream
from vnicaudit.errors import RefusedError, TargetError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES
from vnicaudit.model.report import Audited, RuleInfo, RunEnd, RunInfo, Summary, Tool
from vnicaudit.reports.registry import load, writer
from vnicaudit.reports.writer import Options, ReportWriter

if TYPE_CHECKING:
    from vnicaudit.reports.baseline import BaselineWriter


def audit(request: AuditRequest) -> int:
    """Fix what is to be fixed, audit, report; the exit code."""
    with ExitStack() as stack:
        baseline = _baseline(request)
        opened = _outputs(request, baseline)
        outputs = [(each, stack.enter_context(output)) for each, output in opened]
        judging = _audit_work(request, regrades=False)
        done = fix(
            request.targets, request.fixing, judging, request.reading.options, request.platforms
        )
        work = _audit_work(request, regrades=True)
        progress = Progress(enabled=not request.quiet)
        run = AuditRun(work, request.reading.options, progress, done.input)
        start = RunInfo(
            Tool("vnicaudit", __version__), timestamp("seconds"), lambda: _catalogue(request)
        )
        for one, output in outputs:
            output.write(one.start(start))
        names = [target.name for target in request.targets]
        for audited in _audited(run, names, work.suppressor, whole=not _is_filtered(request)):
            progress.clear()
            for one, output in outputs:
                output.write(one.add(audited))
        progress.clear()
        end = RunEnd(
            timestamp("seconds"), run.results, _summary(run, request, done), done.not_fixed
        )
        for one, output in outputs:
            output.finish(one.finish(end))
        if baseline is not None and end.is_partial:
            tell(_partial_baseline(baseline.place, baseline.kept))
    if request.fixing.diff:
        _tell_unread(run)
    if not request.quiet:
        _tell_not_judged(run, request)
    if done.refused and not end.is_partial:
        return RefusedError.exit_code
    return 0 if baseline is not None and not end.is_partial else _exit_code(run, request)


def _baseline(request: AuditRequest) -> BaselineWriter | None:
    """Writer of the baseline; None where none is requested."""
    if not request.write_baseline:
        return None
    from vnicaudit.reports.baseline import BaselineWriter

    return BaselineWriter(request.write_baseline)


def _partial_baseline(place: str, kept: int) -> str:
    """Message on a baseline that was written although not everything was read. ``kept``: findings
    that it had before and that stay in it."""
    if not kept:
        return f"{place}: written without what could not be read; write it again when all can be"
    verb = "is" if kept == 1 else "are"
    why = "not all was read"
    findings = count(kept, "finding")
    return f"{place}: written; {findings} it had before did not come up and {verb} kept: {why}"


def _settled_in_baseline(request: AuditRequest, run: AuditRun) -> int:
    if not request.baseline or _is_filtered(request):
        return 0
    from vnicaudit.audit.accepting.baseline import number_gone

    return number_gone(request.baseline, run.baselined)


def _tell_unread(run: AuditRun) -> None:
    """Print the read errors that a report would list: with ``--diff`` there may be no report."""
    from vnicaudit.reports.safe import safe
    from vnicaudit.reports.wording import unread_of

    for result in run.results:
        for error in unread_of(result):
            tell(safe(f"{error.place}: {error.message}"))
    if run.summary.crashed:
        tell("A rule crashed: the report, without --diff, says which")


def _tell_not_judged(run: AuditRun, request: AuditRequest) -> None:
    """Print how many parts of files were not judged and where the first is, if no report names
    them."""
    if any(load(name).NAMES_NOT_JUDGED for name, _place in request.outputs):
        return
    from vnicaudit.reports.safe import safe
    from vnicaudit.reports.wording import not_judged_of, not_judged_sentence

    sentence = not_judged_sentence(run.results)
    if sentence:
        first = next(part.place for each in run.results for part in not_judged_of(each))
        more = sum(result.not_judged_count for result in run.results) - 1
        places = f"{first} and {more:,} more" if more else first
        tell(safe(f"{sentence}: {places}; --format text says why"))


def _summary(run: AuditRun, request: AuditRequest, done: FixCounts) -> Summary:
    return replace(
        run.summary,
        baseline_gone=_settled_in_baseline(request, run),
        fixed=done.problems,
        fixed_files=done.files,
        refused=done.refused,
    )


def _audit_work(request: AuditRequest, *, regrades: bool) -> AuditWork:
    """Judging as ordered; each use of it counts suppressions for itself."""
    read = request.reading
    rules, catalogue = request.rules, read.catalogue
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules, catalogue)
    return AuditWork(
        rules, read.assumptions, suppressor, request.baseline, request.platforms, catalogue,
        regrades=regrades,
    )  # fmt: skip


def _is_filtered(request: AuditRequest) -> bool:
    """True where only selected servers are read."""
    return bool(request.reading.options.servers.values_by_kind)


def _audited(
    run: AuditRun, targets: Iterable[str], suppressor: Suppressor, *, whole: bool
) -> Iterator[Audited]:
    """Everything that was audited, and at the end what is to be said of the suppressions; where not
    the ``whole`` was looked at, none is called unused."""
    for product in run.items(targets):
        if isinstance(product, Audited):
            yield product
    closing = suppressor.closing(run.usage, whole=whole)
    if closing is not None:
        run.count_extra(closing)
        yield closing


def _outputs(
    request: AuditRequest, baseline: BaselineWriter | None
) -> Iterator[tuple[ReportWriter, ReportOutput]]:
    for name, place in request.outputs:
        screen = place == STDOUT
        options = Options(
            width=terminal_width() if screen else 100,
            color=use_color(request.color, to_terminal=screen and stream().isatty()),
            verbose=request.verbose,
            quiet=request.quiet,
            fail_confidence=request.fail_confidence,
            group_by=request.group_by,
            wordings=request.platforms.wordings,
        )
        yield writer(name, options), ReportOutput(place)
    if baseline is not None:
        yield baseline, ReportOutput(baseline.place)


def _catalogue(request: AuditRequest) -> tuple[RuleInfo, ...]:
    return (*map(request.reading.catalogue.info, request.rules), *ABOUT_SUPPRESSIONS)


def _exit_code(run: AuditRun, request: AuditRequest) -> int:
    summary = run.summary
    if summary.crashed:
        return 3
    if any(result.status != "ok" for result in run.results):
        return TargetError.exit_code
    if request.fail_on == "never":
        return 0
    failing = SEVERITIES[SEVERITIES.index(request.fail_on) :]
    counts = CONFIDENCES[CONFIDENCES.index(request.fail_confidence) :]
    wanted = [pair for pair in run.graded if pair[0] in failing]
    if any(confidence in counts for _severity, confidence in wanted):
        return 1
    hints = sum(run.graded[pair] for pair in wanted)
    if hints and not request.quiet:
        less = "low" if request.fail_confidence == "medium" else "low or medium"
        which = f"{count(hints, 'finding')} of {less} confidence"
        option = f"--fail-confidence {wanted[0][1] if hints == 1 else 'low'}"
        tell(f"Exit code 0: {which} {'do' if hints != 1 else 'does'} not fail ({option})")
    return 0
