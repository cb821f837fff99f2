"""Guard rails: one file each, what must hold whatever the throughput.

A module in this folder is one, by being there; those whose name begins with ``_`` are parts.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Protocol, cast

from vnicaudit.bench.contract import Ends
from vnicaudit.model.measurement import GuardRail, Path


class Guard(Protocol):
    """A module in ``bench/guards/``; its name is the file's."""

    def before(self, ends: Ends, path: Path) -> str:
        """How it is before the measurement: JSON text to be kept for :meth:`after`, empty where
        there is nothing to keep. Raises EndpointError where an end is lost."""

    def after(self, ends: Ends, path: Path, before: str) -> GuardRail:
        """Whether it holds still, or holds at all; its arm is the path's name. What cannot be
        told is ``unknown``, and says what would tell."""


@cache
def names() -> tuple[str, ...]:
    """The names of all guard rails, ordered. Reads the folder, imports nothing."""
    found = pkgutil.iter_modules(__path__)
    return tuple(sorted(module.name for module in found if not module.name.startswith("_")))


@cache
def load(name: str) -> Guard:
    """One guard rail, of :func:`names`."""
    return cast(Guard, importlib.import_module(f"{__name__}.{name}"))
