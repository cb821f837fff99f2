"""Inputs as people posted them, each with what has to be said of it and what must not."""

import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``findings`` are compared with those in the JSON report, in its order, each written as
    ``severity RULE file:line``; None: they are not compared. ``has`` and ``lacks`` are words of
    what the command prints, its line breaks left out."""

    name: str
    files: dict[str, str]
    run: list[str] | str
    exit: int
    findings: list[str] | None = None
    has: list[str] = []
    lacks: list[str] = []


CASES = [
    pytest.param(case, id=f"{path.stem}: {case.name}")
    for path in sorted(Path(__file__).parent.glob("*.yaml"))
    for case in msgspec.convert(YAML(typ="safe", pure=True).load(path), list[Case])
]


@pytest.mark.parametrize("case", CASES)
def test_case(tmp_path: Path, case: Case) -> None:
    for name, text in case.files.items():
        (tmp_path / name).write_text(text)
    commands = [case.run] if isinstance(case.run, str) else case.run
    for command in commands:
        words = shlex.split(command)
        done = inside(*words, cwd=tmp_path)
        assert done.returncode == case.exit, done.stdout + done.stderr
        said = " ".join((done.stdout + done.stderr).split())
        assert [one for one in case.has if one not in said] == [], said
        assert [one for one in case.lacks if one in said] == [], said
        if case.findings is not None:
            report = msgspec.json.decode(inside(*words, "--format", "json", cwd=tmp_path).stdout)
            assert [_shown(one) for one in report["findings"]] == case.findings


def _shown(finding: dict[str, Any]) -> str:
    place = finding["location"]
    return f"{finding['severity']} {finding['rule']} {place['file']}:{place['line']}"
