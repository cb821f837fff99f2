"""Load generators: one file each, with its commands and the pure parsers of its output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from vnicaudit.base.registry import Registry
from vnicaudit.bench.contract import Engine

if TYPE_CHECKING:
    from vnicaudit.bench.engines import dnsperf, iperf3, rr

    _ENGINES: tuple[Engine, ...] = (dnsperf, iperf3, rr)

ENGINES: Registry[Engine] = Registry("engine", sys.modules[__name__], Engine)
