"""Suggests the audit that updates the history after a run. Without it, the history treats nothing
as fixed."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vnicaudit.cli.fleet.options import InventoryOptions, inventory_words
from vnicaudit.cli.options.reading import HistoryOptions, named_history
from vnicaudit.cli.options.records import state_folder
from vnicaudit.cli.output.progress import tell
from vnicaudit.errors import UsageError
from vnicaudit.reports.safe import safe
from vnicaudit.text.diff import command

if TYPE_CHECKING:
    from vnicaudit.model.fleet import InventoryHost
    from vnicaudit.model.runs import RunRecord

_FEW = 3
"""Maximum hosts that are listed by name."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")
"""Names without a special meaning in a pattern of ``--limit``."""


def tell_next_audit(
    run: RunRecord,
    hosts: Sequence[InventoryHost],
    inventory: InventoryOptions,
    history: HistoryOptions,
) -> None:
    """Print which audit updates the history, if there is one and the run changed something."""
    changed = {unit.target for unit in run.steps if unit.outcome == "applied"}
    if not (changed and _is_usable(history)):
        return
    names = [host.name for host in hosts if host.uri in changed]
    limit = inventory.limit or ("" if len(names) == len(hosts) else _few(names))
    words = f"fleet audit{inventory_words(inventory, limit)}{named_history()}"
    following = command(words, state_folder(history.state))
    is_waiting = any(unit.waiting for unit in run.steps)
    when = "an audit after the power cycle" if is_waiting else "the next audit"
    tell(safe(f"The history shows these findings as open until {when}: {following}"))


def _is_usable(history: HistoryOptions) -> bool:
    """False if there is no history, or its file cannot be opened for reading. A database is not
    asked."""
    try:
        place = history.place
        is_database = place.kind != "sqlite"
        return is_database or (os.path.isfile(place.target) and os.access(place.target, os.R_OK))
    except UsageError:  # a fault in settings that an apply does not need
        return False


def _few(names: Sequence[str]) -> str:
    """A pattern for these hosts; empty (all hosts) if there are many, or if a name has a special
    meaning in patterns."""
    is_few = len(names) <= _FEW and all(map(_PLAIN.fullmatch, names))
    return ",".join(names) if is_few else ""
