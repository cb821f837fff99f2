"""A definition in quotes, in CDATA, escaped or in base64 was passed over without a word in a
folder, where the file held nothing else that is judged."""

import html
import json
from base64 import b64encode
from pathlib import Path

import pytest

from tests.cli.inside import inside

GUEST = """<domain type='kvm'>
  <name>one</name>
  <devices>
    <interface type='bridge'><source bridge='br0'/><model type='rtl8139'/></interface>
  </devices>
</domain>
"""
DECLARED = f"<?xml version='1.0'?>\n{GUEST}"
GO = json.dumps({"data": {"a.xml": DECLARED}}).replace("<", "\\u003c").replace(">", "\\u003e")
QUOTED = "domain XML inside a quoted string"
HELD = {
    "json": (json.dumps({"kind": "ConfigMap", "data": {"a.xml": GUEST}}), QUOTED),
    "json, indented": (json.dumps([{"xml": DECLARED}], indent=2), QUOTED),
    "json by go": (GO, QUOTED),
    "yaml, double quotes": (f"a: {json.dumps(GUEST)}\n", QUOTED),
    "yaml, single quotes": ("a: '" + GUEST.replace("'", "''") + "'\n", QUOTED),
    "cdata": (f"<hook><data><![CDATA[\n{GUEST}]]></data></hook>", QUOTED),
    "escaped": (f"<hook><data>{html.escape(GUEST)}</data></hook>", QUOTED),
    "secret": (f"kind: Secret\ndata:\n  a: {b64encode(GUEST.encode()).decode()}\n", "in base64"),
    "secret, declared": (
        f"kind: Secret\ndata:\n  a: {b64encode(DECLARED.encode()).decode()}\n",
        "in base64",
    ),
}
POOL = b"<?xml version='1.0'?><pool type='dir'><name>images</name></pool>"
NONE = {
    "a page": f"<html><body><pre>{html.escape(GUEST)}</pre></body></html>",
    "markdown": f'---\ntitle: x\n---\n```json\n{{"a": {json.dumps(GUEST)}}}\n```\n',
    "another domain": '{"a": "<domain>example.org</domain>"}',
    "prose": f"One writes {GUEST!r} here.\n",
    "other base64": f"data: {b64encode(POOL).decode()}",
}


@pytest.mark.parametrize(("text", "words"), HELD.values(), ids=HELD)
def test_it_is_called_not_judged(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "held").write_text(text)
    result = inside("audit", tmp_path)
    said = " ".join(result.stdout.split())
    assert words in said
    assert "1 part was not judged" in said


@pytest.mark.parametrize("text", NONE.values(), ids=NONE)
def test_an_example_is_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "none").write_text(text)
    assert "not judged" not in " ".join(inside("audit", tmp_path).stdout.split())
