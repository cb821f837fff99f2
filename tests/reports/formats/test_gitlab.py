"""GitLab Code Quality: what its documentation demands of an entry, and nothing lost."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from tests.reports.samples import CLEAN, NOVA, OK_END, WEB_01, finding, written
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


def test_the_whole_report() -> None:
    shown = [
        (entry["severity"], entry["check_name"], entry["location"]["path"],
         entry["location"]["lines"]["begin"])
        for entry in entries()
    ]  # fmt: skip
    assert shown == [
        ("critical", "VNIC001", "domains/web-01.xml", 18),
        ("major", "VNIC030", "domains/web-01.xml", 31),
        ("minor", "VNIC009", "domains/web-01.xml", 1),
        ("critical", "VNIC020", "qemu:///system", 1),
        ("blocker", "VNIC048", "qemu:///system", 1),
        ("blocker", "unread", "domains/broken.xml", 3),
        ("blocker", "unread", "qemu+ssh://kvm7/system", 1),
    ]


def test_an_entry() -> None:
    assert entries([WEB_01])[0] == {
        "description": "web-01, NIC 0 52:54:00:6b:3c:58: rtl8139 is emulated packet by packet: no "
        "offload, no vhost. fix (unsafe): Set <model type='virtio'/> (virsh edit), then power the "
        "guest off and on. Unsafe: no sign of a virtio driver.",
        "check_name": "VNIC001",
        "fingerprint": "vnic001-web-01-0",
        "severity": "critical",
        "location": {"path": "domains/web-01.xml", "lines": {"begin": 18}},
    }


def test_crashes_and_what_could_not_be_read_say_so() -> None:
    said = [entry["description"] for entry in entries() if entry["severity"] == "blocker"]
    assert said == [
        "instance-0000002a, NIC 0 fa:16:3e:10:20:30: the rule crashed: KeyError: 'mtu'",
        "could not be read: Opening and ending tag mismatch: mac and interface",
        "could not be read: no answer within 30 s",
    ]


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
