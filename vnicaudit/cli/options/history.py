"""``--history``: where audits of a fleet are stored."""

from __future__ import annotations

import re

import msgspec

from vnicaudit.cli.options.reading import settings_in
from vnicaudit.cli.options.records import is_on_command_line, state_folder
from vnicaudit.errors import UsageError
from vnicaudit.history.place import HistoryPlace, history_place

_PASSWORD = re.compile(r"//[^/@]{0,999}:[^/@]{0,999}@|[?&]password=", re.IGNORECASE)


class HistoryOptions(msgspec.Struct, frozen=True):
    """Where the history is; the settings may say so too."""

    history: str | None
    config: str | None
    state: str | None

    @property
    def place(self) -> HistoryPlace:
        """The place set on the command line or in the settings, else a file in the state directory.
        Raises UsageError."""
        return history_place(self.history or self._of_settings(), state_folder(self.state))

    @property
    def is_named(self) -> bool:
        """True if the command line or the settings name a place."""
        return bool(self.history or self._of_settings())

    def _of_settings(self) -> str | None:
        loaded = settings_in(self.config)
        named = loaded.settings.history
        if named and _PASSWORD.search(named):
            raise UsageError(
                f"{loaded.file}: history: a password does not belong in this file; put it into the "
                "file that PGPASSFILE names (~/.pgpass), or name a service: postgresql:///?service=…"
            )
        return named


def is_history_named() -> bool:
    """True if the command line names a history; False for a variable or the settings."""
    return is_on_command_line("history")
