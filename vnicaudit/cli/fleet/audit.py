"""``vnicaudit fleet audit``: audit all hosts of an inventory."""

from __future__ import annotations

import click

from vnicaudit.cli.fleet.engine import engine_options
from vnicaudit.cli.fleet.options import (
    inventory_options,
    running_options,
    sample_options,
    traffic_option,
)
from vnicaudit.cli.fleet.request import FleetAuditOptions, fleet_request
from vnicaudit.cli.fleet.run import audit_fleet
from vnicaudit.cli.options.history import history_option
from vnicaudit.cli.options.output import output_options
from vnicaudit.cli.options.reading import reading_options
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.options.redaction import redaction_options
from vnicaudit.cli.options.reporting import reporting_options
from vnicaudit.cli.options.sections import SectionedCommand
from vnicaudit.cli.options.state import state_option
from vnicaudit.cli.wiring import Wiring, pass_wiring

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
