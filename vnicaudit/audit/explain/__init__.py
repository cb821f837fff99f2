"""One NIC, layer by layer: where each setting is declared, which declaration wins, and why."""

from __future__ import annotations

from vnicaudit.audit.explain.layers import layers
from vnicaudit.audit.explain.work import ExplainWork

__all__ = ["ExplainWork", "layers"]
