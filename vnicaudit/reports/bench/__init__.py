"""Measurement in, text out."""

FORMATS = ("csv", "html", "json", "markdown", "prometheus", "text")
"""Those of :mod:`vnicaudit.reports.bench.formats`, which loads what measures."""
