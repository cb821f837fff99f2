"""``vnicaudit history upgrade``: migrate the tables of the history."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.history.opening import upgrade_history
from vnicaudit.reports.safe import safe

_EPILOG = """\b
Example:
  vnicaudit history upgrade --history postgresql://audit@db.example.org/vnicaudit"""


class UpgradeOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history upgrade``."""

    place: HistoryOptions
    output: OutputOptions


@click.command("upgrade", cls=SectionedCommand, epilog=_EPILOG)
@history_options
@output_options
@as_record(UpgradeOptions)
def command(options: UpgradeOptions) -> int:
    """Migrate the history to the tables of this vnicaudit version, or create them.

    A PostgreSQL database may have several users, so only this command migrates it, in one
    transaction. Make a backup first. A file is migrated automatically, after it has been copied.
    """
    place = options.place.place
    before, after = upgrade_history(place)
    if not options.output.quiet:
        what = "made" if before is None else "current" if before == after else f"was {before}"
        emit(safe(f"{place.label}: schema {after} ({what})") + "\n")
    return 0
