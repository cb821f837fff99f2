"""Baselines: what is read, what is written, and what is refused."""

import os
from pathlib import Path

import msgspec
import pytest

from vnicaudit.audit.accepting import baseline
from vnicaudit.audit.accepting.baseline import (
    BaselineEntry,
    BaselineFile,
    is_known,
    load_baseline,
    number_gone,
)
from vnicaudit.errors import UsageError
from vnicaudit.model.finding import Finding, Location, Ref, Severity
from vnicaudit.model.report import Report, Suppressed, Tool

CREATED = "2026-11-21T03:00:00Z"


def finding(
    mark: str, rule: str = "VNIC001", severity: Severity = "high", **nic: object
) -> Finding:
    return Finding(
        rule, "some-name", severity, "high", 'a "message"\n',
        msgspec.convert({"kind": "nic", **nic}, Ref),
        Location("lab"), "libvirt", None, mark,
    )  # fmt: skip


def report(*findings: Finding, suppressed: tuple[Finding, ...] = ()) -> bytes:
    return msgspec.json.encode(
        Report(
            tool=Tool("vnicaudit", "1"), started=CREATED, finished=CREATED, targets=(),
            findings=findings, skipped=(), crashed=(),
            suppressed=tuple(Suppressed(item, "agreed", "here") for item in suppressed),
        )
    )  # fmt: skip


def complaint(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    with pytest.raises(UsageError) as raised:
        load_baseline(str(path))
    return str(raised.value).replace(f"{path.parent}/", "")


def test_a_baseline_is_its_fingerprints(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    entries = {
        "aa": BaselineEntry(rule="VNIC001", severity="low", domain="web"),
        "bb": BaselineEntry(rule="VNIC002"),
    }
    path.write_bytes(msgspec.json.encode(BaselineFile(created=CREATED, fingerprints=entries)))
    assert load_baseline(str(path)) == {"aa": "low", "bb": None}


def test_a_report_is_a_baseline_without_its_suppressed_findings(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(report(finding("aa"), finding("bb"), suppressed=(finding("cc"),)))
    assert load_baseline(str(path)) == {"aa": "high", "bb": "high"}


@pytest.mark.parametrize("order", [("low", "high", "medium"), ("high", "low", "low")])
def test_of_findings_with_one_fingerprint_the_most_severe_counts(
    tmp_path: Path, order: tuple[Severity, ...]
) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(report(*(finding("aa", severity=one) for one in order)))
    assert load_baseline(str(path)) == {"aa": "high"}


def test_findings_about_suppressions_are_not_taken_from_a_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(report(finding("aa"), finding("bb", "SUPP001"), finding("cc", "SUPP003")))
    assert load_baseline(str(path)) == {"aa": "high"}


def test_what_is_gone_is_counted() -> None:
    assert number_gone({"aa": None, "bb": "low", "cc": "high"}, ["bb", "xx"]) == 2
    assert number_gone({}, ["xx"]) == 0


@pytest.mark.parametrize(
    ("known_at", "known"), [("high", True), ("error", True), ("medium", False), (None, True)]
)
def test_a_finding_that_became_worse_is_not_known(
    known_at: Severity | None, *, known: bool
) -> None:
    assert is_known(finding("aa"), {"aa": known_at}) is known
    assert not is_known(finding("zz"), {"aa": known_at})


REFUSED = {
    "empty": (b"", "known.json: not JSON: Input data was truncated"),
    "binary": (b"\xff\xfe\0", "known.json: not JSON: "),
    "text": (b"hello", "known.json: not JSON: "),
    "truncated": (report(finding("aa"))[:-40], "known.json: not JSON: "),
    "a list": (b"[]", "known.json: not a baseline: Expected `object`, got `array`"),
    "no schema": (b"{}", "known.json: not a baseline: Object missing required field `schema`"),
    "another schema": (
        b'{"schema": "vnicaudit.nics/1"}',
        "known.json: its schema is 'vnicaudit.nics/1'; a baseline is vnicaudit.baseline/1 or "
        "vnicaudit.report/1",
    ),
    "a later version": (
        b'{"schema": "vnicaudit.baseline/2", "fingerprints": {}}',
        "known.json: its schema is 'vnicaudit.baseline/2'; a baseline is",
    ),
    "an empty fingerprint": (
        b'{"schema": "vnicaudit.baseline/1", "created": "", "fingerprints": {"": {"rule": "x"}}}',
        "known.json: not a baseline: Expected `str` of length >= 1",
    ),
    "fingerprints in a list": (
        b'{"schema": "vnicaudit.baseline/1", "created": "", "fingerprints": []}',
        "known.json: not a baseline: Expected `object`, got `array` - at `$.fingerprints`",
    ),
    "a finding without fingerprint": (
        b'{"schema": "vnicaudit.report/1", "findings": [{"rule": "VNIC001"}]}',
        "known.json: not a baseline: Object missing required field `fingerprint`",
    ),
    "nesting without end": (b'{"x":' + b"[" * 200_000, "known.json: not JSON: "),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(tmp_path: Path, data: bytes, message: str) -> None:
    assert complaint(tmp_path / "known.json", data).startswith(message)


def test_a_missing_file_is_an_error_not_an_empty_baseline(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"gone\.json: No such file or directory$"):
        load_baseline(str(tmp_path / "gone.json"))


def test_too_large_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "MAX_BYTES", 1 << 20)
    path = tmp_path / "known.json"
    path.touch()
    os.truncate(path, (1 << 20) + 1)
    with pytest.raises(UsageError, match=r"known\.json: larger than 1 MiB: not a baseline$"):
        load_baseline(str(path))
