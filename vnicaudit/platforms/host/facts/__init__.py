"""Facts of a host: what is read for each, and a pure parser. Each module has its ``FACT``."""

from __future__ import annotations

from vnicaudit.platforms.host.facts import (
    containers,
    cpus,
    ibm_z,
    interrupts,
    kernel,
    kernel_log,
    links,
    ovs,
    owners,
    partitions,
    processes,
)
from vnicaudit.platforms.host.readings import HostFact

EVERY_FACT: tuple[HostFact, ...] = (
    containers.FACT,
    kernel.FACT,
    ibm_z.FACT,
    cpus.FACT,
    cpus.USE,
    processes.FACT,
    partitions.FACT,
    interrupts.FACT,
    links.FACT,
    processes.USES,
    owners.FACT,
    kernel_log.FACT,
    ovs.FACT,
)
"""All of them, in the order in which they are read: whether it is a container is known first."""
