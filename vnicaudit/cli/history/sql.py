"""``vnicaudit history sql``: how to query the history with SQL."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.options.output import OutputOptions, output_options
from vnicaudit.cli.options.reading import HistoryOptions, history_options
from vnicaudit.cli.options.records import SectionedCommand, as_record
from vnicaudit.cli.output.files import emit
from vnicaudit.history.place import check_extras

_EPILOG = """\b
Examples:
  vnicaudit history sql
  sqlite3 -readonly ~/.local/state/vnicaudit/history.db \\
    "SELECT rule, count(*) FROM findings WHERE is_open = 1 GROUP BY rule" """


class SqlOptions(msgspec.Struct, frozen=True):
    """The options of ``vnicaudit history sql``."""

    place: HistoryOptions
    output: OutputOptions


@click.command("sql", cls=SectionedCommand, epilog=_EPILOG)
@history_options
@output_options
@as_record(SqlOptions)
def command(options: SqlOptions) -> int:
    """Print how to connect to the history read-only, its views, and the SQL of its tables.

    Views keep their names and columns; tables may change between versions.
    """
    place = options.place.place
    check_extras(place.kind)
    from vnicaudit.history.database import sql_text

    for text in sql_text(place):
        emit(text)
    return 0
