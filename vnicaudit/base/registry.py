"""Plug-ins of one kind: the modules of a package, registered by being there, loaded when needed.

This is the only place that imports plug-ins by name; rules have two of their own
(``audit/judging/rule_files.py``, ``outside.py``). To let mypy and import-linter see what is loaded,
the module that makes a registry imports all plug-ins under ``TYPE_CHECKING``, as a tuple typed with
their contract; ``tests/test_architecture.py`` compares that list with the folder.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar, cast

from vnicaudit.base.wording import close_to
from vnicaudit.errors import UsageError

Plugin = TypeVar("Plugin")


class Registry(Generic[Plugin]):
    """Plug-ins by the name of their file. ``kind``: the word for one in messages; ``contract``: the
    Protocol that each must meet."""

    def __init__(self, kind: str, package: ModuleType, contract: type[object]) -> None:
        self._kind = kind
        self._package = package
        self._contract = contract

    def names(self) -> tuple[str, ...]:
        """The names of all plug-ins, ordered; files that begin with ``_`` are their helpers. Reads
        the folder, once, and imports nothing."""
        return _modules_in(*self._package.__path__)

    def load(self, name: str) -> Plugin:
        """Load one plug-in. Raises UsageError for an unknown name (listing the known ones), and for
        a module that does not meet the contract."""
        known = self.names()
        if name not in known:
            hint = close_to(name, known) or f": {', '.join(known)}"
            raise UsageError(f"no {self._kind} {name!r}{hint}")
        module = import_module(f"{self._package.__name__}.{name}")
        if lacks := missing(module, self._contract):
            raise UsageError(f"{self._kind} {name!r} ({module.__file__}) lacks {', '.join(lacks)}")
        return cast(Plugin, module)


@cache
def _modules_in(*folders: str) -> tuple[str, ...]:
    files = [name for folder in folders for name in os.listdir(folder)]
    return tuple(sorted(n[:-3] for n in files if n.endswith(".py") and not n.startswith("_")))


def missing(plugin: object, contract: type[object]) -> list[str]:
    """Members of a Protocol that a plug-in lacks, ordered. Signatures are left to mypy."""
    wanted = {*getattr(contract, "__annotations__", {}), *vars(contract)}
    return sorted(name for name in wanted if name[0] != "_" and not hasattr(plugin, name))
