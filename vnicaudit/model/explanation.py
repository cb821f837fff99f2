"""The explanation of one NIC, layer by layer: the record behind ``vnicaudit.explain/1``."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Crashed, Finding, Skipped
from vnicaudit.model.report import NicRow, Suppressed

EXPLAIN_SCHEMA: Literal["vnicaudit.explain/1"] = "vnicaudit.explain/1"


class LayerFact(msgspec.Struct, frozen=True):
    """One fact, as one layer states it. ``wins``: it decides what the guest gets; ``note`` says
    why, or why not."""

    fact: str
    value: str
    wins: bool = False
    note: str = ""


class Layer(msgspec.Struct, frozen=True):
    """One place that describes a NIC: a definition, a network, a QEMU command line, a host.

    ``missing`` says why nothing is known from this layer, and which source would help; empty if the
    layer was read (it may still have no facts).
    """

    name: str
    place: str | None = None
    facts: tuple[LayerFact, ...] = ()
    missing: str = ""


class ServerName(msgspec.Struct, frozen=True):
    """The server of OpenStack that a domain is. None: unknown (only admins can see the host)."""

    id: str
    name: str
    cloud: str
    """The name that the user gave, ``openstack:NAME``."""
    project: str | None = None
    """The id of its project."""
    project_name: str | None = None
    host: str | None = None


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One NIC, layer by layer, and its problems. ``server`` None: it is not a server of a cloud
    that was read."""

    nic: NicRow
    server: ServerName | None = None
    layers: tuple[Layer, ...]
    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    crashed: tuple[Crashed, ...] = ()


class Explained(msgspec.Struct, frozen=True):
    """One domain among which a NIC to explain is looked for. ``names``: all names that a user may
    call it by; ``is_asked_for``: it is the domain that the user named, or any will do; ``bare``:
    why a domain that was named has no NIC."""

    names: tuple[str, ...]
    is_asked_for: bool
    macs: tuple[str, ...] = ()
    explanations: tuple[Explanation, ...] = ()
    bare: str = ""
