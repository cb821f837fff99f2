"""GitLab Code Quality: what its documentation demands of an entry, and nothing lost."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.reports.samples import CLEAN, NOVA, OK_END, finding, written
from vnicaudit.model.finding import SEVERITIES, Crashed, Location, Ref
from vnicaudit.model.report import Audited, ReadError, RunEnd, Summary, TargetResult

FORMAT = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""Of GitLab's documentation, doc/ci/testing/code_quality.md, "Code Quality report format"."""


def entries(stream: list[Audited] | None = None, end: RunEnd = OK_END) -> list[dict[str, Any]]:
    text = written("gitlab") if stream is None else written("gitlab", None, stream, end)
    found: list[dict[str, Any]] = json.loads(text)
    jsonschema.validate(found, FORMAT)
    return found


def test_an_entry_is_as_gitlab_wants_it() -> None:
    assert len(entries()) == 7


def test_a_clean_run_is_an_empty_list() -> None:
    assert entries([CLEAN]) == []


@pytest.mark.parametrize(
    ("severity", "theirs"),
    list(zip(SEVERITIES, ["info", "minor", "major", "critical", "blocker"], strict=True)),
)
def test_each_severity_is_one_of_theirs(severity: Any, theirs: str) -> None:
    stream = [msgspec.structs.replace(CLEAN, findings=(finding(severity=severity),))]
    assert [entry["severity"] for entry in entries(stream)] == [theirs]


def test_paths_are_relative_to_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = ["./a.xml", "d//./b.xml", f"{tmp_path}/d/c.xml", "/etc/nova/nova.conf", "../e.xml"]
    found = tuple(finding(location=Location("x", file, 1)) for file in files)
    stream = [msgspec.structs.replace(CLEAN, findings=found)]
    assert [entry["location"]["path"] for entry in entries(stream)] == [
        "a.xml", "d/b.xml", "d/c.xml", "/etc/nova/nova.conf", "../e.xml",
    ]  # fmt: skip


def test_crashes_and_unread_files_are_told_apart() -> None:
    """GitLab keeps one entry per fingerprint."""
    crashed = tuple(
        Crashed("VNIC048", Ref("nic", "a", None, None, at), "KeyError") for at in range(3)
    )
    errors = tuple(ReadError("empty", f"{name}.xml") for name in "abc")
    end = RunEnd("now", (TargetResult("d", "failed", "x", 0, 0, errors, 3),), Summary())
    found = entries([msgspec.structs.replace(NOVA, findings=(), crashed=crashed)], end)
    assert len({entry["fingerprint"] for entry in found}) == 6
