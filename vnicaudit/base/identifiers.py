"""Formats of identifiers: UUIDs, MAC addresses, and ids made from the time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.ASCII)
"""A MAC address in lower case, two digits per byte."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""A UUID with hyphens."""
ANY_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
"""A UUID with or without hyphens."""
TIME_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}", re.ASCII)
"""An id as made by :func:`time_id`."""


def bare_uuid(uuid: str) -> str:
    """A UUID in lower case without hyphens: libvirt accepts both spellings (virUUIDParse)."""
    return uuid.replace("-", "").lower()


def mac_hint(word: str, known: Iterable[str]) -> str:
    """``; did you mean '…'?`` with the one known MAC address that differs in one digit, or in two
    neighbours that changed places; empty where there is none, or several."""
    near = {mac for mac in known if len(mac) == len(word) and _is_misspelt(word.lower(), mac)}
    return f"; did you mean {near.pop()!r}?" if len(near) == 1 else ""


def _is_misspelt(word: str, mac: str) -> bool:
    places = [place for place, (a, b) in enumerate(zip(word, mac, strict=True)) if a != b]
    if len(places) < 2:
        return len(places) == 1
    first, last = places[0], places[-1]
    swapped = word[first] == mac[last] and word[last] == mac[first]
    return len(places) == 2 and swapped and last - first <= 2


def time_id(moment: datetime) -> str:
    """An id that sorts by time: ``20261122-101530-8f3a``; the last part is the fraction of the
    second, in 1/65536."""
    part = moment.microsecond * 65536 // 1_000_000
    return f"{moment:%Y%m%d-%H%M%S}-{part:04x}"
