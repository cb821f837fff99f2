"""Run ``vnicaudit fleet audit``: read hosts in parallel into the spool, report from the spool, and
store the audit in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import msgspec

from vnicaudit import __version__
from vnicaudit.base.clock import timestamp
from vnicaudit.base.identifiers import time_id
from vnicaudit.base.wording import count
from vnicaudit.cli.audit.reports import (
    Reports,
    end_of,
    exit_code,
    settled_in_baseline,
    with_closing,
)
from vnicaudit.cli.audit.run import audit_work
from vnicaudit.cli.fleet.engine import engine_of, is_exposed
from vnicaudit.cli.fleet.memory import AuditMemory
from vnicaudit.cli.fleet.options import inventory_notes
from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.cli.fleet.request import FleetRequest, digest_of
from vnicaudit.cli.output.stderr import tell
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import HistoryError, TargetError, UsageError
from vnicaudit.fleet.running.engines.engine import ReadingEngine
from vnicaudit.fleet.running.fleet_run import FleetRun
from vnicaudit.fleet.running.lock import fleet_lock
from vnicaudit.fleet.running.spool import AuditSpool, SpoolFolder
from vnicaudit.fleet.sink import ReadingSink
from vnicaudit.model.fleet import FleetAudit
from vnicaudit.model.report import RunEnd
from vnicaudit.reports.coverage import coverage_sentence
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import Met

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
