"""MAC addresses as accepted by ``-nic`` and ``-net nic`` (``net_parse_macaddr`` in QEMU's
net/net.c).

``-device`` accepts only two digits for each byte.
"""

from __future__ import annotations

import re

from vnicaudit.platforms.qemu.options import number

NOT_SET = "00:00:00:00:00:00"
"""QEMU treats this address as not set."""

_BYTES = re.compile(r"[0-9a-fA-F]{1,2}(?:[:-][0-9a-fA-F]{1,2}){5}")
_LAST_THREE = 1 << 24


def of_nic(text: str) -> str | None:
    """The address: six bytes, or the last three as one number; None for anything else."""
    value = number(text)
    if value is not None and value < _LAST_THREE:
        return ":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big"))
    if not _BYTES.fullmatch(text):
        return None
    return ":".join(byte.zfill(2) for byte in re.split("[:-]", text.lower()))
