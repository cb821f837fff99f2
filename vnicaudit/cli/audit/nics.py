"""``vnicaudit nics``: every vNIC, declared and effective."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
import msgspec

from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import NicsWork
from vnicaudit.cli.options.output import (
    Format,
    OutputOptions,
    format_option,
    output_options,
    screen_options,
)
from vnicaudit.cli.options.reading import ReadingOptions, reading_of, reading_options
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.options.redaction import (
    RedactionOptions,
    redaction_options,
    redactor_of,
)
from vnicaudit.cli.output.stderr import Progress, tell
from vnicaudit.cli.output.stdout import emit, flush
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Domain
from vnicaudit.model.report import TargetResult
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import calls_sentence, not_judged_of, notes_of
from vnicaudit.reports.writer import Options

_MAX_NOTES = 100

_EPILOG = """\b
Examples:
  vnicaudit nics qemu:///system
  vnicaudit nics /proc                         what runs on this host
  vnicaudit nics guest.xml --verbose           with the reasons
  vnicaudit nics definitions/ --format json
  vnicaudit nics openstack:prod                all servers that this user may see
  vnicaudit nics qemu:///system --assume-qemu 10.0"""


class NicsOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit nics``."""

    targets: tuple[str, ...]
    format: Format
    redaction: RedactionOptions
    reading: ReadingOptions
    output: OutputOptions


@click.command("nics", epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, required=True)
@format_option
@redaction_options
@reading_options
@output_options
@pass_wiring
@as_record(NicsOptions)
def command(options: NicsOptions, wiring: Wiring) -> int:
    """Show every virtual NIC: model, vhost, queues and rings, declared and effective.

    What cannot be known from the TARGET is shown as unknown; --verbose says what would tell.
    """
    redactor = redactor_of(options.redaction)
    verbose = options.output.verbose and redactor is None
    reading = reading_of(options.reading, options.targets, verbose=verbose)
    progress = Progress(enabled=not options.output.quiet)
    run = AuditRun(NicsWork(reading.assumptions, wiring.platforms()), reading.options, progress)
    style = screen_options(options.output)
    unknown: list[str] = []
    items: Iterator[object] = run.items(options.targets)
    if redactor is not None:
        items = (redactor.record(item) for item in items if isinstance(item, Domain))
    domains = _noting(items, unknown)
    for text in _rendered(options.format, domains, style):
        progress.clear()
        emit(text)
    progress.clear()
    flush()  # what was read comes before what was not
    results = run.results
    if redactor is not None:
        results = tuple(map(redactor.record, results))
    note(results, style)
    for text in unknown if not style.quiet else ():
        tell(f"Note: {safe(text)}")
    return complain_about(results)


def _noting(items: Iterable[object], unknown: list[str]) -> Iterator[Domain]:
    """The domains, with a note for each (of the first) of which a template decides which NICs it
    has."""
    for item in items:
        if not isinstance(item, Domain):
            continue
        open_ended = item.unjudged or "inserted" in item.declared.unseen
        if item.template and open_ended and len(unknown) < _MAX_NOTES:
            who = "the shell" if item.declared.is_command_line else "a template"
            unknown.append(f"{item.location}: {who} decides which NICs {item.name} has")
        yield item


def note(results: tuple[TargetResult, ...], options: Options) -> None:
    """Say on standard error what else bears on what was read: standard output is the result."""
    if options.quiet:
        return
    for result in results:
        calls = calls_sentence(result) if options.verbose else ""
        parts = (f"{part.place}: {part.message}" for part in not_judged_of(result))
        for text in filter(None, (*notes_of(result), *parts, calls)):
            tell(f"Note: {safe(text)}")


def complain_about(results: tuple[TargetResult, ...]) -> int:
    """Say on standard error what could not be read; returns the exit code."""
    code = 0
    for result in results:
        for error in result.errors:
            where = error.file or result.target
            place = where if error.line is None else f"{where}:{error.line}"
            tell(f"Error: {safe(place)}: {safe(error.message)}")
            code = TargetError.exit_code
        if result.unread > len(result.errors):
            more = result.unread - len(result.errors)
            tell(f"Error: {safe(result.target)}: {more} more were not read")
    return code


def _rendered(name: Format, domains: Iterator[Domain], options: Options) -> Iterator[str]:
    if name == "json":
        from vnicaudit.reports.nics import json

        return json.render(domains, options)
    from vnicaudit.reports.nics import text

    return text.render(domains, options)
