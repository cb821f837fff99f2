"""``vnicaudit fleet notify``: notify channels of new findings in the newest audit."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import Annotated

import click
import msgspec

from vnicaudit.base.wording import count
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.output import OutputOptions
from vnicaudit.cli.options.records import SectionedCommand, option, takes
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.fleet.notifying import (
    Address,
    Channel,
    ChannelOutcome,
    Notifier,
    address_of,
    load_channels,
)
from vnicaudit.history import history_to_read, history_to_write
from vnicaudit.reports.notices import messages_of
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Examples:
  vnicaudit fleet notify --channels /etc/vnicaudit/channels.toml
  vnicaudit fleet notify --channels channels.toml --audit 20261126-020014-8f3a

\b
Exit codes: 0 every channel was notified, 2 usage or configuration (the channels without a mistake
are notified), 4 the history cannot be read, or a channel did not get every notification."""


class NotifyOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit fleet notify``."""

    channels: Annotated[
        str,
        option(
            "Configuration of the channels: recipients and formats. Secrets are kept elsewhere.",
            env=True,
            required=True,
            metavar="FILE",
            type=click.Path(dir_okay=False),
        ),
    ]
    audit: Annotated[str, option("Id or date of the audit.", metavar="AUDIT")] = "latest"
    place: HistoryOptions
    output: OutputOptions


@click.command("notify", cls=SectionedCommand, epilog=_EPILOG)
@takes(NotifyOptions)
def command(options: NotifyOptions) -> int:
    """Notify channels of findings that are new or reopened in the newest audit of the fleet.

    Each channel is notified of each finding at most once a day (UTC).
    """
    told: dict[str, tuple[Channel, Address]] = {}
    code = 0
    for name, each in load_channels(options.channels).items():
        try:
            if isinstance(each, UsageError):
                raise each
            told[name] = each, address_of(name, each)
        except UsageError as error:  # the other channels are notified all the same
            tell(safe(f"Error: {error}"))
            code = error.exit_code
    with history_to_read(options.place.place) as history:
        details = history.details(options.audit)
    # those that came back or moved together with their guest are not new
    findings = [one for one in details.findings if one.state in ("new", "reopened")]
    day = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    with history_to_write(options.place.place) as history:
        notifier = Notifier(history, messages_of, time)
        outcomes = notifier.tell(told, findings, details.audit.id, day)
    for outcome in outcomes:
        if not (options.output.quiet and outcome.is_well):
            tell(safe(_sentence(outcome)))
    if code == 0 and not all(outcome.is_well for outcome in outcomes):
        code = TargetError.exit_code
    return code


def _sentence(outcome: ChannelOutcome) -> str:
    """``ops: 3 findings sent, 2 already sent today; 1 not sent: HTTP 503``."""
    text = f"{outcome.channel}: {count(outcome.delivered, 'finding')} sent"
    if outcome.known:
        text += f", {outcome.known:,} already sent today"
    if outcome.failed:
        text += f"; {outcome.failed:,} not sent: {outcome.reason}"
    if outcome.unknown:
        text += f"; {outcome.unknown:,} may have arrived ({outcome.reason})"
    return text
