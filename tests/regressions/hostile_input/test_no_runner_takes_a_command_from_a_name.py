"""A domain called ``::error file=a.xml,line=1::pwned`` began a line of the text format, and
``##[add-matcher]…``, ``##vso[task.setvariable …]`` and ``##teamcity[…]`` came out in text, in
Markdown, CSV, JSON and what ``nics`` prints: a runner takes those for its own."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from tests.cli.inside import inside
from vnicaudit.reports.formats import formats
from vnicaudit.reports.safe import encode, safe

NAMES = (
    "::error file=a.xml,line=1::pwned", " ::set-env name=X::y", "x ::stop-commands::t",
    "##[add-matcher]evil.json", "a###[set-output name=x]y", "##vso[task.setvariable variable=x]y",
    "##teamcity[buildStatus text='x']",
)  # fmt: skip
_XML = """\
<domain type='kvm'>
  <name>{}</name>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices>
    <interface type='bridge'><source bridge='{}'/><model type='rtl8139'/></interface>
  </devices>
</domain>
"""
_COMMAND = re.compile(r"^\s*::[A-Za-z_-]+.*::|##\w*\[", re.MULTILINE)
"""As a runner finds one (actions/runner, ActionCommand.cs: TryParseV2 and TryParse)."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("named")
    for number, name in enumerate(NAMES):
        shown = name.replace("'", "&apos;")
        (place / f"{number}{name.replace('/', '')}.xml").write_text(_XML.format(shown, shown))
    (place / "::error::broken.xml").write_text("<domain>")
    (place / "##[error]broken.xml").write_text("<domain>")
    return place


@pytest.mark.parametrize("format_", sorted(formats()))
@pytest.mark.parametrize("width", ["30", "200"])
def test_no_line_of_a_report_is_a_command(format_: str, width: str, folder: Path) -> None:
    result = inside(
        "audit",
        ".",
        "--format",
        format_,
        "-v",
        "VNICAUDIT_JOBS=1",
        cwd=folder,
        env={"COLUMNS": width},
    )
    assert result.returncode == 4
    lines = [line for line in result.stdout.splitlines() if _COMMAND.search(line)]
    own = re.compile(r"::(?:error|warning|notice) (?:file=[^:]*|title=[^:]*)::")
    assert [line for line in lines if format_ != "github" or not own.match(line)] == []
    assert not re.search(r"##\w*\[", result.stdout + result.stderr)
    assert not _COMMAND.search(result.stderr)


@pytest.mark.parametrize(
    "words", [("nics", "."), ("nics", ".", "--format", "json"), ("plan", ".", "--include-unsafe"),
              ("plan", ".", "-o", "-"), ("audit", ".", "--diff", "--include-unsafe"),
              ("audit", "::error::none.xml"), ("audit", "x", "--##[error]x"),
              ("rules", "##[error]x"), ("apply", "##[error]x.json")],
)  # fmt: skip
def test_no_line_of_a_command_is_one(words: tuple[str, ...], folder: Path) -> None:
    result = inside(*words, cwd=folder, env={"COLUMNS": "40"})
    assert result.stdout or result.stderr
    for stream in (result.stdout, result.stderr):
        assert [line for line in stream.splitlines() if _COMMAND.search(line)] == []


def test_json_says_what_the_name_is(folder: Path) -> None:
    result = inside("audit", ".", "--format", "json", cwd=folder)
    found = {finding["about"]["name"] for finding in json.loads(result.stdout)["findings"]}
    assert {name.strip() for name in found} == {name.strip() for name in NAMES}
    assert json.loads(encode("##[x]")) == "##[x]"


def test_what_is_no_command_is_left_alone() -> None:
    for text in (
        "::1",
        "::ffff:192.0.2.1",
        "fe80::1",
        "a::b",
        "2001:db8::",
        "# x",
        "## [x]",
        "#[x]",
    ):
        assert safe(text) == text
    assert safe("::error::x") == "\\x3a:error::x"
    assert safe("##[x]") == "#\\x23[x]"


def test_every_cell_of_csv_is_in_quotes(folder: Path) -> None:
    (folder / "z.xml").write_text(_XML.format("a;=1+1", "br0"))
    result = inside("audit", "z.xml", "--format", "csv", cwd=folder)
    head, row = result.stdout.splitlines()
    assert head.startswith('"rule","name","severity"')
    assert '"a;=1+1"' in row
    assert next(csv.reader(io.StringIO(row)))[4] == "a;=1+1"
