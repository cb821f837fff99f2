"""``vnicaudit fleet inventory``: the hosts of an inventory, and where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import click
import msgspec

from vnicaudit.cli.fleet.hosts import (
    ChosenHosts,
    chosen_hosts,
    inventory_notes,
    tell_inventory,
)
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.reading import (
    InventoryOptions,
    ReadingOptions,
    ReadingRequest,
    reading_of,
)
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.wiring import Wiring, pass_wiring
from vnicaudit.errors import TargetError
from vnicaudit.fleet.own_format import HostCheck, checked
from vnicaudit.reports.inventory import InventoryRow, to_json, to_text

_EPILOG = """\b
Examples:
  vnicaudit fleet inventory -i fleet.toml
  vnicaudit fleet inventory -i hosts.ini --limit 'zone_a,!kvm7'
  vnicaudit fleet inventory -i openstack:prod --uri 'qemu+ssh://root@{name}/system'
  vnicaudit fleet inventory -i hosts.ini --check         try every connection
  vnicaudit fleet inventory -i a.toml -i b.ini --format json

\b
Exit codes: 0 success, 2 usage or a mistake in an inventory, 4 a host cannot be reached (--check),
or a cloud does not answer."""


class FleetInventoryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit fleet inventory``."""

    inventory: InventoryOptions
    check: Annotated[bool, option("Connect to each host, read-only, and disconnect.")] = False
    format: FormatOption = "text"
    reading: ReadingOptions
    output: OutputOptions


@click.command("inventory", cls=SectionedCommand, epilog=_EPILOG)
@pass_wiring
@takes(FleetInventoryOptions)
def command(options: FleetInventoryOptions, wiring: Wiring) -> int:
    """Show the hosts of an inventory: names, URIs, sites and groups, and where each comes from."""
    reading = reading_of(options.reading, (), verbose=options.output.verbose)
    live = reading.options.live
    if not options.inventory.inventories:
        raise click.UsageError("Missing option '-i' / '--inventory'.")
    chosen = chosen_hosts(options.inventory, live, wiring, quiet=options.output.quiet)
    checks = _checks(options, chosen, wiring, reading)
    rows = _Rows(chosen, checks)
    if options.format == "json":
        emit(to_json(list(rows.rows()), inventory_notes(chosen)))
    else:
        for text in to_text(rows.rows(), screen_options(options.output)):
            emit(text)
        if not options.output.quiet:
            tell_inventory(chosen)
    return TargetError.exit_code if rows.failed else 0


class _Rows:
    """Rows of hosts, and a count of the unreachable ones."""

    def __init__(self, chosen: ChosenHosts, checks: Iterator[HostCheck] | None) -> None:
        self._chosen = chosen
        self._checks = checks
        self.failed = 0

    def rows(self) -> Iterator[InventoryRow]:
        """One row for each host."""
        for host in self._chosen.hosts:
            check = None if self._checks is None else next(self._checks)
            self.failed += check is not None and bool(check.error)
            uri_source = self._chosen.inventory.uri_sources.get(host.name, "")
            yield InventoryRow(
                host.name, host.uri, host.site, host.groups, host.options, host.source,
                uri_source, check,
            )  # fmt: skip


def _checks(
    options: FleetInventoryOptions, chosen: ChosenHosts, wiring: Wiring, reading: ReadingRequest
) -> Iterator[HostCheck] | None:
    if not options.check:
        return None
    live, parallel = reading.options.live, reading.environment.parallel
    return checked(chosen.hosts, wiring.platforms().probe, live, parallel)
