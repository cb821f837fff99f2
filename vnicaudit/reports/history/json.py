"""Records of the history as JSON."""

from __future__ import annotations

import msgspec

from vnicaudit.model.history import AuditDetails, Drift, HistoryStatus, Trend


def to_json(one: AuditDetails | Drift | HistoryStatus | Trend) -> str:
    """The document, indented, with a line break at its end."""
    return msgspec.json.format(msgspec.json.encode(one), indent=1).decode() + "\n"
