"""Reading a scenario: what is taken, and what is told of a mistake."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.rows import rows
from vnicaudit.advise.scenarios import MAX_BYTES, read_scenario
from vnicaudit.errors import UsageError
from vnicaudit.model.scenario import Scenario

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads(
    (ROOT / "docs/schemas/vnicaudit.scenario.json").read_text("utf-8")
)
FULL = """
[platform]
kind = "z-vm"
openshift = "4.16.3"
spare_nics = 0
[needs]
effort = "low"
[[flow]]
name = "frontend"
from = "pod"
to = "external"
present = "host-network"
network = { namespace = "shop", device = "enc2", addresses = ["192.0.2.7/24"] }
"""


def accepts(text: str) -> bool:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    return bool(jsonschema.Draft7Validator(SCHEMA).is_valid(tomllib.loads(text)))


def test_scenario_is_read(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(f"\ufeff{FULL}", "utf-8")
    scenario = read_scenario(str(path))
    assert (scenario.platform.openshift, scenario.platform.spare_nics) == ("4.16.3", 0)
    assert (scenario.needs.effort, scenario.needs.load) == ("low", None)
    (flow,) = scenario.flows
    assert (flow.source, flow.to, flow.present) == ("pod", "external", "host-network")
    assert accepts(FULL)


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FULL.encode())))
    assert read_scenario("-").flows[0].name == "frontend"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[platform")))
    with pytest.raises(UsageError, match="standard input:1: not valid TOML"):
        read_scenario("-")


@rows
def test_mistake_is_told_with_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(UsageError) as error:
        read_scenario(str(path))
    assert str(error.value) == f"{path}{message}"


def test_a_scenario_is_small_and_text(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    with pytest.raises(UsageError, match="larger than 1 MiB: not a scenario"):
        read_scenario(str(path))
    path.write_bytes(b"a = 1\nb = '\xff'")
    with pytest.raises(UsageError, match=r"shop\.toml:2: not UTF-8"):
        read_scenario(str(path))
    with pytest.raises(UsageError, match="No such file"):
        read_scenario(str(tmp_path / "none.toml"))


def test_schema_refuses_what_the_program_refuses() -> None:
    assert not accepts("[platform]\nkind = 'z-vmx'")
    assert not accepts("[platform]\nsdnn = 'other'")
    assert Scenario.__struct_fields__ == ("platform", "needs", "flows")
