"""Families of gauges, and how they are written.

For gauges, the two text formats are nearly the same. OpenMetrics names the unit and ends with ``#
EOF``; the Prometheus text format, read by node_exporter's textfile collector, has neither. A family
without samples is left out of both: promtool warns about it, and it cannot be queried. Sources:
OpenMetrics 1.0 (draft-richih-opsawg-openmetrics-00); Prometheus, "Exposition formats".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from vnicaudit.reports.safe import safe

Flavour = Literal["openmetrics", "prometheus"]
Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """One gauge with its samples, each with different labels. ``unit``: suffix of the name."""

    name: str
    help: str
    samples: tuple[tuple[Labels, float], ...]
    unit: str = ""


def gauge(name: str, help_: str, samples: Iterable[tuple[Labels, float]], unit: str = "") -> Family:
    """A family with the prefix ``vnicaudit_``."""
    return Family(f"vnicaudit_{name}", help_, tuple(samples), unit)


def single(name: str, help_: str, value: float, unit: str = "") -> Family:
    """A family with one sample without labels."""
    return gauge(name, help_, (((), value),), unit)


def written(families: Iterable[Family], flavour: Flavour) -> Iterator[str]:
    """The text, one piece per family."""
    for family in families:
        if family.samples:
            yield _family(family, flavour)
    if flavour == "openmetrics":
        yield "# EOF\n"


def _family(family: Family, flavour: Flavour) -> str:
    name = family.name
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} gauge"]
    if family.unit and flavour == "openmetrics":
        lines.append(f"# UNIT {name} {family.unit}")
    lines.extend(f"{name}{_labels(labels)} {value:.15g}" for labels, value in family.samples)
    return "\n".join([*lines, ""])


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in labels) + "}"


def _quoted(value: str) -> str:
    return safe(value).replace("\\", "\\\\").replace('"', '\\"')
