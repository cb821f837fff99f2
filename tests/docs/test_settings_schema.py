"""The published schema of the settings agrees with the program: what one takes, the other takes."""

import datetime
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from ruamel.yaml import YAML

from docs import generate_schemas
from tests.docs.pages import ROOT, blocks
from tests.not_run import not_run
from tests.pipelines.project import SCRIPTS
from tests.rows import rows
from vnicaudit.audit.judging.catalogue import rule_ids, shipped_catalogue
from vnicaudit.audit.settings.keys import PolicyTable, Settings, SuppressTable
from vnicaudit.audit.settings.settings import load_settings
from vnicaudit.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCHEMAS = ROOT / "docs" / "schemas"


def schema(name: str) -> dict[str, Any]:
    """A committed schema, which is one."""
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(found)
    return found


def accepts(name: str, text: str) -> bool:
    """Whether a schema takes it; ``format`` counts, as it does in editors."""
    validator = jsonschema.Draft7Validator(
        schema(name), format_checker=jsonschema.FormatChecker(["date"])
    )
    return validator.is_valid(_as_json(tomllib.loads(text)))


def _as_json(value: Any) -> Any:
    """TOML as editors give it to a schema: dates are texts."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_json(item) for item in value]
    return value.isoformat() if isinstance(value, (datetime.date, datetime.datetime)) else value


def _loads(folder: Path, text: str) -> bool:
    file = folder / "vnicaudit.toml"
    file.write_text(text, "utf-8")
    try:
        load_settings(str(file))
    except UsageError:
        return False
    return True


def _shared(text: str) -> str:
    """The same in a pyproject.toml."""
    text = text.replace("[[suppress]]", "[[tool.vnicaudit.suppress]]")
    text = text.replace("[policy]", "[tool.vnicaudit.policy]")
    text = text.replace("[rules", "[tool.vnicaudit.rules")
    return f"[project]\nname = 'x'\n[tool.vnicaudit]\n{text}".replace(
        "[suppres]", "[tool.vnicaudit.suppres]"
    )


@rows
def test_what_the_program_takes_the_schemas_take(tmp_path: Path, text: str) -> None:
    assert _loads(tmp_path, text)
    assert accepts(generate_schemas.SETTINGS, text)
    assert accepts(generate_schemas.SHARED_SETTINGS, _shared(text))


_MISTAKES: list[dict[str, str]] = YAML(typ="safe").load(
    ROOT / "tests" / "audit" / "settings" / "test_settings.yaml"
)["test_a_mistake_is_told_with_its_line"]
_NOT_OF_A_SCHEMA = "a release of Nova that is none"


@pytest.mark.parametrize(
    "text",
    [
        *(
            pytest.param(one["text"], id=one["id"])
            for one in _MISTAKES
            if one["id"] != _NOT_OF_A_SCHEMA
        ),
        pytest.param("ignore = ['VNIC999']\n", id="a rule that is not there"),
        pytest.param("[[suppress]]\nrule = 'rings'\nreason = 'r'\n", id="a suppressed group"),
    ],
)
def test_what_the_program_refuses_the_schemas_refuse(tmp_path: Path, text: str) -> None:
    assert not _loads(tmp_path, text)
    assert not accepts(generate_schemas.SETTINGS, text)
    assert not accepts(generate_schemas.SHARED_SETTINGS, _shared(text))


def test_of_the_rest_of_a_pyproject_it_says_nothing() -> None:
    assert accepts(generate_schemas.SHARED_SETTINGS, "[tool.black]\nselect = 1\n[project]\n")


def test_every_key_is_there_and_explained() -> None:
    whole = schema(generate_schemas.SETTINGS)
    tables: list[tuple[type[msgspec.Struct], Any]] = [
        (Settings, whole),
        (SuppressTable, whole["definitions"]["SuppressTable"]),
        (PolicyTable, whole["definitions"]["PolicyTable"]),
    ]
    for record, table in tables:
        names = [field.encode_name for field in msgspec.structs.fields(record)]
        assert list(table["properties"]) == names
        assert table["additionalProperties"] is False
        for name, key in table["properties"].items():
            assert key["description"], name
            assert name == "suppress" or key["examples"], name
    for rule_id in rule_ids():
        known = {each.name for each in shipped_catalogue().info(rule_id).settings}
        table = whole["properties"]["rules"]["properties"][rule_id]
        keys = table.get("properties", whole["definitions"]["RuleTable"]["properties"])
        assert keys.keys() == {"severity"} | known


def test_examples_and_defaults_are_taken() -> None:
    whole = schema(generate_schemas.SETTINGS)
    for name, key in whole["properties"].items():
        for value in (*key.get("examples", ()), *([key["default"]] if "default" in key else ())):
            jsonschema.Draft7Validator(whole).validate({name: value})
    for name, key in whole["definitions"]["SuppressTable"]["properties"].items():
        for value in key["examples"]:
            entry = {"rule": "VNIC001", "reason": "r", name: value}
            jsonschema.Draft7Validator(whole).validate({"suppress": [entry]})
    for name, key in whole["definitions"]["PolicyTable"]["properties"].items():
        for value in (*key["examples"], key["default"]):
            jsonschema.Draft7Validator(whole).validate({"policy": {name: value}})


def test_editors_complete_every_rule_and_say_what_it_is() -> None:
    rule = schema(generate_schemas.SETTINGS)["definitions"]["Rule"]["anyOf"][0]
    assert rule["enum"] == list(rule_ids())
    summaries = rule["x-taplo"]["docs"]["enumValues"]
    assert len(summaries) == len(rule["enum"])
    assert summaries[0].startswith("legacy-emulated-nic: ")


class TestTaplo:
    """The page's configuration of taplo, which is behind Even Better TOML, with taplo itself."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in (generate_schemas.SETTINGS, generate_schemas.SHARED_SETTINGS):
            (tmp_path / "schemas").mkdir(exist_ok=True)
            shutil.copy(SCHEMAS / name, tmp_path / "schemas" / name)
        page = (ROOT / "docs/how-to/editors.md").read_text("utf-8")
        for block in blocks(page):
            if block.mark.startswith("file: "):
                (tmp_path / block.mark.removeprefix("file: ")).write_text(block.text)
        return tmp_path

    def lint(self, folder: Path, name: str) -> str:
        """What taplo says of a file; empty when all is well."""
        program = Path(SCRIPTS) / "taplo"
        if not program.exists():
            not_run("taplo", "taplo is not installed (pip install taplo)")
        result = subprocess.run(
            [str(program), "lint", "--colors", "never", name],
            cwd=folder, capture_output=True, text=True, check=False, env={"RUST_LOG": "error"},
        )  # fmt: skip
        assert bool(result.returncode) == bool(result.stderr), result.stderr
        return result.stderr

    @pytest.mark.parametrize("name", ["vnicaudit.toml", "pyproject.toml", "elsewhere.toml"])
    def test_files_of_the_page_are_in_order_and_mistakes_are_not(
        self, folder: Path, name: str
    ) -> None:
        assert self.lint(folder, name) == ""
        text = (folder / name).read_text()
        assert 'level = "medium"' in text
        (folder / name).write_text(text.replace('level = "medium"', 'level = "medum"'))
        assert '"medum" is not one of' in self.lint(folder, name)
        (folder / name).write_text(text.replace("level", "levl"))
        assert "'levl' was unexpected" in self.lint(folder, name)
