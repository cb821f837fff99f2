from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.promtool import checked_metrics
from vnicaudit.model.fleet import FindingCount, FleetCounts, SiteCounts
from vnicaudit.reports.metrics import (
    fleet_families,
    written,
)

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

COUNTS = FleetCounts(
    finished="2026-11-22T10:16:30Z",
    rules=(("VNIC001", "high"), ("VNIC030", "medium")),
    host_share=0.05,
    findings=(
        FindingCount("VNIC001", "high", "east", "nova", open=7, stale=2, suppressed=1),
        FindingCount("VNIC001", "low", "east", "libvirt", open=1),
        FindingCount("VNIC001", "high", "west", "nova", open=4),
    ),
    sites=(
        SiteCounts("east", 40, 1, 3, 2, 900, 1800, "2026-11-01T00:00:00Z"),
        SiteCounts("west", 10, domains=20, nics=30, oldest_reading="2026-11-22T10:00:00Z"),
        SiteCounts("new", failed=1),
    ),
    new=3,
    fixed=5,
)


def text_of(counts: FleetCounts) -> str:
    return "".join(written(fleet_families(counts)))


def samples(counts: FleetCounts) -> Samples:
    """Every sample, by name and labels; none comes twice."""
    found: Samples = {}
    text = f"{text_of(counts)}# EOF\n"
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            key = (sample.name.removeprefix("vnicaudit_fleet_"), frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def labels(**named: str) -> frozenset[tuple[str, str]]:
    return frozenset(named.items())


def test_promtool_has_no_complaint() -> None:
    checked_metrics(text_of(COUNTS))
    checked_metrics(text_of(FleetCounts()))


def test_findings_are_by_rule_severity_site_and_owner() -> None:
    found = samples(COUNTS)
    key = labels(rule="VNIC001", severity="high", site="east", owner="nova")
    assert found["findings", key] == 7
    by = labels(severity="high", site="east", state="open")
    assert found["findings_by_severity", by] == 7
    assert found["findings_by_severity", labels(severity="high", site="east", state="stale")] == 2


def test_a_rule_without_findings_is_0_at_each_site() -> None:
    found = samples(COUNTS)
    for site in ("east", "west", "new"):
        key = labels(rule="VNIC030", severity="medium", site=site, owner="libvirt")
        assert found["findings", key] == 0


def test_hosts_coverage_ages_and_changes() -> None:
    found = samples(COUNTS)
    assert found["hosts", labels(site="east", state="stale")] == 3
    assert found["hosts", labels(site="new", state="failed")] == 1
    assert found["coverage_ratio", labels(of="hosts")] == 0.05
    assert found["coverage_ratio", labels(of="nics")] == 1
    assert found["oldest_reading_timestamp_seconds", labels(site="east")] == 1793491200
    assert ("oldest_reading_timestamp_seconds", labels(site="new")) not in found
    assert found["audit_timestamp_seconds", labels()] == 1795342590
    assert found["changes", labels(change="fixed")] == 5
    assert found["nics", labels(site="east")] == 1800


def test_before_the_first_audit_there_are_no_ages() -> None:
    names = {name for name, _labels in samples(FleetCounts())}
    assert names == {"coverage_ratio", "changes"}
