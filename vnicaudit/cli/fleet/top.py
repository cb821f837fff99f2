"""``vnicaudit fleet top``: rank the changes to make first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import click
import msgspec

from vnicaudit.base.deadlines import timestamp
from vnicaudit.cli.options.history import HistoryOptions
from vnicaudit.cli.options.output import FormatOption, OutputOptions, screen_options
from vnicaudit.cli.options.records import SectionedCommand, option, state_folder, takes
from vnicaudit.cli.output.files import emit
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import JournalError
from vnicaudit.fleet.ranking import rank
from vnicaudit.fleet.spool import finished_spool
from vnicaudit.history import history_to_read
from vnicaudit.reports.ranking import ranking_json, ranking_text
from vnicaudit.reports.safe import message
from vnicaudit.reports.wording import coverage_sentence

if TYPE_CHECKING:
    from vnicaudit.fleet.spool import AuditSpool
    from vnicaudit.model.fleet import HostReading
    from vnicaudit.model.ranking import MeasuredGain

_EPILOG = """\b
Examples:
  vnicaudit fleet top                         the newest audit
  vnicaudit fleet top --top 10 --by place     each guest, host, image or template apart
  vnicaudit fleet top --format json | jq -r '.changes[].reason'

\b
Exit codes: 0 ranked, 2 usage or configuration, or no stored audit, 4 the history cannot be
read."""


class TopOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of ``vnicaudit fleet top``."""

    top: Annotated[
        int, option("Show the first N changes.", type=click.IntRange(1, 100_000), metavar="N")
    ] = 50
    by: Annotated[
        Literal["place", "change"],
        option(
            "Rank the same change everywhere as one entry, and beside it the guests that lose most "
            "packets; or each place to change (a guest, a host, an image, a template)."
        ),
    ] = "change"
    format: FormatOption = "text"
    place: HistoryOptions
    output: OutputOptions


@click.command("top", cls=SectionedCommand, epilog=_EPILOG)
@takes(TopOptions)
def command(options: TopOptions) -> int:
    """Rank the changes proposed by the newest audit of the fleet by their benefit.

    They are ordered by packets lost per second, whether a guest is running, severity, confidence,
    bytes per second, share of the host's bytes, safety of the change, whether its owner can be
    reached, and the number of NICs it fixes. Drops and bytes need an audit with --traffic. Gains
    are shown only if the same change was measured with `vnicaudit bench` and imported into the
    history.
    """
    state = Path(state_folder(options.place.state))
    spool = finished_spool(state)
    audit, per_place = spool.audit(), options.by == "place"
    ranking = rank(
        audit, _readings(spool), _gains(options.place), most=options.top, per_place=per_place
    )
    notes = []
    if part := coverage_sentence(audit.coverage):
        notes.append(f"only part of the fleet was audited: {part}")
    if audit.started > timestamp("seconds"):
        notes.append(
            f"audit {audit.id} started after the present by this machine's clock: set the clock, "
            "and audit again"
        )
    ranking = msgspec.structs.replace(ranking, notes=(*notes, *ranking.notes))
    if options.format == "json":
        emit(ranking_json(ranking))
    else:
        for text in ranking_text(ranking, screen_options(options.output)):
            emit(text)
    return 0


def _readings(spool: AuditSpool) -> Iterator[HostReading]:
    """All stored readings. One that is damaged, or that another audit is removing, is named and
    left out."""
    for place, name in enumerate(spool.audit().chosen_hosts):
        kept = spool.host(place)
        try:
            if kept is None:
                raise JournalError("it is missing or damaged")
            yield kept.reading()
        except JournalError as error:
            why = f"its stored reading cannot be used: {error}"
            tell(message(f"Note: {name} is left out, as {why}"))


def _gains(place: HistoryOptions) -> tuple[MeasuredGain, ...]:
    """Measured gains. None if the history does not exist, unless it was named explicitly."""
    if not (place.is_named or place.place.exists):
        return ()
    with history_to_read(place.place) as history:
        return history.gains()
