"""CSV: stable columns, no formulas."""

import csv

import msgspec

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.finding import Ref

HEADER = (
    '"rule","name","severity","confidence","domain","uuid","nic","mac","target_dev","owner",'
    '"target","file","line","message","fix","fix_safe","fingerprint"\n'
)


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_the_columns_are_a_promise() -> None:
    assert written("csv", stream=[CLEAN], end=OK_END) == HEADER


def test_one_line_per_finding() -> None:
    assert [row["rule"] for row in rows(written("csv"))] == [
        "VNIC001", "VNIC030", "VNIC009", "VNIC020",
    ]  # fmt: skip
    assert rows(written("csv"))[0] == {
        "rule": "VNIC001",
        "name": "legacy-emulated-nic",
        "severity": "high",
        "confidence": "high",
        "domain": "web-01",
        "uuid": "3b2bb8cc-9a31-4a4b-a26c-1a7d0a5c8e01",
        "nic": "0",
        "mac": "52:54:00:6b:3c:58",
        "target_dev": "",
        "owner": "libvirt",
        "target": "domains",
        "file": "domains/web-01.xml",
        "line": "18",
        "message": finding().message,
        "fix": "Set <model type='virtio'/> (virsh edit), then power the guest off and on. "
        "Unsafe: no sign of a virtio driver.",
        "fix_safe": "false",
        "fingerprint": "vnic001-web-01-0",
    }


def test_what_is_not_known_is_empty() -> None:
    live = rows(written("csv"))[3]
    assert (live["file"], live["line"], live["fix_safe"]) == ("", "", "")


def test_a_name_cannot_be_a_formula_or_a_second_line() -> None:
    nic = Ref("nic", '=HYPERLINK("http://e.example")\n', None, "@x", 0, "-1")
    stream = [msgspec.structs.replace(WEB_01, findings=(finding(about=nic),))]
    [row] = rows(written("csv", stream=stream))
    assert row["domain"] == '\'=HYPERLINK("http://e.example")\\n'
    assert (row["mac"], row["target_dev"]) == ("'@x", "'-1")
