"""``vnicaudit fleet inventory``: the hosts that an inventory resolves to, and why."""

from __future__ import annotations

import click
import msgspec

from vnicaudit.cli.fleet.options import (
    InventoryOptions,
    chosen_hosts,
    inventory_notes,
    inventory_options,
)
from vnicaudit.cli.fleet.sources import sources_of
from vnicaudit.cli.options.output import Format, OutputOptions, format_option, output_options
from vnicaudit.cli.options.reading import ReadingOptions, reading_of, reading_options
from vnicaudit.cli.options.records import as_record
from vnicaudit.cli.output.stderr import tell
from vnicaudit.cli.output.stdout import emit
from vnicaudit.cli.wiring import Wiring, pass_wiring
