"""Metric families in the format requested by a scraper, written by prometheus-client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from vnicaudit.errors import MissingExtraError
from vnicaudit.reports.metrics.families import Family
from vnicaudit.reports.safe import safe

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily


def check_exposition() -> None:
    """Raises MissingExtraError if prometheus-client is not installed."""
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        raise MissingExtraError("fleet serve --metrics", "serve") from None


def exposed(families: Iterable[Family], accept: str) -> tuple[str, bytes]:
    """Media type and text according to the ``Accept`` header. Raises MissingExtraError."""
    check_exposition()
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(tuple(families)))
    try:
        encode, media_type = choose_encoder(accept)
        return media_type, encode(registry)
    except (TypeError, ValueError):  # prometheus-client: a version that is none
        encode, media_type = choose_encoder("")
        return media_type, encode(registry)


class _Collector:
    """Provides the families for one scrape."""

    def __init__(self, families: tuple[Family, ...]) -> None:
        self._families = families

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The families that have samples."""
        from prometheus_client.core import GaugeMetricFamily

        for family in self._families:
            if family.samples:
                names = [name for name, _value in family.samples[0][0]]
                gauge = GaugeMetricFamily(family.name, family.help, labels=names, unit=family.unit)
                for labels, value in family.samples:
                    gauge.add_metric([safe(text) for _name, text in labels], value)
                yield gauge
