"""``vnicaudit fleet serve``: metrics and a page, read-only."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from vnicaudit.cli.fleet.live import metrics_route, page_route
from vnicaudit.cli.options.history import HistoryOptions, history_options
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.options.sections import SectionedCommand
from vnicaudit.cli.options.state import state_folder
from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import UsageError
from vnicaudit.fleet.serving.addresses import host_names, listen_address
from vnicaudit.fleet.serving.server import ReadOnlyServer
from vnicaudit.reports.safe import message

_EPILOG = """\b
Examples:
  vnicaudit fleet serve                              the state of the fleet as a web page
  vnicaudit fleet serve --metrics                    also metrics for Prometheus
  vnicaudit fleet serve --metrics --listen 127.0.0.1:9000
  vnicaudit fleet serve --metrics --allow-host vnic.example.org   behind a proxy"""


class ServeOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit fleet serve``."""

    metrics: bool
    listen: str
    public: bool
    allowed_hosts: tuple[str, ...]
    place: HistoryOptions


@click.command("serve", cls=SectionedCommand, epilog=_EPILOG)
@click.option(
    "--metrics",
    is_flag=True,
    help="Also serve counts from the history at /metrics, for Prometheus.",
)
@click.option(
    "--listen",
    default="127.0.0.1:9817",
    show_default=True,
    metavar="ADDRESS:PORT",
    help="Address to listen on; port 0 means any free port.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Allow an address that other machines can reach. There is no password: anyone who can "
    "connect can read everything.",
)
@click.option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="Also answer requests for this host name, as a proxy forwards them. Repeatable.",
)
@history_options
@as_record(ServeOptions)
def command(options: ServeOptions) -> int:
    """Serve a web page with the state of a fleet, and its metrics, until Ctrl-C.

    The page shows every host of the history as last read, which findings are new, known, fixed or
    not judged again, the trend of recent audits, and what to change first.

    It is read-only and by default reachable only from this machine. It has no password: to publish
    it, put an authenticating proxy in front.
    """
    address = listen_address(options.listen, public=options.public)
    routes = {
        "/": page_route(options.place.place, Path(state_folder(options.place.state)), _failed)
    }
    if options.metrics:
        routes["/metrics"] = metrics_route(options.place.place, _failed)
    try:
        server = ReadOnlyServer(address, host_names(options.allowed_hosts), routes, _failed)
    except OSError as error:
        raise UsageError(
            f"cannot listen on {options.listen}: {error.strerror}; choose another ADDRESS:PORT "
            "with --listen"
        ) from None
    with server:
        tell(f"Listening on {server.address.url}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            tell("Stopped.")
    return 0


def _failed(reason: str) -> None:
    tell(f"Error: {message(reason)}")
