"""Readiness of a guest to drive virtio."""

from __future__ import annotations

from typing import Literal

Readiness = Literal[
    "ready", "likely-ready", "ready-transitional", "needs-driver", "unknown", "not-supported"
]
"""Can this guest drive virtio? ``likely-ready``: a virtio disk, and nothing tells that the system
is not Windows. See :mod:`vnicaudit.knowledge.readiness`."""
