"""The views of a history, which are written in ``views.sql``."""

from __future__ import annotations

import re
from pathlib import Path


def view_statements(kind: str) -> list[str]:
    """The statements that create the views in a database of this kind, with their comments."""
    text = Path(__file__).with_name("views.sql").read_text("utf-8")
    for name, function in _FUNCTIONS[kind].items():
        text = re.sub(rf"\b{name}\(([\w.]+)\)", function, text)
    return text.strip().removesuffix(";").split(";\n")


def _dashed(digits: str) -> str:
    pieces = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 99))
    return "||'-'||".join(f"substr({digits},{begin},{length})" for begin, length in pieces)


_FUNCTIONS = {
    "sqlite": {
        "time": r"strftime('%Y-%m-%dT%H:%M:%fZ', \1/1000.0, 'unixepoch')",
        "uuid": _dashed(r"lower(hex(\1))"),
        "digits": r"lower(hex(\1))",
    },
    "postgresql": {
        "time": r"to_timestamp(\1/1000.0)",
        "uuid": _dashed(r"encode(\1,'hex')"),
        "digits": r"encode(\1,'hex')",
    },
}
