"""Alerts for Alertmanager's API v2: one for each rule, severity, site and owner, never one per NIC.
They expire after :data:`HOURS`, because nothing tells Alertmanager that a finding was fixed; a
repeated daily audit with new findings renews them.

Source: Alertmanager 0.25, ``api/v2/openapi.yaml`` (postableAlerts).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from vnicaudit.base.deadlines import moment, timestamp
from vnicaudit.model.finding import NewFinding, NoticeMessage
from vnicaudit.reports.notices.wording import line, shortened

HOURS = 25
MOST = 200
"""Maximum alerts in a message."""
Key = tuple[str, str, str, str, str]


def messages(findings: Sequence[NewFinding], audit: str) -> Iterator[NoticeMessage]:
    """The messages for these findings."""
    begins = timestamp("seconds")
    ends = (moment(begins) + timedelta(hours=HOURS)).isoformat().replace("+00:00", "Z")
    groups = [(key, list(group)) for key, group in groupby(sorted(findings, key=_key), _key)]
    for at in range(0, len(groups), MOST):
        some = groups[at : at + MOST]
        alerts = [_alert(key, group, audit, begins, ends) for key, group in some]
        marks = tuple(one.fingerprint for _key, group in some for one in group)
        yield NoticeMessage(json.dumps(alerts).encode(), marks)


def _key(one: NewFinding) -> Key:
    site, owner = shortened(one.site, 100), shortened(one.owner, 100)
    return (one.rule, one.name, one.severity, site, owner)


def _alert(
    key: Key, group: list[NewFinding], audit: str, begins: str, ends: str
) -> dict[str, object]:
    rule, name, severity, site, owner = key
    labels = {"rule": rule, "severity": severity, "site": site, "owner": owner}
    return {
        "labels": {"alertname": "VnicauditNewFindings", **{k: v for k, v in labels.items() if v}},
        "annotations": {
            "summary": f"{len(group)} new or reopened: {rule} {shortened(name, 100)}",
            "description": line(group[0]),
            "audit": audit,
            "runbook": f"vnicaudit rules {rule}",
        },
        "startsAt": begins,
        "endsAt": ends,
    }
