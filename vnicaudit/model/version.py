"""Versions of libvirt and QEMU, comparable."""

from __future__ import annotations

import re

import msgspec

_PATTERN = r"\s*v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?"


class Version(msgspec.Struct, frozen=True, order=True):
    """Three numbers, ordered. ``str()`` gives ``10.0.13``."""

    major: int
    minor: int = 0
    micro: int = 0

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.micro}"

    @classmethod
    def parse(cls, text: str) -> Version:
        """Read ``10``, ``10.0``, ``10.0.13`` or ``10.0.13 (Debian 1:10.0.13+ds-1)``.

        Raises ValueError when the text does not begin with a number.
        """
        match = re.match(_PATTERN, text)
        if match is None:
            raise ValueError(f"not a version: {text!r} (expected for example 10.0.13)")
        return cls(*(int(part or 0) for part in match.groups()))

    @classmethod
    def from_libvirt(cls, number: int) -> Version:
        """Read libvirt's encoding: major * 1,000,000 + minor * 1,000 + micro."""
        return cls(number // 1_000_000, number // 1_000 % 1_000, number % 1_000)
