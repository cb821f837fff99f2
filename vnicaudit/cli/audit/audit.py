"""``vnicaudit audit``: findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Protocol

import click
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.accepting.baseline import NO_FILTER, FindingFilter, number_gone
from vnicaudit.audit.accepting.settings_entries import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.reading.targets import unique_targets
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import count
from vnicaudit.cli.audit.fixing import FixCounts, fix
from vnicaudit.cli.audit.request import AUDIT_OPTIONS, AuditOptions, AuditRequest, request_of
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.filters import options_of
from vnicaudit.cli.options.output import shows_links, terminal_width, use_color
from vnicaudit.cli.options.records import SectionedCommand, as_record, together
from vnicaudit.cli.output.files import READ_BY_OTHERS, STDOUT, ReportOutput, stream
from vnicaudit.cli.output.progress import Progress, tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import RefusedError, TargetError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Confidence, Severity
from vnicaudit.model.report import (
    Audited,
    ReportRequest,
    RunEnd,
    RunInfo,
    Summary,
    TargetResult,
    Tool,
)
from vnicaudit.reports.coverage import BaselineWriter
from vnicaudit.reports.formats import load, writer
from vnicaudit.reports.report_file import Options, Replacements, ReportWriter
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import not_judged_of, not_judged_sentence, unread_of

if TYPE_CHECKING:
    from vnicaudit.model.names import RuleInfo
    from vnicaudit.model.ranking import PageMemory
    from vnicaudit.remedy.offered import OfferedFixes

# The reports of one audit: opened before anything is read and written as it runs. Also its exit
# code.


class ReportedRun(Protocol):
    """The part of an audit, of targets or of a fleet, that reports and the exit code need."""

    @property
    def baselined(self) -> set[str]:
        """Fingerprints of the findings that are in the baseline, at whatever severity."""

    @property
    def usage(self) -> Usage:
        """The uses of the settings' suppressions."""

    @property
    def results(self) -> tuple[TargetResult, ...]:
        """Result of reading each target."""

    @property
    def summary(self) -> Summary:
        """The totals so far."""

    @property
    def graded(self) -> dict[tuple[Severity, Confidence], int]:
        """Number of findings so far, by severity and confidence."""

    def count_extra(self, audited: Audited) -> None:
        """Add findings that belong to no target to the totals."""


class Reports:
    """All reports of one audit, and its new baseline. Files appear when ``stack`` is closed."""

    def __init__(
        self,
        request: AuditRequest,
        stack: ExitStack,
        memory: Callable[[], PageMemory] | None = None,
        replacements: Replacements | None = None,
    ) -> None:
        """``memory``: the known state of a fleet, for reports that show it. ``replacements``: how
        findings are fixed in files. Raises UsageError if a report cannot be written."""
        self._request = request
        self._redactor = request.redactor
        self._baseline = _baseline(request)
        opened = _outputs(request, self._baseline, memory, replacements)
        self._outputs = [(each, stack.enter_context(output)) for each, output in opened]

    @property
    def writes_baseline(self) -> bool:
        """True if a baseline is written; findings do not fail the run then."""
        return self._baseline is not None

    def start(self, started: str) -> None:
        """Write the beginning."""
        tool = Tool("vnicaudit", __version__)
        start = RunInfo(tool, started, lambda: _catalogue(self._request), _recorded(self._request))
        if self._redactor is not None:
            start = self._redactor.run(start)
        for one, output in self._outputs:
            output.write(one.start(start))

    def add(self, audited: Iterable[Audited], before_each: Callable[[], None]) -> None:
        """Write results as they arrive."""
        for each in audited:
            before_each()
            shown = each if self._redactor is None else self._redactor.record(each)
            for one, output in self._outputs:
                output.write(one.add(shown))

    def finish(self, end: RunEnd) -> RunEnd:
        """Write the end; returns it as written (redacted if requested)."""
        if self._redactor is not None:
            end = self._redactor.record(end)
        for one, output in self._outputs:
            output.finish(one.finish(end))
        if self._baseline is not None and end.is_partial:
            tell(_partial_baseline(self._baseline.place, self._baseline.kept))
        return end


def end_of(run: ReportedRun, summary: Summary) -> RunEnd:
    """The end of an audit, with the current time."""
    return RunEnd(timestamp("seconds"), run.results, summary)


def with_closing(
    run: ReportedRun,
    products: Iterable[object],
    suppressor: Suppressor,
    finding_filter: FindingFilter = NO_FILTER,
    *,
    whole: bool,
) -> Iterator[Audited]:
    """All results, followed by findings on the suppressions themselves. Without ``whole`` (only
    part was audited), no suppression is called unused."""
    for product in products:
        if isinstance(product, Audited):
            yield product
    closing = suppressor.settings.closing(run.usage, whole=whole)
    if closing is not None:
        closing = finding_filter.apply(closing)
        run.count_extra(closing)
        yield closing


def settled_in_baseline(request: AuditRequest, run: ReportedRun, *, whole: bool) -> int:
    """Number of findings of the baseline that no longer occur; 0 unless everything was audited
    (``whole``) with all rules."""
    if not request.baseline or not whole or request.selects_rules:
        return 0

    return number_gone(request.baseline, run.baselined)


def exit_code(run: ReportedRun, request: AuditRequest) -> int:
    """The exit code of an audit. Says so on standard error if only findings of too low confidence
    would have failed it."""
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


def _baseline(request: AuditRequest) -> BaselineWriter | None:
    """Writer of the baseline; None: none is requested."""
    if not request.write_baseline:
        return None

    return BaselineWriter(request.write_baseline)


def _partial_baseline(place: str, kept: int) -> str:
    """Message for a baseline that was written although not everything could be read. ``kept``:
    number of earlier findings that stay in it."""
    if not kept:
        return (
            f"{place}: written, but some targets could not be read and have no findings in it; "
            "write it again when all targets can be read"
        )
    verb = "is" if kept == 1 else "are"
    why = "some targets could not be read"
    findings = count(kept, "finding")
    return f"{place}: written; {findings} from before did not occur again but {verb} kept: {why}"


def _outputs(
    request: AuditRequest,
    baseline: BaselineWriter | None,
    memory: Callable[[], PageMemory] | None,
    replacements: Replacements | None,
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
            view=request.view,
            sort=request.sort,
            most=request.most,
            wordings=request.platforms.wordings,
            docs_url=request.docs_url,
            links=shows_links(request.color, to_terminal=screen and stream().isatty()),
            replacements=replacements,
            memory=memory,
        )
        yield writer(name, options), ReportOutput(place, readable=name in READ_BY_OTHERS)
    if baseline is not None:
        yield baseline, ReportOutput(baseline.place)


def _recorded(request: AuditRequest) -> ReportRequest:
    """The request as recorded in a report: everything that may have kept a finding out of it."""
    options, wanted = request.reading.options, request.finding_filter
    assumed = request.reading.assumptions
    patterns = {one for each in options.selection.exclusions for one in each.patterns}
    return ReportRequest(
        request.rules,
        tuple(one for one in SEVERITIES if one in wanted.severities),
        wanted.confidence,
        tuple(sorted(wanted.owners)),
        request.baseline_file,
        tuple(sorted(patterns)),
        options.selection.changed is not None,
        options.servers.options,
        assume_qemu=str(assumed.qemu or ""),
        assume_libvirt=str(assumed.libvirt or ""),
        nova_release=str(assumed.nova or ""),
        skip_unrecognised=options.selection.skip_unrecognised,
    )


def _catalogue(request: AuditRequest) -> tuple[RuleInfo, ...]:
    return (*map(request.reading.catalogue.info, request.rules), *ABOUT_SUPPRESSIONS)


# Carry out ``vnicaudit audit``: fix, read, judge, write the reports, and find the exit code.


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


_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system
  vnicaudit audit qemu+ssh://root@kvm1/system qemu+ssh://root@kvm2/system
  vnicaudit audit /etc/libvirt/qemu --select VNIC00 --fail-on high
  vnicaudit audit openstack:prod                         servers, images and flavors
  vnicaudit audit openstack:prod --project web --project mail --zone az1
  vnicaudit audit openstack:prod qemu+ssh://cmp1/system nodes/cmp1/nova.conf
  vnicaudit audit definitions/ --severity high,error --group-by domain
  vnicaudit audit definitions/ --format concise          one line per finding
  vnicaudit audit definitions/ --view full               each finding with its fix
  vnicaudit audit definitions/ --format text --format sarif --output - --output vnic.sarif
  vnicaudit audit qemu:///system --assume-qemu 10.0      before an upgrade
  vnicaudit audit definitions/ --write-baseline known.json
  vnicaudit audit definitions/ --baseline known.json     new findings only
  vnicaudit audit definitions/ --diff                    what --fix would change
  vnicaudit audit qemu:///system --redact -o report.json  to share with others

\b
Exit codes: 0 clean, 1 findings at or above --fail-on and --fail-confidence,
2 usage or configuration, 3 internal error or a rule crashed, 4 a target could not be read,
5 a fix was not made."""


@click.command("audit", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=target_words)
@together(*AUDIT_OPTIONS)
@pass_wiring
@as_record(AuditOptions)
def command(options: AuditOptions, wiring: Wiring) -> int:
    """Audit virtual NICs and report findings.

    A TARGET is a file or folder (libvirt domain XML, QEMU command lines and logs, ps output,
    nova.conf, KubeVirt manifests, image and flavor definitions; recognised by content), - for
    standard input, /proc for the QEMU processes on this host, a libvirt URI, or openstack:CLOUD
    with a name from clouds.yaml (openstack:envvars for the OS_* variables). If the hosts of a cloud
    are targets as well, its servers are matched with their domains and nova.conf. Connections are
    read-only, and only --fix changes files.
    """
    if not options.targets and not options.nova.nova_config:
        raise click.UsageError("Missing argument 'TARGET...'.")
    return audit_with(options, wiring)
