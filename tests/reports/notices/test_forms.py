import json
from typing import get_args

import msgspec
import pytest

from tests.reports.notices.samples import new, odd
from vnicaudit.model.finding import NoticeForm
from vnicaudit.reports.notices import Notice, messages_of

FORMS: tuple[NoticeForm, ...] = get_args(NoticeForm)
MANY = [new(number) for number in range(1234)]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_tells_of_all_findings_once(form: NoticeForm) -> None:
    told = [mark for message in messages_of(form, MANY, "a") for mark in message.findings]
    assert sorted(told) == sorted(one.fingerprint for one in MANY)


@pytest.mark.parametrize("form", FORMS)
def test_nothing_new_is_no_message(form: NoticeForm) -> None:
    assert list(messages_of(form, [], "a")) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_message_is_of_bounded_size(form: NoticeForm) -> None:
    for message in messages_of(form, [*MANY, odd()], "a"):
        assert len(message.body) < 600_000


@pytest.mark.parametrize("form", ["slack", "matrix", "alertmanager"])
def test_no_name_commands_pings_or_leaks(form: NoticeForm) -> None:
    (message,) = messages_of(form, [odd()], "a")
    text = message.body.decode()
    shown = json.dumps(json.loads(text), ensure_ascii=False)
    for hostile in ("\x1b", "S3cr3tW0rd"):
        assert hostile not in shown
    if form == "slack":
        assert "<" not in shown
        assert "@all" not in shown
    if form == "matrix":
        assert "<img" not in json.loads(text)["formatted_body"]
        assert json.loads(text)["m.mentions"] == {}


def test_slack_says_how_many_the_worst_and_names_some() -> None:
    (message,) = messages_of("slack", [new(1, "low"), new(2, "error"), odd(), *MANY[:40]], "42")
    first, *lines = json.loads(message.body)["text"].split("\n")
    assert first == ("*vnicaudit: 42 new findings and 1 that came back, worst: error* (audit 42)")
    assert lines[0].startswith("- error VNIC001 kvm2: web-2, 52:54:00:00:00:02: rtl8139 is")
    assert len(lines) == 21
    assert lines[-1] == "- … and 23 more: see the report"


def test_json_is_the_published_record_in_parts() -> None:
    notices = [msgspec.json.decode(m.body, type=Notice) for m in messages_of("json", MANY, "a")]
    assert [(one.part, one.parts, len(one.findings)) for one in notices] == [
        (1, 3, 500), (2, 3, 500), (3, 3, 234),
    ]  # fmt: skip
    first = notices[0].findings[0]
    assert (first.state, first.site, first.rule) == ("new", "east", "VNIC001")


def test_alertmanager_has_an_alert_for_each_rule_and_site_and_none_for_a_nic() -> None:
    findings = [*MANY, new(1, rule="VNIC030", site="west"), new(2, rule="VNIC030", site="")]
    (message,) = messages_of("alertmanager", findings, "a")
    alerts = json.loads(message.body)
    assert len(alerts) == 3
    names = {"alertname", "rule", "severity", "site", "owner"}
    assert all(set(alert["labels"]) <= names for alert in alerts)
    assert "site" not in alerts[1]["labels"]
    assert (
        alerts[0]["annotations"]["summary"] == "1234 new or reopened: VNIC001 legacy-emulated-nic"
    )
    assert all(alert["startsAt"] < alert["endsAt"] for alert in alerts)
