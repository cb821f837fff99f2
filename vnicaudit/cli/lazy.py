"""A group of commands whose modules are loaded only when they run."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """``summaries``: command -> one line for ``--help``, in that order. A command is the
    ``command`` of the module ``prefix`` and its name, and is there when that module is."""

    def __init__(
        self, *args: Any, prefix: str, summaries: Mapping[str, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._prefix = prefix
        self._summaries = summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return [name for name in self._summaries if self._there(name)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in self._summaries or not self._there(cmd_name):
            return None
        command: click.Command = importlib.import_module(self._module(cmd_name)).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summaries[name]) for name in self.list_commands(ctx)])

    def _module(self, name: str) -> str:
        return self._prefix + name.replace("-", "_")

    def _there(self, name: str) -> bool:
        return importlib.util.find_spec(self._module(name)) is not None
