"""Facts of a host: what is read for each, and a pure parser. Each module has one ``FACT``."""

from __future__ import annotations

from vnicaudit.platforms.host.facts import containers, cpus, links
from vnicaudit.platforms.host.readings import HostFact

EVERY_FACT: tuple[HostFact, ...] = (
    containers.FACT,
    cpus.FACT,
    links.FACT,
)
"""All of them, in the order in which they are read."""
