"""One NIC, layer by layer: who declares what, what wins, and why."""

from __future__ import annotations

from vnicaudit.audit.explain.layers import layers
from vnicaudit.audit.explain.work import ExplainWork

__all__ = ["ExplainWork", "layers"]
