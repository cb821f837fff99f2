"""Amounts as people write them: ``64K``, ``100M``, ``13.4G``."""

from __future__ import annotations

import re

_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([kKmMgG]?)", re.ASCII)
_LETTERS = "kmg"


def amount(value: int | float | str, base: int) -> float | None:
    """A number or a text with ``k``, ``M`` or ``G``, powers of ``base``; None where it is neither,
    or not above 0."""
    if not isinstance(value, str):
        return float(value) if 0 < value < base**6 else None
    match = _AMOUNT.fullmatch(value.strip())
    if match is None:
        return None
    power = _LETTERS.find(match.group(2).lower()) + 1 if match.group(2) else 0
    return round(float(match.group(1)) * base**power, 6) or None


def short(value: float, base: int) -> str:
    """The shortest text of an amount, for ids: 65536 is ``64k`` to the base 1024."""
    for power in (3, 2, 1):
        if value % base**power == 0:
            return f"{value / base**power:.0f}{_LETTERS[power - 1]}"
    return f"{value:.6f}".rstrip("0").rstrip(".")
