"""The engines there are: a module in ``bench/engines/`` is one, by being there.

Modules whose name begins with ``_`` are parts of engines, and none themselves.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import cast

import vnicaudit.bench.engines
from vnicaudit.audit.suppression import close_to
from vnicaudit.bench.contract import Engine
from vnicaudit.errors import UsageError


@cache
def names() -> tuple[str, ...]:
    """The names of all engines, ordered. Reads the folder, imports nothing."""
    found = pkgutil.iter_modules(vnicaudit.bench.engines.__path__)
    return tuple(sorted(module.name for module in found if not module.name.startswith("_")))


@cache
def load(name: str) -> Engine:
    """One engine. Raises UsageError where there is none of that name."""
    if name not in names():
        hint = close_to(name, names()) or f": {', '.join(names())}"
        raise UsageError(f"no engine {name!r}{hint}")
    return cast(Engine, importlib.import_module(f"vnicaudit.bench.engines.{name}"))
