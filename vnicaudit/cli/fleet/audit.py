"""``vnicaudit fleet audit``: audit all hosts of an inventory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import lru_cache
from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit import __version__
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import count, time_id
from vnicaudit.cli.audit.audit import (
    Reports,
    audit_work,
    end_of,
    exit_code,
    settled_in_baseline,
    with_closing,
)
from vnicaudit.cli.fleet.options import (
    engine_of,
    engine_options,
    inventory_notes,
    inventory_options,
    is_exposed,
    running_options,
    sample_options,
    traffic_option,
)
from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.cli.fleet.request import FleetAuditOptions, FleetRequest, digest_of, fleet_request
from vnicaudit.cli.options.output import output_options, redaction_options, reporting_options
from vnicaudit.cli.options.reading import history_option, reading_options
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_option
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import HistoryError, MissingExtraError, TargetError, UsageError
from vnicaudit.fleet.plan_history import ReadingSink
from vnicaudit.fleet.ranking import rank
from vnicaudit.fleet.running.engines.threads import ReadingEngine
from vnicaudit.fleet.running.fleet_run import FleetRun, fleet_lock
from vnicaudit.fleet.running.spool import AuditSpool, SpoolFolder
from vnicaudit.history.opening import history_to_read
from vnicaudit.model.fleet import FleetAudit
from vnicaudit.model.report import RunEnd
from vnicaudit.reports.coverage import coverage_sentence
from vnicaudit.reports.page.from_audit import FindingHistory, FindingState, PageMemory
from vnicaudit.reports.page.from_history import changes_of, settled_of
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met

# The inventory, history and ranking of a fleet, for the report of one of its audits.


FIRST = 10
"""Changes of the ranking shown in a report."""
_AGAIN: dict[str, FindingState] = {"fixed": "reopened", "gone": "returned"}
"""Previous state of a finding that occurs again -> its state in the report; with any other previous
state it is "known"."""


class AuditMemory:
    """The history's knowledge about one audit. Before the audit is stored: the state of each known
    finding. Afterwards (``is_stored``): what the audit changed. Nothing if names are redacted,
    since the history contains them, or once the history has failed: it is optional."""

    def __init__(self, request: FleetRequest) -> None:
        self._request = request
        self.run: FleetRun | None = None
        self.is_stored = False
        self.has_failed = False

    @contextmanager
    def optional(self, consequence: str) -> Iterator[None]:
        """Work with the history; if it fails, that is told, with the ``consequence``."""
        try:
            yield
        except HistoryError as error:
            self.has_failed = True
            tell(safe(f"Warning: {self._request.redacted(str(error))}; {consequence}"))

    def now(self) -> PageMemory:
        """Everything known at this moment."""
        run = self.run
        if run is None or self.has_failed or self._request.audit.redactor is not None:
            return PageMemory()
        with self.optional("the report lacks what it knows"):
            return self._changed(run) if self.is_stored else self._before(run)
        return PageMemory()

    def _before(self, run: FleetRun) -> PageMemory:
        """The state that each known finding will have if it occurs."""
        findings: dict[str, FindingHistory] = {}
        try:
            with (
                history_to_read(self._request.history.place) as history,
                history.fleet_state() as state,
            ):
                for one in state.settled():
                    findings[one.fingerprint] = _past(one.state, one.first_seen)
                for group in state.groups(state.hosts()):
                    for _host, marks in state.marks_on(group):
                        findings |= {key: _past(*mark) for key, mark in marks.items()}
        except MissingExtraError:
            return PageMemory(hosts=_hosts(run))
        except UsageError:  # nothing is stored yet: everything is new
            findings = {}
        new = FindingHistory("new", run.audit.started)
        return PageMemory(hosts=_hosts(run), findings=findings, unknown=new)

    def _changed(self, run: FleetRun) -> PageMemory:
        with history_to_read(self._request.history.place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                summary = state.summary()
                ended = [one for one in state.settled() if one.until is not None]
        readings = (kept.reading() for kept in run.readings())
        catalogue = self._request.audit.reading.catalogue
        return PageMemory(
            hosts=_hosts(run),
            changes=changes_of(summary),
            trend=summary.audits,
            settled=tuple(map(settled_of, ended)),
            ranking=rank(run.audit, readings, gains, most=FIRST, per_place=False),
            rules_left_out=tuple(sorted(set(catalogue.ids) - set(run.audit.coverage.rules))),
        )


@lru_cache(maxsize=1024)
def _past(state: str, first_seen: str) -> FindingHistory:
    """Cached so that equal values are one object: many findings of a fleet share state and day."""
    return FindingHistory(_AGAIN.get(state, "known"), first_seen)


def _hosts(run: FleetRun) -> dict[str, tuple[str, str]]:
    return {host.uri: (host.name, host.site) for host in run.audit.hosts}


# Run ``vnicaudit fleet audit``: read hosts in parallel into the spool, report from the spool, and
# store the audit in the history.


_EXPOSED = (
    "no TLS: anyone on the network path, or who can reach the scheduler, can run programs on its "
    "workers and on this machine"
)


def audit_fleet(request: FleetRequest, wiring: Wiring) -> int:
    """Audit the fleet, report, and store the readings; returns the exit code."""
    _tell_notes(request)
    with fleet_lock(request.state), ExitStack() as stack:
        stack.enter_context(_redacted_errors(request))
        memory, sink = AuditMemory(request), None
        with memory.optional("hosts are audited and reported, but nothing is stored"):
            sink = _sink(request, wiring)
        reports = Reports(request.audit, stack, memory.now)
        engine = _engine(request, wiring)
        stack.callback(engine.close)
        folder = SpoolFolder(request.state)
        spool = _resumed(request, folder) if request.resume else _new_spool(request, folder)
        work = audit_work(request.audit, regrades=True, with_rows=True)
        run = FleetRun(work, spool, spool.audit())
        memory.run = run
        progress = FleetProgress(len(run.audit.chosen_hosts), enabled=not request.audit.quiet)
        _read(run, request, engine, progress)
        _report(run, reports)
        finished = msgspec.structs.replace(
            run.audit, finished=timestamp("seconds"), compared=run.are_compared
        )
        if sink is not None:
            with memory.optional("the audit is reported, but not stored"):
                sink.take(finished, run.compared_readings())
                memory.is_stored = True
        end = _finish(run, reports, request)
        spool.write_audit(finished)
        folder.drop_old()
    if not request.audit.quiet:
        _tell_summary(end, progress)
    is_baseline = reports.writes_baseline and not end.is_partial
    code = 0 if is_baseline else exit_code(run, request.audit)
    return HistoryError.exit_code if memory.has_failed and code <= 1 else code


def _sink(request: FleetRequest, wiring: Wiring) -> ReadingSink | None:
    """The sink that stores the audit in the history. Raises HistoryError if it cannot."""
    history = request.history
    return wiring.sink(history.place, history.is_named, request.audit.quiet)


def _tell_notes(request: FleetRequest) -> None:
    if request.audit.quiet:
        return
    for note in inventory_notes(request.selection, request.audit.redactor):
        tell(safe(f"Note: {note}"))
    if is_exposed(request.engine):
        where = request.redacted(f"--scheduler {request.engine.scheduler}")
        tell(safe(f"Note: {where}: {_EXPOSED}"))


@contextmanager
def _redacted_errors(request: FleetRequest) -> Iterator[None]:
    """Redact an error that ends the audit: it may name a database or a scheduler."""
    try:
        yield
    except (HistoryError, TargetError) as error:
        if request.audit.redactor is None:
            raise
        raise type(error)(request.redacted(str(error))) from None


def _new_spool(request: FleetRequest, folder: SpoolFolder) -> AuditSpool:
    """Start the spool of a new audit."""
    if folder.unfinished() is not None and not request.audit.quiet:
        tell("Note: the last audit was interrupted; --resume would have continued it")
    spool = folder.new(time_id(datetime.now(timezone.utc)))
    audit = FleetAudit(
        id=spool.folder.name,
        started=timestamp("seconds"),
        version=__version__,
        coverage=request.coverage,
        hosts=request.selection.inventory.hosts,
        chosen_hosts=tuple(host.name for host in request.drawn),
        request=digest_of(request),
    )
    spool.write_audit(audit)
    return spool


def _resumed(request: FleetRequest, folder: SpoolFolder) -> AuditSpool:
    """The spool of the interrupted audit. Raises UsageError if there is none, or if its request was
    different."""
    spool = folder.unfinished()
    if spool is None:
        last = folder.finished()
        there = (
            f"no audit is stored in {request.state}"
            if last is None
            else (f"the last audit, {last.folder.name}, was not interrupted")
        )
        raise UsageError(f"--resume: {there}; run without --resume")
    audit = spool.audit()
    if audit.request != digest_of(request):
        raise UsageError(
            f"--resume: audit {audit.id} was started with other rules, settings, --limit or "
            "--sample, or by another version; use the same again, or run without --resume"
        )
    if audit.hosts != request.selection.inventory.hosts and not request.audit.quiet:
        tell("Note: the inventory has changed since; reading the hosts of the interrupted audit")
    return spool


def _engine(request: FleetRequest, wiring: Wiring) -> ReadingEngine[Met]:
    plain = request.audit.reading.options.live
    live = msgspec.structs.replace(plain, traffic=request.traffic)
    read = wiring.platforms().read_live
    return engine_of(request.engine, read, live, request.limits.host_deadline)


def _read(
    run: FleetRun, request: FleetRequest, engine: ReadingEngine[Met], progress: FleetProgress
) -> None:
    """Read the missing hosts. If interrupted, says what has been stored."""
    coverage = run.audit.coverage
    sample = msgspec.structs.replace(request.sample, seed=coverage.seed or 0)
    run.find_missing(progress)
    progress.resumed()
    progress.reads()
    try:
        run.read(engine, request.limits, sample, progress)
    except (KeyboardInterrupt, TargetError):
        progress.clear()
        kept = f"{run.host_count():,} of {count(len(run.audit.chosen_hosts), 'host')}"
        tell(f"{kept} were read and stored; to continue, run the same command with --resume")
        raise
    finally:
        progress.clear()


def _report(run: FleetRun, reports: Reports) -> None:
    """Write the reports from the spool, except for their ends."""
    whole = run.audit.coverage.is_whole and not run.resumed
    reports.start(run.audit.started)
    reports.add(with_closing(run, run.items(), run.suppressor, whole=whole), lambda: None)


def _finish(run: FleetRun, reports: Reports, request: FleetRequest) -> RunEnd:
    """Write the ends of the reports."""
    coverage = run.audit.coverage
    gone = settled_in_baseline(request.audit, run, whole=coverage.is_whole)
    summary = msgspec.structs.replace(run.summary, baseline_gone=gone)
    end = msgspec.structs.replace(end_of(run, summary), coverage=coverage)
    return reports.finish(end)


def _tell_summary(end: RunEnd, progress: FleetProgress) -> None:
    """Print on standard error how many hosts were read, and why others were not."""
    tell(progress.summary())
    if sentence := coverage_sentence(end.coverage):
        tell(safe(f"Audited only part of the fleet: {sentence}"))


_EPILOG = """\b
Examples:
  vnicaudit fleet audit -i fleet.toml
  vnicaudit fleet audit -i fleet.toml --format json -o fleet.json
  vnicaudit fleet audit -i hosts.ini --limit 'zone_a,!kvm7'
  vnicaudit fleet audit -i hosts.ini -i openstack:prod --parallel 64 --per-site 16
  vnicaudit fleet audit -i fleet.toml --sample 5%        a quick daily check
  vnicaudit fleet audit -i fleet.toml --traffic 30       with counters, for fleet top
  vnicaudit fleet audit -i fleet.toml --resume           resume after Ctrl-C or a crash
  vnicaudit fleet audit -i fleet.toml --engine dask --scheduler tls://dask:8786

\b
Exit codes: 0 clean, 1 findings at or above --fail-on and --fail-confidence,
2 usage or configuration, 3 internal error or a rule crashed, 4 a host could not be read (each is
explained), 5 another audit of this fleet is under way, 130 interrupted."""


@click.command("audit", cls=SectionedCommand, epilog=_EPILOG)
@inventory_options
@running_options
@engine_options
@traffic_option
@sample_options
@click.option(
    "--resume",
    is_flag=True,
    help="Resume the last, interrupted audit: read only the hosts that it had not read.",
)
@history_option
@state_option
@reporting_options
@redaction_options
@reading_options
@output_options
@pass_wiring
@as_record(FleetAuditOptions)
def command(options: FleetAuditOptions, wiring: Wiring) -> int:
    """Audit the hosts of an inventory in parallel and report findings.

    Hosts are read over read-only connections; nothing is changed. If a host cannot be read or stops
    answering, the others are still reported, and the exit code is 4. Results are saved in the state
    directory, so that an interrupted audit can be resumed, and stored in the history: see
    `vnicaudit history`, `trend` and `drift`.
    """
    return audit_fleet(fleet_request(options, wiring), wiring)
