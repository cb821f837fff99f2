"""``vnicaudit nics``: every vNIC, declared and effective."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import click
import msgspec

from vnicaudit.audit.accepting.baseline import is_of
from vnicaudit.audit.judging.domains import nic_row
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import NicsWork
from vnicaudit.base.wording import close_to
from vnicaudit.cli.options.candidates import targets as target_words
from vnicaudit.cli.options.environment import environment
from vnicaudit.cli.options.filters import DomainsOption, OwnersOption, owners_of
from vnicaudit.cli.options.output import (
    OutputOptions,
    RedactionOptions,
    redactor_of,
    screen_options,
)
from vnicaudit.cli.options.reading import (
    InventoryOptions,
    ReadingOptions,
    reading_of,
)
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import emit, flush
from vnicaudit.cli.output.progress import tell
from vnicaudit.cli.output.reading_progress import Progress
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.domain import Domain
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.report import TargetResult
from vnicaudit.reports.nics import VERDICTS, as_csv, as_json, as_text, verdict_of
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import calls_sentence, gathered, not_judged_of, notes_of
from vnicaudit.reports.writers import Options

if TYPE_CHECKING:
    from vnicaudit.audit.reading.targets import HostItem, Target
    from vnicaudit.reports.nics import Verdict

_MAX_NOTES = 100

_EPILOG = """\b
Examples:
  vnicaudit nics qemu:///system
  vnicaudit nics /proc                         what runs on this host
  vnicaudit nics guest.xml --verbose           with the reasons
  vnicaudit nics definitions/ --format json
  vnicaudit nics definitions/ --wrong --sort worst
  vnicaudit nics qemu:///system --format csv > nics.csv
  vnicaudit nics openstack:prod                all servers visible to this user
  vnicaudit nics kube:prod/web                 a namespace of a cluster
  vnicaudit nics -i fleet.toml --wrong         the hosts of an inventory
  vnicaudit nics qemu:///system --assume-qemu 10.0"""


class NicsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit nics``."""

    targets: tuple[str, ...]
    inventory: InventoryOptions
    format: Annotated[Literal["text", "json", "csv"], option("Output format.")] = "text"
    domains: DomainsOption = ()
    owners: OwnersOption = ()
    wrong: Annotated[bool, option("Show only domains that have a NIC marked x or !.")] = False
    sort: Annotated[
        Literal["read", "name", "worst"],
        option("Order of domains: as read, by name, or worst first."),
    ] = "read"
    redaction: RedactionOptions
    reading: ReadingOptions
    output: OutputOptions


@click.command("nics", cls=SectionedCommand, epilog=_EPILOG)
@click.argument("targets", metavar="TARGET...", nargs=-1, shell_complete=target_words)
@pass_wiring
@takes(NicsOptions)
def command(options: NicsOptions, wiring: Wiring) -> int:
    """List every virtual NIC: connection, model, vhost, queues and rings, declared and effective.

    Values that the TARGET does not show are listed as unknown; --verbose explains what would show
    them.
    """
    owners = owners_of(options.owners, wiring.platforms())
    redactor = redactor_of(options.redaction)
    verbose = options.output.verbose and redactor is None
    reading = reading_of(options.reading, options.targets, verbose=verbose)
    targets, read_host = options.targets, None
    if options.inventory.are_used(targets):
        targets, read_host = _inventory(options, reading.options.live, wiring)
    elif not targets:
        raise click.UsageError("Missing argument 'TARGET...', or -i INVENTORY.")
    progress = Progress(enabled=not options.output.quiet)
    work = NicsWork(reading.assumptions, wiring.platforms())
    run = AuditRun(work, reading.options, progress, read_host=read_host)
    style = screen_options(options.output)
    unknown: list[str] = []
    items: Iterator[object] = run.items(targets)
    if redactor is not None:
        items = (redactor.record(item) for item in items if isinstance(item, Domain))
    domains = _selected_domains(_noting(items, unknown), options, owners)
    several = len(targets) > 1 or os.path.isdir(targets[0])
    for part in _rendered(options, domains, style, places=several):
        progress.clear()
        emit(part)
    progress.clear()
    flush()  # results are shown before errors
    results = run.results
    if redactor is not None:
        results = tuple(map(redactor.record, results))
    note(results, style)
    for one in unknown if not style.quiet else ():
        tell(f"Note: {safe(one)}")
    return complain_about(results)


def _selected_domains(
    domains: Iterator[Domain], options: NicsOptions, owners: frozenset[str]
) -> Iterator[Domain]:
    """The domains to show, in the requested order. Raises UsageError for a name that no domain
    has."""
    names: set[str] = set()
    found: Iterator[Domain] = (
        domain
        for domain in domains
        if _is_wanted(domain, options, names)
        and is_of(domain.declared.owner, owners)
        and not (options.wrong and _worst(domain) == "ok")
    )
    if options.sort == "name":
        found = iter(sorted(found, key=lambda domain: domain.name))
    elif options.sort == "worst":
        found = iter(sorted(found, key=lambda domain: VERDICTS.index(_worst(domain))))
    yield from found
    for name in options.domains:
        if name not in names:
            hint = close_to(name, sorted(names))
            hint = hint or "; `vnicaudit nics` without --domain lists all domains"
            raise UsageError(f"there is no domain {name!r} in these targets{hint}")


def _is_wanted(domain: Domain, options: NicsOptions, names: set[str]) -> bool:
    """True if a domain is to be shown. Adds its name and UUID to ``names``, for suggestions."""
    if options.domains:
        own = {domain.name, *filter(None, [domain.uuid])}
        names |= own
        if not own & set(options.domains):
            return False
    return True


def _worst(domain: Domain) -> Verdict:
    verdicts = (verdict_of(nic_row(domain, nic)) for nic in domain.nics)
    return min(verdicts, key=VERDICTS.index, default="ok")


def _noting(items: Iterable[object], unknown: list[str]) -> Iterator[Domain]:
    """The domains; adds a note (up to _MAX_NOTES) for each whose NICs are decided by a template."""
    for item in items:
        if not isinstance(item, Domain):
            continue
        open_ended = item.unjudged or "inserted" in item.declared.unseen
        if item.template and open_ended and len(unknown) < _MAX_NOTES:
            who = "the shell" if item.declared.is_command_line else "a template"
            unknown.append(f"{item.location}: {who} decides which NICs {item.name} has")
        yield item


def note(results: tuple[TargetResult, ...], options: Options) -> None:
    """Print notes on the results on standard error, since standard output is for the results."""
    if options.quiet:
        return
    for result in results:
        calls = calls_sentence(result) if options.verbose else ""
        parts = gathered(not_judged_of(result))
        for one in filter(None, (*notes_of(result), *parts, calls)):
            tell(f"Note: {safe(one)}")


def complain_about(results: tuple[TargetResult, ...]) -> int:
    """Print on standard error what could not be read; returns the exit code."""
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


def _inventory(
    options: NicsOptions, live: LiveOptions, wiring: Wiring
) -> tuple[tuple[str, ...], Callable[[Target], Iterator[HostItem]]]:
    """The URIs of the hosts of an inventory, and what reads them."""
    # imported here: most commands read no inventory
    from vnicaudit.cli.fleet.hosts import chosen_hosts, reader_in_order, tell_inventory

    chosen = chosen_hosts(options.inventory, live, wiring, quiet=options.output.quiet)
    if not options.output.quiet:
        tell_inventory(chosen, scheduler=environment().scheduler)
    uris = tuple(host.uri for host in chosen.hosts)
    return uris, reader_in_order(chosen.hosts, wiring.platforms(), live)


def _rendered(
    options: NicsOptions, domains: Iterator[Domain], style: Options, *, places: bool
) -> Iterator[str]:
    if options.format == "json":
        return as_json(domains)
    if options.format == "csv":
        return as_csv(domains)
    return as_text(domains, style, places=places)
