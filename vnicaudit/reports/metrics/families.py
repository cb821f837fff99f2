"""Families of gauges, and how they are written.

The two text formats are nearly one where there are gauges alone. OpenMetrics names the unit and
ends with ``# EOF``; the text format of Prometheus, which is what node_exporter's textfile collector
reads, knows neither. A family without a sample is left out of both: promtool warns of it, and
nothing can be asked of it.

Sources: OpenMetrics 1.0 (draft-richih-opsawg-openmetrics-00); Prometheus, "Exposition formats".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from vnicaudit.reports.safe import safe

Flavour = Literal["openmetrics", "prometheus"]
Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """One gauge with its samples, each of other labels. ``unit``: the end of the name."""

    name: str
    help: str
    samples: tuple[tuple[Labels, float], ...]
    unit: str = ""


def gauge(name: str, help_: str, samples: Iterable[tuple[Labels, float]], unit: str = "") -> Family:
    """A family of ``vnicaudit_…``."""
    return Family(f"vnicaudit_{name}", help_, tuple(samples), unit)


def single(name: str, help_: str, value: float, unit: str = "") -> Family:
    """A family of one sample without labels."""
    return gauge(name, help_, (((), value),), unit)


def written(families: Iterable[Family], flavour: Flavour) -> Iterator[str]:
    """The text, a piece for each family."""
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
