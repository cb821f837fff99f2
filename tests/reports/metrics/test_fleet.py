import random

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.drawing import drawn_seed
from tests.promtool import checked_metrics
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.fleet import FindingCount, FleetCounts, SiteCounts
from vnicaudit.reports.metrics import (
    MAX_OWNERS,
    MAX_RULES,
    MAX_SITES,
    bounded,
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


def hostile(seed: int) -> FleetCounts:
    """More sites, owners and rules than a scrape can have, with names that break formats."""
    draw = random.Random(seed)
    odd = ('"', "\\", "\n", "}", "{", "é", "\x00", " ", "#")
    names = [f"{draw.choice(odd)}site{number}" for number in range(MAX_SITES * 3)]
    severities: tuple[Severity, ...] = SEVERITIES
    return FleetCounts(
        rules=tuple((f"VNIC{n:03}", draw.choice(severities)) for n in range(60)),
        sites=tuple(SiteCounts(each, fresh=draw.randrange(99)) for each in names),
        findings=tuple(
            FindingCount(
                f"VNIC{draw.randrange(MAX_RULES * 2):03}", draw.choice(severities),
                draw.choice(names), f"owner{draw.randrange(99)}", draw.randrange(9),
                draw.randrange(9), draw.randrange(9),
            )
            for _ in range(3000)
        ),
    )  # fmt: skip


@pytest.mark.parametrize("number", range(3))
def test_label_sets_are_bounded_and_totals_add_up(number: int) -> None:
    seed = drawn_seed() + number
    print(f"seed {seed}")
    counts, few = hostile(seed), bounded(hostile(seed))
    assert len({one.site for one in few.sites}) <= MAX_SITES + 1
    assert len({one.owner for one in few.findings}) <= MAX_OWNERS + 1
    assert len({one.rule for one in few.findings}) <= MAX_RULES + 1
    for field in ("open", "stale", "suppressed"):
        assert sum(getattr(one, field) for one in few.findings) == sum(
            getattr(one, field) for one in counts.findings
        )
    assert sum(one.hosts for one in few.sites) == sum(one.hosts for one in counts.sites)
    found = samples(counts)
    by_rule = sum(value for (name, _), value in found.items() if name == "findings")
    by_severity = sum(
        value
        for (name, key), value in found.items()
        if name == "findings_by_severity" and ("state", "open") in key
    )
    assert by_rule == by_severity == sum(one.open for one in counts.findings)
    checked_metrics(text_of(counts))
