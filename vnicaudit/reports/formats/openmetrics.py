"""OpenMetrics 1.0 text, for dashboards and alerts over time."""

from __future__ import annotations

from vnicaudit.reports.metrics.families import AuditMetrics
from vnicaudit.reports.writers import Options, ReportWriter

FORMAT = "openmetrics"
SUMMARY = "counts for dashboards and alerts, as OpenMetrics"
NAMES_NOT_JUDGED = False
TELLS_FILTERED = False
NEEDS_ROWS = False


def writer(options: Options) -> ReportWriter:
    """A writer that writes all metrics at the end. Options have no effect."""
    del options
    return AuditMetrics("openmetrics")
