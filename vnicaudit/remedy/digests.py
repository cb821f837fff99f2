"""What makes two definitions the same one: a digest of their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec


def digest(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def kept_digest(kind: str, id: str | None, old: Mapping[str, str | None]) -> str:
    """Of what a step on a cloud was made from: a server, image or flavor (``kind``), and what it
    has for the properties that the step changes (None: not set). Nothing in it depends on whether
    a server runs, so it can be made again from what ``nova-manage image_property show`` says."""
    made_from = {"id": id, "kind": kind, "old": dict(old)}
    return digest(msgspec.json.encode(made_from, order="deterministic"))
