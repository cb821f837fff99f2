"""What keys.py says of each key beside its type."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, get_type_hints

import msgspec

from vnicaudit.bench.profiles.keys import ProfileTable, WorkloadTable

Kind = type[ProfileTable] | type[WorkloadTable]


def descriptions(kind: Kind) -> dict[str, str]:
    """Key -> what it means, Markdown."""
    return {key: said.description or "" for key, said in _said(kind).items()}


def examples(kind: Kind) -> dict[str, list[Any]]:
    """Key -> values it takes."""
    return {key: (said.extra_json_schema or {})["examples"] for key, said in _said(kind).items()}


def toml(value: Any) -> str:
    """A value as it is written in TOML."""
    if isinstance(value, dict):
        pairs = (f"{key} = {toml(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


@cache
def _said(kind: Kind) -> dict[str, msgspec.Meta]:
    hints = get_type_hints(kind, include_extras=True)
    found = {}
    for field in msgspec.structs.fields(kind):
        metas = (part for part in hints[field.name].__metadata__ if isinstance(part, msgspec.Meta))
        found[field.encode_name] = next(meta for meta in metas if meta.description)
    return found
