"""``vnicaudit audit -i``: read the hosts of an inventory in parallel into the spool, report from
there, and store the audit in the history."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from vnicaudit import __version__
from vnicaudit.audit.accepting.baseline import NO_FILTER
from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.wording import count, time_id
from vnicaudit.cli.audit.reporting import (
    Reports,
    RequestedSubjects,
    audit_work,
    end_of,
    exit_code,
    number_gone_from_baseline,
    reported_results,
    tell_filtered,
    tell_unread,
)
from vnicaudit.cli.audit.request import AuditOptions, AuditRequest, FleetOptions, request_of
from vnicaudit.cli.fleet.hosts import (
    ChosenHosts,
    check_scheduler,
    chosen_hosts,
    engine_of,
    tell_inventory,
)
from vnicaudit.cli.fleet.progress import FleetProgress
from vnicaudit.cli.options.environment import Environment
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.wiring import Wiring
from vnicaudit.errors import HistoryError, MissingExtraError, TargetError, UsageError
from vnicaudit.fleet.fleet_run import FleetRun, fleet_lock
from vnicaudit.fleet.host_reading import ReadingEngine
from vnicaudit.fleet.plan_history import AuditSample
from vnicaudit.fleet.ranking import rank
from vnicaudit.fleet.spool import AuditSpool, SpoolFolder
from vnicaudit.history import history_to_read
from vnicaudit.history.place import HistoryPlace, NothingStoredError
from vnicaudit.model.fleet import Coverage, FleetAudit, InventoryHost, LiveOptions
from vnicaudit.model.ranking import FindingHistory, PageMemory
from vnicaudit.model.report import RunEnd
from vnicaudit.reports.page.from_history import changes_of
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import coverage_sentence

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem


# The history of a fleet, for the reports of one audit.


FIRST = 10
"""Changes of the ranking shown in a report."""
_AGAIN = {"fixed": "reopened", "gone": "returned"}
"""Previous state of a finding that occurs again -> its state in the report; with any other previous
state it is "known"."""


class AuditMemory:
    """The history's knowledge about one audit. Before the audit is stored: the state of each known
    finding. Afterwards (``is_stored``): what the audit changed. Nothing if names are redacted,
    since the history contains them, or once the history has failed: it is optional."""

    def __init__(
        self, place: HistoryPlace, rules: Collection[str], redact: Callable[[str], str] | None
    ) -> None:
        """``rules``: all ids; ``redact``: pseudonyms for a text, None: names are not redacted."""
        self._place = place
        self._rules = rules
        self._redact = redact
        self.run: FleetRun | None = None
        self.is_stored = False
        self.has_failed = False

    @contextmanager
    def optional(self, consequence: str) -> Iterator[None]:
        """Work with the history; if it fails, that is told, with the ``consequence``."""
        try:
            yield
        except (HistoryError, UsageError) as error:
            self.has_failed = True
            text = str(error) if self._redact is None else self._redact(str(error))
            tell(safe(f"Warning: {text}; {consequence}"))

    def now(self) -> PageMemory:
        """Everything known at this moment."""
        run = self.run
        if run is None or self.has_failed or self._redact is not None:
            return PageMemory()
        with self.optional("the report lacks what it knows"):
            return self._changed(run) if self.is_stored else self._before(run)
        return PageMemory()

    def _before(self, run: FleetRun) -> PageMemory:
        """The state that each known finding will have if it occurs."""
        findings: dict[str, FindingHistory] = {}
        try:
            with (
                history_to_read(self._place) as history,
                history.fleet_state() as state,
            ):
                for one in state.settled():
                    findings[one.fingerprint] = _past(one.state, one.first_seen)
                for _host, known in state.open_on(state.hosts()):
                    for one in known:
                        findings[one.fingerprint] = _past(one.state, one.first_seen)
        except MissingExtraError:
            return PageMemory(hosts=_hosts(run))
        except NothingStoredError:  # everything is new
            findings = {}
        new = FindingHistory("new", run.audit.started)
        return PageMemory(hosts=_hosts(run), findings=findings, unknown=new)

    def _changed(self, run: FleetRun) -> PageMemory:
        with history_to_read(self._place) as history:
            gains = history.gains()
            with history.fleet_state() as state:
                summary = state.summary()
                ended = [one for one in state.settled() if one.until is not None]
        readings = (kept.reading() for kept in run.readings())
        return PageMemory(
            hosts=_hosts(run),
            changes=changes_of(summary),
            trend=summary.audits,
            settled=tuple(ended),
            ranking=rank(run.audit, readings, gains, most=FIRST, per_place=False),
            rules_left_out=tuple(sorted(set(self._rules) - set(run.audit.coverage.rules))),
        )


@lru_cache(maxsize=1024)
def _past(state: str, first_seen: str) -> FindingHistory:
    """Cached so that equal values are one object: many findings of a fleet share state and day."""
    return FindingHistory(_AGAIN.get(state, "known"), first_seen)


def _hosts(run: FleetRun) -> dict[str, tuple[str, str]]:
    return {host.uri: (host.name, host.site) for host in run.audit.hosts}


# The audit.


class FleetRequest(msgspec.Struct, frozen=True):
    """The requested audit of an inventory. ``audit``: how its hosts are judged and reported.
    ``selection``: the inventory and its hosts that match ``--limit``. ``drawn``: those of them that
    will be read."""

    audit: AuditRequest
    selection: ChosenHosts
    drawn: tuple[InventoryHost, ...]
    limit: str
    settings: Environment
    sample: AuditSample
    state: Path
    history: HistoryOptions
    resume: bool
    traffic: float | None = None
    """Seconds between the two readings of counters; None: they are not read."""

    def redacted(self, text: str) -> str:
        """A text for the user; with ``--redact``, without names and addresses."""
        if self.audit.redactor is None:
            return text
        return self.audit.redactor.knowing(self.selection.inventory.hosts).text(text)

    @property
    def live(self) -> LiveOptions:
        """How each host is read."""
        return msgspec.structs.replace(self.audit.reading.options.live, traffic=self.traffic)

    @property
    def coverage(self) -> Coverage:
        """The part of the inventory that will be audited."""
        sample = self.sample
        return Coverage(
            rules=self.audit.rules,
            limit=self.limit,
            host_share=sample.host_share,
            nic_share=sample.nic_share,
            seed=sample.seed if sample.share < 1 else None,
            hosts=len(self.drawn),
            inventory=len(self.selection.inventory.hosts),
        )


def _request(options: AuditOptions, wiring: Wiring) -> FleetRequest:
    """The audit requested by the options. Raises UsageError for conflicting options or an invalid
    setting or inventory; TargetError if a cloud cannot list its hosts."""
    audit = request_of(options, [], wiring.platforms())
    settings = audit.reading.environment
    check_scheduler(settings)
    sample = _sample(options.fleet)
    live, quiet = audit.reading.options.live, options.output.quiet
    selection = chosen_hosts(options.inventory, live, wiring, quiet=quiet)
    request = FleetRequest(
        audit=audit,
        selection=selection,
        drawn=sample.hosts(selection.hosts),
        limit=options.inventory.limit or "",
        settings=settings,
        sample=sample,
        state=Path(state_folder(options.state)),
        history=HistoryOptions(options.history, options.reading.config, options.state),
        resume=options.fleet.resume,
        traffic=options.fleet.traffic,
    )
    if request.traffic is not None and request.traffic >= settings.host_deadline:
        raise UsageError(
            f"--traffic {request.traffic:g}: counters are read twice, {request.traffic:g} s apart, "
            f"but VNICAUDIT_HOST_DEADLINE allows only {settings.host_deadline:g} s for a host; "
            "make it longer"
        )
    if audit.write_baseline and not request.coverage.is_whole:
        raise UsageError("--write-baseline with --limit or --sample would forget all other hosts")
    return request


def _sample(options: FleetOptions) -> AuditSample:
    """The sample to draw. Raises UsageError if only part of its options are used."""
    if options.sample is None:
        if options.sample_seed is not None:
            raise UsageError("--sample-seed needs --sample")
        return AuditSample()
    seed = options.sample_seed
    drawn = int.from_bytes(os.urandom(4), "big") if seed is None else seed
    return AuditSample(options.sample, options.sample_of, drawn)


def _digest(request: FleetRequest) -> str:
    """Digest of everything that decides what is judged, except the hosts and the random seed."""
    audit = request.audit
    read = audit.reading
    parts = (
        __version__,
        audit.rules,
        read.assumptions,
        read.settings.suppressions,
        read.settings.rules,
        sorted(audit.baseline),
        read.options.live.agent,
        request.limit,
        request.sample.share,
        request.sample.of,
    )
    encoded = msgspec.json.encode(parts, enc_hook=str)
    return blake2b(encoded, digest_size=16).hexdigest()


def audit_fleet(options: AuditOptions, wiring: Wiring) -> int:
    """Audit the hosts of an inventory, report, and store the readings; returns the exit code."""
    request = _request(options, wiring)
    if not request.audit.quiet:
        tell_inventory(request.selection, request.audit.redactor, request.settings.scheduler)
    with fleet_lock(request.state), ExitStack() as stack:
        stack.enter_context(_redacted_errors(request))
        redact = None if request.audit.redactor is None else request.redacted
        rules = request.audit.reading.catalogue.ids
        memory, sink = AuditMemory(request.history.place, rules, redact), None
        with memory.optional("hosts are audited and reported, but nothing is stored"):
            sink = wiring.sink(request.history.place, request.history.is_named, request.audit.quiet)
        reports = Reports(request.audit, stack, memory.now)
        engine = engine_of(request.settings, wiring.platforms().read_live, request.live)
        stack.callback(engine.close)
        folder = SpoolFolder(request.state)
        spool = _resumed(request, folder) if request.resume else _new_spool(request, folder)
        unfiltered = msgspec.structs.replace(request.audit, finding_filter=NO_FILTER)
        work = audit_work(unfiltered, for_report=True, with_rows=True)
        run = FleetRun(work, spool, spool.audit(), request.audit.finding_filter)
        memory.run = run
        progress = FleetProgress(len(run.audit.chosen_hosts), enabled=not request.audit.quiet)
        _read(run, request, engine, progress)
        named = RequestedSubjects(request.audit)
        _report(run, reports, named)
        finished = msgspec.structs.replace(
            run.audit, finished=timestamp("seconds"), compared=run.are_compared
        )
        if sink is not None:
            with memory.optional("the audit is reported, but not stored"):
                sink(finished, run.compared_readings())
                memory.is_stored = True
        end = _finish(run, reports, request)
        spool.write_audit(finished)
        folder.drop_old()
        named.check(run.results)
    tell_unread(end, request.audit)
    tell_filtered(end.summary.filtered, request.audit)
    if not request.audit.quiet:
        _tell_summary(end, progress)
    is_baseline = reports.writes_baseline and not end.is_partial
    code = 0 if is_baseline else exit_code(run, request.audit)
    return HistoryError.exit_code if memory.has_failed and code <= 1 else code


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
        request=_digest(request),
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
    if audit.request != _digest(request):
        raise UsageError(
            f"--resume: audit {audit.id} was started with other rules, settings, --limit or "
            "--sample, or by another version; use the same again, or run without --resume"
        )
    if audit.hosts != request.selection.inventory.hosts and not request.audit.quiet:
        tell("Note: the inventory has changed since; reading the hosts of the interrupted audit")
    return spool


def _read(
    run: FleetRun, request: FleetRequest, engine: ReadingEngine[HostItem], progress: FleetProgress
) -> None:
    """Read the missing hosts. If interrupted, says what has been stored."""
    coverage = run.audit.coverage
    sample = msgspec.structs.replace(request.sample, seed=coverage.seed or 0)
    run.find_missing(progress)
    progress.resumed()
    progress.reads()
    try:
        run.read(engine, request.settings, sample, progress)
    except (KeyboardInterrupt, TargetError):
        progress.clear()
        kept = f"{run.host_count():,} of {count(len(run.audit.chosen_hosts), 'host')}"
        tell(f"{kept} were read and stored; to continue, run the same command with --resume")
        raise
    finally:
        progress.clear()


def _report(run: FleetRun, reports: Reports, named: RequestedSubjects) -> None:
    """Write the reports from the spool, except for their ends."""
    whole = run.audit.coverage.is_whole and not run.resumed
    reports.start(run.audit.started)
    audited = reported_results(run, run.items(), run.suppressor, named, whole=whole)
    reports.add(audited, lambda: None)


def _finish(run: FleetRun, reports: Reports, request: FleetRequest) -> RunEnd:
    """Write the ends of the reports."""
    coverage = run.audit.coverage
    gone = number_gone_from_baseline(request.audit, run, whole=coverage.is_whole)
    summary = msgspec.structs.replace(run.summary, baseline_gone=gone)
    end = msgspec.structs.replace(end_of(run, summary), coverage=coverage)
    return reports.finish(end)


def _tell_summary(end: RunEnd, progress: FleetProgress) -> None:
    """Print on standard error how many hosts were read, and why others were not."""
    tell(progress.summary())
    if sentence := coverage_sentence(end.coverage):
        tell(safe(f"Audited only part of the fleet: {sentence}"))
