"""``vnicaudit audit``: findings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date, datetime, timezone
from typing import Any, NamedTuple, TextIO

import click
from msgspec.structs import replace

from vnicaudit import __version__
from vnicaudit.audit import stale
from vnicaudit.audit.baseline import Baseline, gone, load_baseline
from vnicaudit.audit.catalogue import info, select
from vnicaudit.audit.live import LiveOptions
from vnicaudit.audit.run import Run, RunOptions
from vnicaudit.audit.settings import Loaded, load_settings
from vnicaudit.audit.suppressions import Suppressor
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.options import (
    DEADLINE,
    output_options,
    pairs,
    reading_options,
    terminal_width,
    use_color,
)
from vnicaudit.cli.progress import Progress
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Tool
from vnicaudit.model.version import Version
from vnicaudit.reports.baseline import BaselineWriter
from vnicaudit.reports.registry import formats, writer
from vnicaudit.reports.writer import Options, Writer

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
    "--config",
    envvar="VNICAUDIT_CONFIG",
    metavar="FILE",
    type=click.Path(),
    help="Instead of vnicaudit.toml or "
    "[tool.vnicaudit] in pyproject.toml, found upwards from here.",
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
    return _audit(targets, _plan(given))


class _Plan(NamedTuple):
    """Command line and configuration, merged: the command line wins."""

    settings: Loaded
    rules: tuple[str, ...]
    fail_on: str
    baseline: Baseline
    assumptions: Assumptions
    options: RunOptions
    outputs: list[tuple[str, str]]
    write_baseline: str | None
    color: str
    quiet: bool
    verbose: bool


def _plan(given: dict[str, Any]) -> _Plan:
    loaded = load_settings(given["config"])
    settings = loaded.settings
    baseline = given["baseline"] or loaded.baseline
    deadline = given["deadline"] or settings.deadline or DEADLINE
    return _Plan(
        settings=loaded,
        rules=select(
            _split(given["selected"]) or settings.select,
            _split(given["ignored"]) or settings.ignore,
        ),
        fail_on=given["fail_on"] or settings.fail_on,
        baseline=load_baseline(baseline) if baseline else {},
        assumptions=Assumptions(
            given["assume_qemu"] or _version(settings.assume_qemu),
            given["assume_libvirt"] or _version(settings.assume_libvirt),
        ),
        options=RunOptions(
            jobs=given["jobs"], live=LiveOptions(deadline=deadline, agent=given["agent"])
        ),
        outputs=pairs(given["formats_"], given["outputs"]),
        write_baseline=given["write_baseline"],
        color=given["color"],
        quiet=given["quiet"],
        verbose=given["verbose"],
    )


def _split(given: tuple[str, ...]) -> tuple[str, ...]:
    """``VNIC001,VNIC03`` is two: people are used to commas."""
    return tuple(part.strip() for text in given for part in text.split(",") if part.strip())


def _version(text: str | None) -> Version | None:
    return None if text is None else Version.parse(text)


def _audit(targets: tuple[str, ...], plan: _Plan) -> int:
    suppressor = Suppressor(plan.settings.suppressions, date.today(), plan.rules)
    work = AuditWork(plan.rules, plan.assumptions, suppressor, plan.baseline)
    progress = Progress(enabled=not plan.quiet)
    run = Run(work, plan.options, progress)
    with ExitStack() as stack:
        sinks = _sinks(plan, stack)
        rules = (*map(info, plan.rules), *stale.INFO)
        start = RunInfo(Tool("vnicaudit", __version__), _now(), rules)
        for sink in sinks:
            sink.write(sink.writer.start(start))
        for audited in _audited(run, targets, suppressor):
            progress.clear()
            for sink in sinks:
                sink.write(sink.writer.add(audited))
        progress.clear()
        summary = replace(run.summary, baseline_gone=gone(plan.baseline, run.baselined))
        end = RunEnd(_now(), run.results, summary)
        for sink in sinks:
            for text in sink.writer.finish(end):
                sink.write(text)
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


class _Sink(NamedTuple):
    """A writer and the file its text goes to."""

    writer: Writer
    file: TextIO

    def write(self, text: str) -> None:
        if text:
            self.file.write(text)


def _sinks(plan: _Plan, stack: ExitStack) -> list[_Sink]:
    sinks = []
    for name, place in plan.outputs:
        terminal = place == "-" and sys.stdout.isatty()
        options = Options(
            width=terminal_width() if place == "-" else 100,
            color=use_color(plan.color, to_terminal=terminal),
            verbose=plan.verbose,
            quiet=plan.quiet,
        )
        sinks.append(_Sink(writer(name, options), _open(place, stack)))
    if plan.write_baseline:
        sinks.append(_Sink(BaselineWriter(), _open(plan.write_baseline, stack)))
    return sinks


def _open(place: str, stack: ExitStack) -> TextIO:
    if place == "-":
        return sys.stdout
    try:
        return stack.enter_context(open(place, "w", encoding="utf-8", newline=""))
    except OSError as error:
        raise UsageError(f"--output {place}: {error.strerror}") from None


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
