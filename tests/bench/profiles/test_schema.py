"""The published schema takes what the program takes, and refuses what it can know to be wrong."""

import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.bench.profiles.test_load import FULL, MINIMAL, MISTAKES
from vnicaudit.bench.profiles.keys import Kind, ProfileTable, WorkloadTable, examples
from vnicaudit.bench.profiles.load import FOLDER, shipped_profiles

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "docs/schemas/vnicaudit.profile.json").read_text("utf-8")
)
SHIPPED = {name: (Path(FOLDER) / f"{name}.toml").read_text("utf-8") for name in shipped_profiles()}
STRUCTURAL = (
    "nothing", "no workload", "empty title", "workload is no table", "workload is no list",
    "no engine", "second without patterns", "unknown key", "unknown key of a workload",
    "pattern for patterns", "no list", "empty list", "no direction", "no design",
    "no connections", "a size of another type", "primary as a text", "a state with blanks",
    "a name with blanks", "a share for per cent", "steal of nothing",
    "options that are no texts",
)  # fmt: skip
"""Mistakes that no engine has to be asked about."""


def accepts(document: dict[str, Any]) -> bool:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    return bool(jsonschema.Draft7Validator(SCHEMA).is_valid(document))


@pytest.mark.parametrize("text", [FULL, MINIMAL, *SHIPPED.values()], ids=["full", "less", *SHIPPED])
def test_what_the_program_takes_it_takes(text: str) -> None:
    assert accepts(tomllib.loads(text))


@pytest.mark.parametrize("name", STRUCTURAL)
def test_what_is_wrong_in_itself_it_refuses(name: str) -> None:
    assert not accepts(tomllib.loads(MISTAKES[name][0]))


@pytest.mark.parametrize("kind", [ProfileTable, WorkloadTable])
def test_it_takes_every_example_and_every_default(kind: Kind) -> None:
    minimal = tomllib.loads(MINIMAL)
    table = SCHEMA if kind is ProfileTable else SCHEMA["definitions"]["WorkloadTable"]
    for key, values in examples(kind).items():
        said = table["properties"][key]
        for value in (*values, *([said["default"]] if "default" in said else ())):
            changed = {key: value}
            if kind is WorkloadTable:
                changed = {"workload": [{**minimal["workload"][0], key: value}]}
            assert accepts({**minimal, **changed}), key
