"""``vnicaudit.host-cpus/1``: which tasks may, and do, use which CPUs of a host."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.host_facts import Cpus

HOST_CPUS_SCHEMA: Literal["vnicaudit.host-cpus/1"] = "vnicaudit.host-cpus/1"

CpuClass = Literal["reserved", "shared", "isolated", "banned", "dedicated", "polled"]
"""``shared``: Nova's cpu_shared_set; ``banned``: isolated, and irqbalance is to keep interrupts
away; ``dedicated``: to pinned vCPUs; ``polled``: dedicated to polling threads."""


class Cell(msgspec.Struct, frozen=True):
    """A class of tasks on some CPUs. None: unknown."""

    allowed: bool | None
    used: bool | None
    """They run there, or nothing keeps them from it."""


class CpuColumn(msgspec.Struct, frozen=True):
    """CPUs of one class on which all cells are the same."""

    cpus: Cpus
    kind: CpuClass
    cells: dict[str, Cell]
    """By class of tasks."""


class HostCpus(msgspec.Struct, frozen=True, kw_only=True):
    """The partition matrix of a host."""

    schema: Literal["vnicaudit.host-cpus/1"] = HOST_CPUS_SCHEMA
    tables: tuple[str, ...]
    """Names of the tables that may apply; empty: unknown. A cell on which they differ is
    unknown."""
    evidence: str
    """What shows which."""
    columns: tuple[CpuColumn, ...]
