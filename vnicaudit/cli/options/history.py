"""``--history``: where audits of a fleet are stored."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import msgspec
from click.core import ParameterSource

from vnicaudit.audit.settings.settings import load_settings
from vnicaudit.base.shell import path_word
from vnicaudit.cli.options.reading import config_option, trust_option
from vnicaudit.cli.options.records import group
from vnicaudit.cli.options.state import state_folder, state_option
from vnicaudit.errors import UsageError
from vnicaudit.history.place import history_place

if TYPE_CHECKING:
    from vnicaudit.history.place import HistoryPlace

_PASSWORD = re.compile(r"//[^/@]{0,999}:[^/@]{0,999}@|[?&]password=", re.IGNORECASE)


class HistoryOptions(msgspec.Struct, frozen=True):
    """Where the history is; the settings may say so too."""

    history: str | None
    config: str | None
    trusted_settings: tuple[str, ...]
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
        loaded = load_settings(self.config, trusted=self.trusted_settings)
        named = loaded.settings.history
        if named and _PASSWORD.search(named):
            raise UsageError(
                f"{loaded.file}: history: a password does not belong in this file; put it into the "
                "file that PGPASSFILE names (~/.pgpass), or name a service: postgresql:///?service=…"
            )
        return named


history_option = click.option(
    "--history",
    envvar="VNICAUDIT_HISTORY",
    metavar="PLACE",
    help="Store of past audits: a file, or postgresql://USER@HOST/DATABASE (keep passwords in "
    "PGPASSFILE or a service file).  [default: history.db in the state directory]",
)


def is_on_command_line() -> bool:
    """True if the command line names a history; False for a variable or the settings."""
    source = click.get_current_context().get_parameter_source("history")
    return source is ParameterSource.COMMANDLINE


def named_history() -> str:
    """``--history`` for another command, preceded by a blank and without a password; empty if it
    was set by a variable or the settings instead of the command line."""
    if not is_on_command_line():
        return ""

    named = click.get_current_context().params["history"]
    return f" --history {path_word(history_place(named, '').label)}"


history_options = group(
    "place", HistoryOptions, history_option, state_option, config_option, trust_option
)
"""Options of every command that reads or changes the history."""
