"""Every fact of a host, in the order in which they are read."""

from __future__ import annotations

from vnicaudit.platforms.host.readings import HostFact

FACTS: tuple[HostFact, ...] = ()
