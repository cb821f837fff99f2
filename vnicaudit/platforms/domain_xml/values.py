"""Convert attribute text to values as libvirt reads them, so that hostile text yields neither huge
strings nor numbers that no record can hold."""

from __future__ import annotations

import re

LONGEST_WORD = 200
"""Maximum number of characters of a word. The longest of libvirt's, QEMU's and osinfo-db's own have
about 60."""

_LARGEST = 2**32 - 1
_COUNT = re.compile(r"\s*\+?0*([0-9]{1,10})", re.ASCII)
_LONG_COUNT = re.compile(r"\s*\+?0*([0-9]{1,20})", re.ASCII)
_ANY_BASE = re.compile(
    r"\s*\+?(?:0[xX]0*([0-9a-fA-F]{1,8})|0+([0-7]{0,11})|([1-9][0-9]{0,9}))", re.ASCII
)


def word(text: str) -> str:
    """The text, cut if it is longer than any word that libvirt knows: it then ends in ``…``."""
    return text if len(text) <= LONGEST_WORD else f"{text[:LONGEST_WORD]}…"


def count(text: str) -> int | None:
    """A decimal number; None if libvirt would refuse it (``virStrToLong_uip``, base 10: 32 bits,
    leading blanks and a plus sign allowed, nothing after the digits)."""
    match = _COUNT.fullmatch(text)
    return None if match is None else _bounded(int(match[1]), _LARGEST)


def long_count(text: str) -> int | None:
    """A decimal number of 64 bits (``virStrToLong_ull``); None for other text."""
    match = _LONG_COUNT.fullmatch(text)
    return None if match is None else _bounded(int(match[1]), 2**64 - 1)


def bus(text: str) -> int | None:
    """The number of a PCI bus, 0 to 255, decimal, octal or hexadecimal as in C; None if libvirt
    would refuse it (``virPCIDeviceAddressParseXML``)."""
    return number(text, 0xFF)


def number(text: str, largest: int = _LARGEST) -> int | None:
    """A number in any base as C writes it (``virStrToLong_uip``, base 0); None for other text and
    beyond ``largest``."""
    match = _ANY_BASE.fullmatch(text)
    if match is None:
        return None
    hexadecimal, octal, decimal = match.groups()
    if hexadecimal is not None:
        return _bounded(int(hexadecimal, 16), largest)
    return _bounded(int(octal or "0", 8) if octal is not None else int(decimal), largest)


def _bounded(value: int, largest: int) -> int | None:
    return value if value <= largest else None
