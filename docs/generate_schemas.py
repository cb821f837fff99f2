"""Write the JSON Schemas of the files vnicaudit writes, from the records behind them.

``python docs/generate_schemas.py`` writes ``docs/schemas/``; with ``--check`` it writes nothing
and exits 1 when a committed schema is not what the records say.
"""

from __future__ import annotations

import inspect
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from vnicaudit.model.report import Explanation, NicsReport, Report, RulesReport

FOLDER = Path(__file__).parent / "schemas"
RECORDS: dict[str, type[msgspec.Struct]] = {
    "vnicaudit.report-1.json": Report,
    "vnicaudit.nics-1.json": NicsReport,
    "vnicaudit.explain-1.json": Explanation,
    "vnicaudit.rules-1.json": RulesReport,
}


def text_of(record: type[msgspec.Struct]) -> str:
    """The schema of one record as the file has it (JSON Schema 2020-12, definitions in $defs)."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_cleaned(msgspec.json.schema(record)),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _cleaned(node: Any) -> Any:
    """The same with docstrings as Python 3.13 keeps them; older ones leave their indentation."""
    if isinstance(node, list):
        return [_cleaned(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: inspect.cleandoc(value)
        if key == "description" and isinstance(value, str)
        else _cleaned(value)
        for key, value in node.items()
    }


def stale(folder: Path = FOLDER) -> list[str]:
    """The names of files that are missing, left over or not what the records say."""
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    wanted = {name: text_of(record) for name, record in RECORDS.items()}
    names = sorted(found.keys() | wanted.keys())
    return [name for name in names if found.get(name) != wanted.get(name)]


def write(folder: Path = FOLDER) -> None:
    """Write every schema."""
    folder.mkdir(exist_ok=True)
    for name, record in RECORDS.items():
        (folder / name).write_text(text_of(record), encoding="utf-8")


def main(arguments: list[str]) -> int:
    """The exit code: 1 when ``--check`` finds something stale."""
    if arguments != ["--check"]:
        write()
        return 0
    names = stale()
    for name in names:
        sys.stderr.write(f"docs/schemas/{name} is stale: run python docs/generate_schemas.py\n")
    return bool(names)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
