"""``vnicaudit history prune`` and ``remove``: remove old entries, or one audit."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from vnicaudit.base.wording import count
from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record, state_folder
from vnicaudit.cli.output.files import emit
from vnicaudit.errors import UsageError
from vnicaudit.fleet.running.spool import SpoolFolder
from vnicaudit.history.opening import history_to_write

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace

_EPILOG = """\b
Examples:
  vnicaudit history prune --keep 400d
  vnicaudit history prune --keep 2y --history postgresql://audit@db.example.org/vnicaudit"""
_REMOVE_EPILOG = """\b
Examples:
  vnicaudit history remove 20350101-000000-3f2a     its clock was wrong
  vnicaudit history remove latest"""
_UNITS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}
_MOST_DAYS = 36_525


def days_of(text: str, option: str) -> float:
    """Number of days in ``36h``, ``90d``, ``8w`` or ``2y``. Raises UsageError."""
    found = re.fullmatch(r"([0-9]{1,6})([hdwy])", text.strip().lower())
    days = 0.0 if found is None else int(found[1]) * _UNITS[found[2]]
    if not 0 < days <= _MOST_DAYS:
        raise UsageError(
            f"{option} {text}: expected hours, days, weeks or years, such as 36h, 90d, 8w or 2y"
        )
    return days


class PruneOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history prune``."""

    keep: str
    place: HistoryOptions
    output: OutputOptions


@click.command("prune", cls=SectionedCommand, epilog=_EPILOG)
@click.option(
    "--keep",
    required=True,
    metavar="TIME",
    help="Keep anything that ended within this time: 36h, 400d, 8w, 2y.",
)
@history_options
@output_options
@as_record(PruneOptions)
def command(options: PruneOptions) -> int:
    """Remove old audits, and NICs and findings that ended long ago.

    Open findings stay, with the day they were first seen, and so does the last reading of each
    host, however old.
    """
    begin = datetime.now(timezone.utc) - timedelta(days=days_of(options.keep, "--keep"))
    with history_to_write(_existing(options.place.place)) as history:
        pruned = history.prune(round(begin.timestamp() * 1000))
    if not options.output.quiet:
        counted = (
            count(pruned.audits, "audit"),
            count(pruned.readings, "reading"),
            f"{count(pruned.nics, 'NIC')} and {count(pruned.findings, 'finding')} that had ended",
        )
        emit(f"Removed {', '.join(counted)}\n")
    return 0


class RemoveOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history remove``."""

    audit: str
    place: HistoryOptions
    output: OutputOptions


@click.command("remove", cls=SectionedCommand, epilog=_REMOVE_EPILOG)
@click.argument("audit", metavar="AUDIT")
@history_options
@output_options
@as_record(RemoveOptions)
def remove(options: RemoveOptions) -> int:
    """Remove one AUDIT, such as one that ran with a wrong clock, or of a wrong inventory.

    What is known of its hosts is again what was known before it. If a later audit read one of them,
    remove that one first; the counts that other audits stored stay as they were. What the state
    directory of this machine keeps of the audit, for `vnicaudit fleet top`, is removed too; of
    another machine's, remove the folder fleet/audits/AUDIT there.

    AUDIT is an id, a date or time (the last audit of the whole fleet up to then), latest or
    previous.
    """
    with history_to_write(_existing(options.place.place)) as history:
        removed = history.remove(options.audit)
    spools = SpoolFolder(Path(state_folder(options.place.state)))
    spool = spools.finished_audit(removed.audit)
    if spool is not None:
        spool.drop_hosts()
    if not options.output.quiet:
        emit(f"Removed audit {removed.audit} of {removed.started}\n")
        if spool is None:
            emit(
                f"If another machine made it, remove fleet/audits/{removed.audit} in its state "
                "directory too: `vnicaudit fleet top` reads it there\n"
            )
    return 0


def _existing(place: HistoryPlace) -> HistoryPlace:
    """The place, where there is something to remove. Raises UsageError."""
    if not place.exists:
        raise UsageError(f"history {place.label} does not exist")
    return place
