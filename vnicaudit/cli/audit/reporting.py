"""The reports of one audit: opened before anything is read and written as it runs. Also its exit
code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from datetime import date
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.accepting.baseline import number_gone
from vnicaudit.audit.accepting.settings_entries import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.audit.accepting.settings_entries import Usage
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import close_to, count, mac_hint
from vnicaudit.cli.audit.request import AuditRequest
from vnicaudit.cli.options.filters import options_of
from vnicaudit.cli.options.output import shows_links, terminal_width, use_color
from vnicaudit.cli.output.files import READ_BY_OTHERS, STDOUT, ReportOutput, stream
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import TargetError, UsageError
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
from vnicaudit.reports.findings import RULE_WORDS
from vnicaudit.reports.formats import FORMATS, writer
from vnicaudit.reports.json_parts import BaselineWriter
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import not_judged_of, not_judged_sentence, unread_of
from vnicaudit.reports.writers import Replacements, ReportWriter

if TYPE_CHECKING:
    from vnicaudit.model.names import RuleInfo
    from vnicaudit.model.ranking import PageMemory


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

    @property
    def undecided(self) -> dict[str, int]:
        """Rule -> the subjects for which it could not be judged, although it needs no live host."""

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
        place = request.write_baseline
        self._baseline = BaselineWriter(place) if place else None
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


_NAMES = 10_000
"""Most names, and MAC addresses, that are kept to suggest one of them."""


class RequestedSubjects:
    """The domains and NICs that the filter names, and those that an audit met."""

    def __init__(self, request: AuditRequest) -> None:
        self.finding_filter = finding_filter = request.finding_filter
        self._suggests = request.redactor is None
        self._missing = {*finding_filter.domains, *finding_filter.nics}
        self._names: set[str] = set()
        self._macs: set[str] = set()

    def take(self, audited: Audited) -> bool:
        """Note a result; returns whether it is reported. Its NICs must be in it (``rows``)."""
        if not (self.finding_filter.domains or self.finding_filter.nics):
            return True
        names = set(filter(None, (audited.subject, audited.uuid, audited.server)))
        macs = {row.mac for row in audited.rows if row.mac}
        places = {word for row in audited.rows for word in (str(row.index), row.target_dev) if word}
        self._missing -= names | macs | places
        if len(self._names) < _NAMES:
            self._names |= names
        if len(self._macs) < _NAMES:
            self._macs |= macs
        is_named = not self.finding_filter.domains or self.finding_filter.names(audited)
        nics = self.finding_filter.nics
        has_nic = not nics or not nics.isdisjoint(macs | places)
        return bool(audited.findings or audited.crashed) or (is_named and has_nic)

    def check(self, results: Iterable[TargetResult]) -> None:
        """Raises UsageError for a name that nothing had, if all targets could be read."""
        if any(result.status != "ok" for result in results):
            return
        names = sorted(self._names) if self._suggests else []
        macs = self._macs if self._suggests else ()
        for name in sorted(self._missing & self.finding_filter.domains):
            hint = close_to(name, names) or "; `vnicaudit nics` lists all domains"
            raise UsageError(f"--domain: there is no {name!r} in these targets{hint}")
        for name in sorted(self._missing & self.finding_filter.nics):
            if name.lower() in self._missing:
                hint = mac_hint(name, macs) or "; `vnicaudit nics` lists all NICs"
                raise UsageError(f"--nic: there is no {name!r} in these targets{hint}")


def reported_results(
    run: ReportedRun,
    products: Iterable[object],
    suppressor: Suppressor,
    named: RequestedSubjects,
    *,
    whole: bool,
) -> Iterator[Audited]:
    """All selected results, followed by findings on the suppressions themselves. Without ``whole``
    (only part was audited), or with a target that could not be read, no suppression is called
    unused."""
    for product in products:
        if isinstance(product, Audited) and named.take(product):
            yield product
    whole = whole and all(result.status != "failed" for result in run.results)
    closing = suppressor.settings.closing(run.usage, whole=whole)
    if closing is not None:
        closing = named.finding_filter.apply(closing)
        run.count_extra(closing)
        yield closing


def number_gone_from_baseline(request: AuditRequest, run: ReportedRun, *, whole: bool) -> int:
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
    if request.strict and (why := unjudged_sentence(run.results, run.undecided, places=False)):
        tell(f"Exit code 1 (--strict): {why}")
        return 1
    if request.fail_on == "never":
        return 0
    failing = SEVERITIES[SEVERITIES.index(request.fail_on) :]
    counts = CONFIDENCES[CONFIDENCES.index(request.report.fail_confidence) :]
    wanted = [pair for pair in run.graded if pair[0] in failing]
    if any(confidence in counts for _severity, confidence in wanted):
        return 1
    hints = sum(run.graded[pair] for pair in wanted)
    if hints and not request.quiet:
        which = f"{count(hints, 'finding')} of low confidence"
        verb = "do" if hints != 1 else "does"
        tell(f"Exit code 0: {which} {verb} not fail (VNICAUDIT_CONFIDENCE=low)")
    return 0


_SHOWN = 5
"""Rules that are named in one line; the others are counted."""


def unjudged_sentence(
    results: tuple[TargetResult, ...], undecided: dict[str, int], *, places: bool
) -> str:
    """How many parts of files were not judged, and which rules, in one line; empty if everything
    was that needs no live host. ``places``: name the first part."""
    told = []
    if sentence := not_judged_sentence(results):
        first = next(part.place for each in results for part in not_judged_of(each))
        more = sum(result.not_judged_count for result in results) - 1
        where = f": {first}{f' and {more:,} more' if more else ''}" if places else ""
        told.append(f"{sentence}{where}")
    if undecided:
        rules = [
            f"{RULE_WORDS.get(rule, rule)} ({undecided[rule]:,})" for rule in sorted(undecided)
        ]
        more = len(rules) - _SHOWN
        named = ", ".join(rules[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")
        told.append(f"rules not judged: {named}")
    return "; ".join(told)


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
        to_terminal = screen and stream().isatty()
        options = replace(
            request.report,
            width=terminal_width() if screen else 100,
            color=use_color(request.color, to_terminal=to_terminal),
            links=shows_links(request.color, to_terminal=to_terminal),
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
        wanted.level,
        wanted.confidence,
        tuple(sorted(wanted.owners)),
        tuple(sorted(wanted.domains)),
        tuple(sorted(wanted.nics)),
        request.baseline_file,
        tuple(sorted(patterns)),
        options.selection.changed is not None,
        options.servers.options,
        assume_qemu=str(assumed.qemu or ""),
        assume_libvirt=str(assumed.libvirt or ""),
        nova_release=str(assumed.nova or ""),
        skip_unrecognised=options.selection.skip_unrecognised,
        workload=assumed.workload or "",
    )


def _catalogue(request: AuditRequest) -> tuple[RuleInfo, ...]:
    return (*map(request.reading.catalogue.info, request.rules), *ABOUT_SUPPRESSIONS)


def audit_work(request: AuditRequest, *, for_report: bool, with_rows: bool = False) -> AuditWork:
    """The work of judging as requested. Each instance counts uses of suppressions separately.
    ``with_rows``: each domain comes with its NICs."""
    read = request.reading
    rules, catalogue = request.rules, read.catalogue
    suppressor = Suppressor(read.settings.suppressions, date.today(), rules, catalogue)
    return AuditWork(
        rules, read.assumptions, suppressor, request.baseline, request.platforms, catalogue,
        for_report=for_report, with_rows=with_rows, finding_filter=request.finding_filter,
    )  # fmt: skip


def tell_filtered(number: int, request: AuditRequest) -> None:
    """Print how many findings the filters left out, if no report says so. Also with ``--quiet``,
    since they may be the reason for exit code 0."""
    silent = ("text", "concise") if request.quiet else ()
    names = [name for name, _place in request.outputs if name not in silent]
    if number and not any(FORMATS[name].tells_filtered for name in names):
        tell(f"{count(number, 'finding')} left out by {options_of(request.finding_filter)}")


_UNREAD = 20
"""Errors of a target that are printed beside the reports."""


def tell_unread(end: RunEnd, request: AuditRequest) -> None:
    """Print the read errors if no report on the screen lists them: there is none with ``--diff``,
    or all are files. Also with ``--quiet``: they are errors."""
    if any(place == STDOUT for _name, place in request.outputs):
        return
    for result in end.targets:
        for number, error in enumerate(unread_of(result)):
            if number == _UNREAD:
                tell(f"… {result.unread - number:,} more in {safe(result.target)}")
                break
            tell(safe(f"{error.place}: {error.message}"))
    if end.summary.crashed:
        which = "the report says which" if request.outputs else "to see which, run without --diff"
        tell(f"A rule crashed: {which}")
