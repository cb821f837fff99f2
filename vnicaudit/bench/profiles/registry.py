"""Registry of load generators and guard rails: every module in ``bench/engines/`` is a load
generator, every module in ``bench/guards/`` a guard rail."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import vnicaudit.bench.engines
import vnicaudit.bench.guards
from vnicaudit.base.registry import Registry
from vnicaudit.bench.contract import Engine, Guard

if TYPE_CHECKING:
    from vnicaudit.bench.engines import dnsperf, iperf3, rr
    from vnicaudit.bench.guards import addresses, path_mtu, ping

    _ENGINES: tuple[Engine, ...] = (dnsperf, iperf3, rr)
    _GUARDS: tuple[Guard, ...] = (addresses, path_mtu, ping)

Plugin_co = TypeVar("Plugin_co", covariant=True)

ENGINES: Registry[Engine] = Registry("engine", vnicaudit.bench.engines, Engine)
GUARDS: Registry[Guard] = Registry("guard rail", vnicaudit.bench.guards, Guard)


class PluginSource(Protocol[Plugin_co]):
    """A source of plug-ins, such as a :class:`~vnicaudit.base.registry.Registry`."""

    def names(self) -> tuple[str, ...]:
        """The names of all plug-ins, ordered."""

    def load(self, name: str) -> Plugin_co:
        """Load one plug-in. Raises UsageError."""


class BenchPlugins(NamedTuple):
    """The load generators, and the guard rails that are checked besides."""

    engines: PluginSource[Engine] = ENGINES
    guards: PluginSource[Guard] = GUARDS


SHIPPED = BenchPlugins()
"""Those that come with this program."""
