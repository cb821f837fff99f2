"""Carry out ``vnicaudit audit``: fix, read, judge, write the reports, and find the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit.catalogue import info
from vnicaudit.audit.run import Run
from vnicaudit.audit.stale import INFO as ABOUT_SUPPRESSIONS
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.audit_orders import Orders
from vnicaudit.cli.fixing import Fixed, fix
from vnicaudit.cli.options import terminal_width, use_color
from vnicaudit.cli.outputs import STDOUT, Output
from vnicaudit.cli.progress import Progress
from vnicaudit.cli.stdout import stream
from vnicaudit.cli.telling import tell
from vnicaudit.errors import RefusedError, TargetError
from vnicaudit.model.finding import CONFIDENCES, SEVERITIES
from vnicaudit.model.report import Audited, RuleInfo, RunEnd, RunInfo, Summary, Tool
from vnicaudit.reports.registry import load, writer
from vnicaudit.reports.writer import Options, Writer

if TYPE_CHECKING:
    from vnicaudit.reports.baseline import BaselineWriter


def audit(orders: Orders) -> int:
    """Fix what is to be fixed, audit, report; the exit code."""
    with ExitStack() as stack:
        baseline = _baseline(orders)
        opened = _outputs(orders, baseline)
        outputs = [(each, stack.enter_context(output)) for each, output in opened]
        done = fix(orders.targets, orders.fixing, _work(orders), orders.reading.options)
        work = _work(orders)
        progress = Progress(enabled=not orders.quiet)
        run = Run(work, orders.reading.options, progress, done.input)
        start = RunInfo(Tool("vnicaudit", __version__), _now(), lambda: _catalogue(orders))
        for one, output in outputs:
            output.write(one.start(start))
        names = [target.name for target in orders.targets]
        for audited in _audited(run, names, work.suppressor, whole=not _chosen(orders)):
            progress.clear()
            for one, output in outputs:
                output.write(one.add(audited))
        progress.clear()
        end = RunEnd(_now(), run.results, _summary(run, orders, done))
        for one, output in outputs:
            output.finish(one.finish(end))
        if baseline is not None and end.is_partial:
            tell(_partial_baseline(baseline.place, baseline.kept))
    if orders.fixing.diff:
        _complain(run)
    if not orders.quiet:
        _tell_not_judged(run, orders)
    if done.refused and not end.is_partial:
        return RefusedError.exit_code
    return 0 if baseline is not None and not end.is_partial else _exit_code(run, orders)


def _baseline(orders: Orders) -> BaselineWriter | None:
    """What writes the baseline, where one is asked for."""
    if not orders.write_baseline:
        return None
    from vnicaudit.reports.baseline import BaselineWriter

    return BaselineWriter(orders.write_baseline)


def _partial_baseline(place: str, kept: int) -> str:
    """What became of a baseline where not everything was read. ``kept``: findings that it had."""
    if not kept:
        return f"{place}: written without what could not be read; write it again when all can be"
    findings = f"{kept:,} finding{'s' * (kept != 1)}"
    verb = "is" if kept == 1 else "are"
    why = "not all was read"
    return f"{place}: written; {findings} it had before did not come up and {verb} kept: {why}"


def _gone(orders: Orders, run: Run) -> int:
    if not orders.baseline or _chosen(orders):
        return 0
    from vnicaudit.audit.baseline import gone

    return gone(orders.baseline, run.baselined)


def _complain(run: Run) -> None:
    """What a report would say of what could not be read: with ``--diff`` there may be none."""
    from vnicaudit.reports.safe import safe
    from vnicaudit.reports.wording import unread

    for result in run.results:
        for error in unread(result):
            tell(safe(f"{error.place}: {error.message}"))
    if run.summary.crashed:
        tell("A rule crashed: the report, without --diff, says which")


def _tell_not_judged(run: Run, orders: Orders) -> None:
    """That parts of files were not judged, and where the first is, if no report names them."""
    if any(load(name).NAMES_NOT_JUDGED for name, _place in orders.outputs):
        return
    from vnicaudit.reports.safe import safe
    from vnicaudit.reports.wording import not_judged_of, not_judged_sentence

    said = not_judged_sentence(run.results)
    if said:
        first = next(part.place for each in run.results for part in not_judged_of(each))
        more = sum(result.not_judged_count for result in run.results) - 1
        places = f"{first} and {more:,} more" if more else first
        tell(safe(f"{said}: {places}; --format text says why"))


def _summary(run: Run, orders: Orders, done: Fixed) -> Summary:
    return replace(
        run.summary,
        baseline_gone=_gone(orders, run),
        fixed=done.problems,
        fixed_files=done.files,
        refused=done.refused,
    )


def _work(orders: Orders) -> AuditWork:
    """Judging as ordered; each use of it counts suppressions for itself."""
    read = orders.reading
    suppressor = Suppressor(read.settings.suppressions, date.today(), orders.rules)
    return AuditWork(orders.rules, read.assumptions, suppressor, orders.baseline)


def _chosen(orders: Orders) -> bool:
    """Whether only some servers are looked at."""
    return bool(orders.reading.options.live.servers.given)


def _audited(
    run: Run, targets: Iterable[str], suppressor: Suppressor, *, whole: bool
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


def _outputs(orders: Orders, baseline: BaselineWriter | None) -> Iterator[tuple[Writer, Output]]:
    for name, place in orders.outputs:
        screen = place == STDOUT
        options = Options(
            width=terminal_width() if screen else 100,
            color=use_color(orders.color, to_terminal=screen and stream().isatty()),
            verbose=orders.verbose,
            quiet=orders.quiet,
            fail_confidence=orders.fail_confidence,
            group_by=orders.group_by,
        )
        yield writer(name, options), Output(place)
    if baseline is not None:
        yield baseline, Output(baseline.place)


def _catalogue(orders: Orders) -> tuple[RuleInfo, ...]:
    return (*map(info, orders.rules), *ABOUT_SUPPRESSIONS)


def _exit_code(run: Run, orders: Orders) -> int:
    summary = run.summary
    if summary.crashed:
        return 3
    if any(result.status != "ok" for result in run.results):
        return TargetError.exit_code
    if orders.fail_on == "never":
        return 0
    failing = SEVERITIES[SEVERITIES.index(orders.fail_on) :]
    counts = CONFIDENCES[CONFIDENCES.index(orders.fail_confidence) :]
    wanted = [pair for pair in run.graded if pair[0] in failing]
    if any(confidence in counts for _severity, confidence in wanted):
        return 1
    hints = sum(run.graded[pair] for pair in wanted)
    if hints and not orders.quiet:
        less = "low" if orders.fail_confidence == "medium" else "low or medium"
        which = f"{hints:,} finding{'s' * (hints != 1)} of {less} confidence"
        option = f"--fail-confidence {wanted[0][1] if hints == 1 else 'low'}"
        tell(f"Exit code 0: {which} {'do' if hints != 1 else 'does'} not fail ({option})")
    return 0


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
