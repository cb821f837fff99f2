"""A step that an edit made one that cannot be written is refused, with a code."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside

_XML = """\
<domain type='kvm'><name>a</name><memory unit='MiB'>64</memory>
<os><type arch='x86_64' machine='pc'>hvm</type></os>
<devices><interface type='bridge'><mac address='52:54:00:00:00:01'/><source bridge='br0'/>
<model type='rtl8139'/></interface></devices></domain>
"""


@pytest.mark.parametrize("edit", [{"field": "nosuch"}, {"new": "no model\x01"}])
def test_a_change_that_cannot_be_written_is_the_plans(edit: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(_XML)
    plan, state = tmp_path / "plan.json", tmp_path / "state"
    inside("plan", tmp_path / "a.xml", "-o", plan, "--quiet", "--include-unsafe")
    text: dict[str, Any] = json.loads(plan.read_text())
    text["steps"][0]["changes"][0].update(edit)
    plan.write_text(json.dumps(text))
    inside("apply", plan, "--yes", "--include-unsafe", "--state", state)
    shown = json.loads(inside("runs", "--state", state, "--format", "json").stdout)
    (unit,) = shown["runs"][0]["steps"]
    assert (unit["outcome"], unit["codes"]) == ("refused", ["plan"])
    assert (tmp_path / "a.xml").read_text() == _XML
