"""Load generators: one file each, with its commands and the pure parsers of its output."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, cast

from vnicaudit.base.wording import close_to
from vnicaudit.bench.contract import Engine
from vnicaudit.errors import UsageError

if TYPE_CHECKING:
    from vnicaudit.bench.engines import dnsperf, iperf3, rr

    _ENGINES: tuple[Engine, ...] = (dnsperf, iperf3, rr)


def engine_names() -> tuple[str, ...]:
    """The names of all engines, ordered; files that begin with ``_`` are their helpers."""
    files = [name for folder in __path__ for name in os.listdir(folder)]
    return tuple(sorted(n[:-3] for n in files if n.endswith(".py") and not n.startswith("_")))


def load_engine(name: str) -> Engine:
    """The engine of that name, loaded on first use. Raises UsageError if there is none."""
    known = engine_names()
    if name not in known:
        hint = close_to(name, known) or f": {', '.join(known)}"
        raise UsageError(f"no engine {name!r}{hint}")
    return cast(Engine, import_module(f"{__name__}.{name}"))
