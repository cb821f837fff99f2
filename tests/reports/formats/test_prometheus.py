"""The text format, read by Prometheus' own parser and checked by promtool."""

import os
import stat
from pathlib import Path

import msgspec
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.cli.inside import inside
from tests.promtool import checked_metrics
from tests.reports.samples import CLEAN, OK_END, RULES, STREAM, WEB_01, finding, written
from vnicaudit.model.report import Audited

Samples = dict[str, list[tuple[dict[str, str], float]]]


def samples(text: str) -> Samples:
    """Every sample, by name; raises ValueError when it cannot be parsed."""
    found: Samples = {}
    for family in text_string_to_metric_families(f"{text}# EOF\n"):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_findings_are_counted_by_rule_severity_and_owner() -> None:
    found = samples(written("prometheus", stream=[WEB_01, WEB_01]))
    assert found["vnicaudit_findings"] == [
        ({"rule": "VNIC001", "severity": "high", "owner": "libvirt"}, 2),
        ({"rule": "VNIC009", "severity": "low", "owner": "libvirt"}, 2),
        ({"rule": "VNIC020", "severity": "high", "owner": "libvirt"}, 0),
        ({"rule": "VNIC030", "severity": "medium", "owner": "libvirt"}, 2),
    ]


def test_a_rule_that_finds_nothing_reads_0_and_does_not_go_away() -> None:
    found = samples(written("prometheus", stream=[CLEAN], end=OK_END))["vnicaudit_findings"]
    assert [(labels["rule"], value) for labels, value in found] == [(r.id, 0) for r in RULES]
    assert {labels["severity"] for labels, _ in found} == {"high", "low", "medium"}


def test_by_severity_there_is_every_one_and_the_totals_are_equal() -> None:
    found = samples(written("prometheus"))
    by = {labels["severity"]: value for labels, value in found["vnicaudit_findings_by_severity"]}
    assert by == {"info": 0, "low": 1, "medium": 1, "high": 2, "error": 0}
    assert sum(by.values()) == sum(value for _, value in found["vnicaudit_findings"])


@pytest.mark.parametrize("stream", [STREAM, [CLEAN], []])
def test_promtool_has_no_complaint_of_the_text_format(stream: list[Audited]) -> None:
    text = checked_metrics(written("prometheus", stream=stream))
    assert "# UNIT" not in text


def test_no_family_is_named_without_a_sample() -> None:
    lines = written("prometheus", stream=[CLEAN], end=OK_END).splitlines()
    named = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert named == {line.split("{")[0].split()[0] for line in lines if line[0] != "#"}
    assert "vnicaudit_crashed" not in named


@pytest.mark.parametrize(
    "options", [("--format", "prometheus", "-o", "vnic.prom"), ("-o", "vnic.prom")]
)
def test_the_collector_of_another_user_can_read_the_file_and_never_half_of_it(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    mask, target = os.umask(0o077), tmp_path / "guests"
    target.mkdir()
    try:
        for _ in range(2):
            inside("audit", target, *options, "--level", "never", cwd=tmp_path)
            assert stat.S_IMODE((tmp_path / "vnic.prom").stat().st_mode) == 0o644
    finally:
        os.umask(mask)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guests", "vnic.prom"]
    checked_metrics((tmp_path / "vnic.prom").read_text())


def test_a_clean_run_has_totals() -> None:
    text = written("prometheus", stream=[CLEAN], end=OK_END)
    assert samples(text)["vnicaudit_domains"] == [({}, 1)]


def test_label_values_are_escaped() -> None:
    odd = finding('VNIC"\\\n', owner="nova")
    stream = [msgspec.structs.replace(WEB_01, findings=(odd,))]
    found = samples(written("prometheus", stream=stream))["vnicaudit_findings"]
    (labels,) = (labels for labels, value in found if value)
    assert labels["rule"] == 'VNIC"\\\\n'
