"""Digests of definitions: two definitions are the same if their bytes are."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec


def digest(data: bytes) -> str:
    """``sha256:`` and 64 hexadecimal digits."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def short_digest(data: bytes, digits: int) -> str:
    """The first hexadecimal digits alone, for use in a name or a line."""
    return hashlib.sha256(data).hexdigest()[:digits]


def kept_digest(kind: str, id: str | None, old: Mapping[str, str | None]) -> str:
    """The digest of the object that a cloud step was made from: a server, image or flavor
    (``kind``), and its values for the properties that the step changes (None: not set). It is
    independent of whether a server runs, so it can be computed again from the output of
    ``nova-manage image_property show``."""
    made_from = {"id": id, "kind": kind, "old": dict(old)}
    return digest(msgspec.json.encode(made_from, order="deterministic"))
