"""The text format of Prometheus, for the textfile collector of node_exporter."""

from vnicaudit.reports.metrics import AuditMetrics

WRITER = AuditMetrics
