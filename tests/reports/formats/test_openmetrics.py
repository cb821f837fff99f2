"""OpenMetrics, read by Prometheus' own parser."""

from __future__ import annotations

import msgspec
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from tests.reports.samples import CLEAN, OK_END, WEB_01, finding, written
from vnicaudit.model.owner import OutsideOwner

Samples = dict[str, list[tuple[dict[str, str], float]]]


def samples(text: str) -> Samples:
    """Every sample, by name; raises ValueError when it is not OpenMetrics."""
    found: Samples = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def test_findings_are_counted_by_rule_severity_and_owner() -> None:
    found = samples(written("openmetrics", stream=[WEB_01, WEB_01]))
    assert found["vnicaudit_findings"] == [
        ({"rule": "VNIC001", "severity": "high", "owner": "libvirt"}, 2),
        ({"rule": "VNIC009", "severity": "low", "owner": "libvirt"}, 2),
        ({"rule": "VNIC030", "severity": "medium", "owner": "libvirt"}, 2),
    ]


def test_totals_skips_crashes_and_unread_targets() -> None:
    found = samples(written("openmetrics"))
    assert found["vnicaudit_skipped"] == [({"rule": "VNIC020"}, 2), ({"rule": "VNIC027"}, 1)]
    assert found["vnicaudit_crashed"] == [({"rule": "VNIC048"}, 1)]
    single = {name: values[0][1] for name, values in found.items() if values[0][0] == {}}
    assert single == {
        "vnicaudit_domains": 4,
        "vnicaudit_nics": 5,
        "vnicaudit_suppressed": 1,
        "vnicaudit_baselined": 2,
        "vnicaudit_targets": 3,
        "vnicaudit_unread_targets": 2,
        "vnicaudit_unread": 2,
        "vnicaudit_not_judged": 0,
        "vnicaudit_run_timestamp_seconds": 1795168802.0,
    }


def test_a_clean_run_has_totals_and_ends_properly() -> None:
    text = written("openmetrics", stream=[CLEAN], end=OK_END)
    assert text.endswith("# EOF\n")
    assert "vnicaudit_findings" not in samples(text)


def test_label_values_are_escaped() -> None:
    odd = finding('VNIC"\\\n', owner="nova")
    stream = [msgspec.structs.replace(WEB_01, findings=(odd,))]
    [(labels, _)] = samples(written("openmetrics", stream=stream))["vnicaudit_findings"]
    assert labels["rule"] == 'VNIC"\\\\n'


def test_ever_new_owners_do_not_make_ever_new_series() -> None:
    stream = [
        msgspec.structs.replace(CLEAN, findings=(finding(owner=OutsideOwner(f"owner-{number}")),))
        for number in range(5010)
    ]
    found = samples(written("openmetrics", stream=stream))["vnicaudit_findings"]
    assert len(found) == 5001
    assert ({"rule": "VNIC001", "severity": "high", "owner": "other"}, 10) in found
