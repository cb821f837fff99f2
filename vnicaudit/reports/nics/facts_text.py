"""The five facts of a NIC, ``declared → effective``, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from vnicaudit.model.effective import NONE, UNKNOWN, Resolved
from vnicaudit.model.report import NicRow
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.columns import columns, row_with_text
from vnicaudit.reports.table.model import Part

T = TypeVar("T")

ARROW = "→"


def facts(nic: NicRow) -> Iterator[tuple[str, str, str]]:
    """``(label, value, reason)`` of each fact, safe to show."""
    model = value(nic.model)
    if nic.model.declared is None and nic.model.state not in (NONE, UNKNOWN):
        model = f"-{ARROW}{model}"  # a default is worth showing, because it is often unexpected
    yield "model", model, safe(nic.model.reason)
    yield "vhost", value(nic.vhost), safe(nic.vhost.reason)
    yield "queues", value(nic.queues), safe(nic.queues.reason)
    yield "rx", value(nic.rx_queue_size), safe(nic.rx_queue_size.reason)
    yield "tx", value(nic.tx_queue_size), safe(nic.tx_queue_size.reason)


def facts_text(nic: NicRow, width: int, first: str) -> str:
    """One line or more for each fact: label, value and reason."""
    known = list(facts(nic))
    rows = columns(((Part(label), Part(value)) for label, value, _ in known), Paint(color=False))
    return "".join(
        row_with_text(row, reason, width, first, "      ")
        for row, (_, _, reason) in zip(rows, known, strict=True)
    )


def value(resolved: Resolved[T]) -> str:
    """``virtio``; ``1024→256`` if the effective value differs from the declared one; ``unknown``;
    ``-``: the NIC has no such value."""
    effective = {UNKNOWN: "unknown", NONE: "-"}.get(resolved.state) or _word(resolved.effective)
    if resolved.declared is None or resolved.declared == resolved.effective:
        return effective
    return f"{_word(resolved.declared)}{ARROW}{effective}"


def type_of(nic: NicRow) -> str:
    """``bridge``; ``network→bridge`` if it is known how the network is connected. In a manifest,
    how KubeVirt connects it: ``masquerade``."""
    if nic.wiring is not None:
        return safe(nic.wiring)
    actual = nic.actual_type or "unknown"
    return safe(nic.type if actual == nic.type else f"{nic.type}{ARROW}{actual}")


def connection_of(nic: NicRow, *, server: bool = False) -> str:
    """``bridge br0``, ``network default→bridge``, ``masquerade pod``: how a NIC is connected, and
    to what if that is known. ``server``: it belongs to a cloud, so its networks are Neutron's."""
    if not nic.source:
        return type_of(nic)
    source = safe(nic.source)
    if nic.wiring is None and (server or nic.type == "network"):
        actual = "" if nic.actual_type == "network" else f"{ARROW}{nic.actual_type or 'unknown'}"
        return f"network {source}{safe(actual)}"
    return f"{type_of(nic)} {source}"


def _word(thing: object) -> str:
    if isinstance(thing, bool):
        return "yes" if thing else "no"
    return "-" if thing is None else safe(str(thing))
