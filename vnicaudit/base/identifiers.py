"""Identifiers as they are written: UUIDs, MAC addresses, ids that are the time."""

from __future__ import annotations

import re
from datetime import datetime

MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.ASCII)
"""A MAC address in lower case, two digits a byte."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""A UUID with its hyphens."""
ANY_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
"""A UUID with its hyphens or without."""
TIME_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}", re.ASCII)
"""What :func:`time_id` makes."""


def bare_uuid(uuid: str) -> str:
    """One spelling of a UUID: libvirt reads it with and without hyphens (virUUIDParse)."""
    return uuid.replace("-", "").lower()


def time_id(moment: datetime) -> str:
    """An id that sorts by its time: ``20261122-101530-8f3a``, the last part of a second in 65536
    parts."""
    part = moment.microsecond * 65536 // 1_000_000
    return f"{moment:%Y%m%d-%H%M%S}-{part:04x}"
