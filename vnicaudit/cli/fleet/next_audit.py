"""Suggests the audit that updates the history after a run. Without it, the history treats nothing
as fixed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vnicaudit.cli.fleet.options import InventoryOptions, inventory_words
from vnicaudit.cli.options.history import HistoryOptions, named_history
from vnicaudit.cli.options.state import state_folder
from vnicaudit.cli.output.stderr import tell
from vnicaudit.errors import UsageError
from vnicaudit.reports.safe import safe
from vnicaudit.text.own_commands import command

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
    if not (changed and _exists(history)):
        return
    names = [host.name for host in hosts if host.uri in changed]
    limit = inventory.limit or ("" if len(names) == len(hosts) else _few(names))
    words = f"fleet audit{inventory_words(inventory, limit)}{named_history()}"
    following = command(words, state_folder(history.state))
    tell(safe(f"The history shows these findings as open until the next audit: {following}"))


def _exists(history: HistoryOptions) -> bool:
    try:
        return history.place.exists
    except UsageError:  # a fault in settings that an apply does not need
        return False


def _few(names: Sequence[str]) -> str:
    """A pattern for these hosts; empty (all hosts) if there are many, or if a name has a special
    meaning in patterns."""
    is_few = len(names) <= _FEW and all(map(_PLAIN.fullmatch, names))
    return ",".join(names) if is_few else ""
