"""What makes two definitions the same one: a digest of their bytes."""

from __future__ import annotations

import hashlib


def digest(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
