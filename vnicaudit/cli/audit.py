"""``vnicaudit audit``: findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date, datetime, timezone
from typing import Any, NamedTuple

import click
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit import stale
from vnicaudit.audit.baseline import Baseline, gone, load_baseline
from vnicaudit.audit.catalogue import info, select
from vnicaudit.audit.run import Run, prepared
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import AuditWork
from vnicaudit.cli.options import (
    output_options,
    pairs,
    reading_options,
    terminal_width,
    use_color,
)
from vnicaudit.cli.outputs import STDOUT, Output, different
from vnicaudit.cli.progress import Progress
from vnicaudit.cli.reading import Reading, reading
from vnicaudit.cli.stdout import stream
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Tool
from vnicaudit.reports.baseline import BaselineWriter
from vnicaudit.reports.registry import formats, writer
from vnicaudit.reports.writer import Options

_EPILOG = """\b
Examples:
  vnicaudit audit qemu:///system
  vnicaudit audit qemu+ssh://root@kvm1/system qemu+ssh://root@kvm2/system
  vnicaudit audit /etc/libvirt/qemu --select VNIC00 --fail-on high
  vnicaudit audit definitions/ --format text --format sarif --output - --output vnic.sarif
  vnicaudit audit qemu:///system --assume-qemu 10.0      before an upgrade
  vnicaudit audit definitions/ --write-baseline known.json
  vnicaudit audit definitions/ --baseline known.json     only what is new

\b
Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage or configuration,
3 internal error or a rule crashed, 4 a target could not be read."""


@click.command("audit", epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@click.option(
    "--format",
    "formats_",
    envvar="VNICAUDIT_FORMAT",
    multiple=True,
    metavar="FORMAT",
    type=click.Choice(formats()),
    help=f"One of {', '.join(formats())}; repeatable, pairwise with --output.  [default: text]",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    envvar="VNICAUDIT_OUTPUT",
    multiple=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Where the report goes; - is standard output. Repeatable.",
)
@click.option(
    "--select",
    "selected",
    envvar="VNICAUDIT_SELECT",
    multiple=True,
    metavar="RULE",
    help="Only these rules: ids or beginnings of ids, repeatable or with commas.",
)
@click.option(
    "--ignore",
    "ignored",
    envvar="VNICAUDIT_IGNORE",
    multiple=True,
    metavar="RULE",
    help="Not these rules.",
)
@click.option(
    "--fail-on",
    envvar="VNICAUDIT_FAIL_ON",
    type=click.Choice([*SEVERITIES, "never"]),
    help="Lowest severity that makes the exit code 1.  [default: low]",
)
@click.option(
    "--baseline",
    envvar="VNICAUDIT_BASELINE",
    metavar="FILE",
    type=click.Path(),
    help="Do not report what this report or baseline file already has.",
)
@click.option(
    "--write-baseline",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Write every finding to a baseline file and exit 0.",
)
@reading_options
@output_options
def command(targets: tuple[str, ...], **given: Any) -> int:
    """Say what is wrong with the virtual NICs of the TARGETs.

    A TARGET is a file or folder of libvirt domain XML, QEMU command lines, logs, ps output or
    nova.conf (recognised by content), - for standard input, /proc for the QEMUs that run here,
    or a libvirt URI. Connections are read-only; nothing is changed.
    """
    prepared(targets)  # what makes no sense is said before anything is written
    return _audit(targets, _plan(given))


class _Plan(NamedTuple):
    """Command line and settings, merged: the command line wins."""

    reading: Reading
    rules: tuple[str, ...]
    fail_on: str
    baseline: Baseline
    outputs: list[tuple[str, str]]
    write_baseline: str | None
    color: str
    quiet: bool
    verbose: bool


def _plan(given: dict[str, Any]) -> _Plan:
    read = reading(given)
    settings = read.settings.settings
    baseline = given["baseline"] or read.settings.baseline
    outputs = pairs(given["formats_"], given["outputs"])
    different([place for _, place in outputs] + [given["write_baseline"] or "/dev/null"])
    return _Plan(
        reading=read,
        rules=_rules(
            _split(given["selected"]) or settings.select,
            _split(given["ignored"]) or settings.ignore,
        ),
        fail_on=given["fail_on"] or settings.fail_on,
        baseline=load_baseline(baseline) if baseline else {},
        outputs=outputs,
        write_baseline=given["write_baseline"],
        color=given["color"],
        quiet=given["quiet"],
        verbose=given["verbose"],
    )


def _rules(selected: tuple[str, ...], ignored: tuple[str, ...]) -> tuple[str, ...]:
    rules = select(selected, ignored)
    if not rules:
        raise UsageError("--select and --ignore leave no rule: nothing would be judged")
    return rules


def _split(given: tuple[str, ...]) -> tuple[str, ...]:
    """``VNIC001,VNIC03`` is two: people are used to commas."""
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())


def _audit(targets: tuple[str, ...], plan: _Plan) -> int:
    read = plan.reading
    suppressor = Suppressor(read.settings.suppressions, date.today(), plan.rules)
    work = AuditWork(plan.rules, read.assumptions, suppressor, plan.baseline)
    progress = Progress(enabled=not plan.quiet)
    run = Run(work, read.options, progress)
    with ExitStack() as stack:
        outputs = [stack.enter_context(output) for output in _outputs(plan)]
        rules = (*map(info, plan.rules), *stale.INFO)
        start = RunInfo(Tool("vnicaudit", __version__), _now(), rules)
        for output in outputs:
            output.write(output.writer.start(start))
        for audited in _audited(run, targets, suppressor):
            progress.clear()
            for output in outputs:
                output.write(output.writer.add(audited))
        progress.clear()
        summary = replace(run.summary, baseline_gone=gone(plan.baseline, run.baselined))
        end = RunEnd(_now(), run.results, summary)
        for output in outputs:
            output.finish(output.writer.finish(end))
        if plan.write_baseline and _broken(run):
            outputs[-1].abandon()  # it would forget what could not be read
            click.echo(f"{plan.write_baseline} was left as it was: not all was read", err=True)
    return 0 if plan.write_baseline and not _broken(run) else _exit_code(run, plan.fail_on)


def _audited(run: Run, targets: Iterable[str], suppressor: Suppressor) -> Iterator[Audited]:
    """Everything that was audited, and at the end what is to be said of the suppressions."""
    for product in run.items(targets):
        if isinstance(product, Audited):
            yield product
    closing = suppressor.closing(run.usage)
    if closing is not None:
        run.count_extra(closing)
        yield closing


def _outputs(plan: _Plan) -> Iterator[Output]:
    for name, place in plan.outputs:
        screen = place == STDOUT
        options = Options(
            width=terminal_width() if screen else 100,
            color=use_color(plan.color, to_terminal=screen and stream().isatty()),
            verbose=plan.verbose,
            quiet=plan.quiet,
        )
        yield Output(writer(name, options), place)
    if plan.write_baseline:
        yield Output(BaselineWriter(), plan.write_baseline)


def _broken(run: Run) -> bool:
    return bool(run.summary.crashed) or any(r.status != "ok" for r in run.results)


def _exit_code(run: Run, fail_on: str) -> int:
    summary = run.summary
    if summary.crashed:
        return 3
    if any(result.status != "ok" for result in run.results):
        return TargetError.exit_code
    if fail_on == "never":
        return 0
    failing = SEVERITIES[SEVERITIES.index(fail_on) :]
    return 1 if any(summary.by_severity.get(name) for name in failing) else 0


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
