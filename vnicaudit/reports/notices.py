"""New findings in, message bodies of bounded size out, in four forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from html import escape
from itertools import groupby, islice
from typing import Literal

import msgspec

from vnicaudit.base.deadlines import moment, timestamp
from vnicaudit.base.wording import count
from vnicaudit.model.finding import SEVERITIES, NoticeForm, NoticeMessage, Severity
from vnicaudit.model.history import FindingRecord
from vnicaudit.reports.safe import encode, message, safe

# The words of messages for people.


SHOWN = 20
"""Findings listed in a message for people; the rest are only counted."""
_NAME = 100
_TEXT = 300


def _worst_first(findings: Iterable[FindingRecord]) -> list[FindingRecord]:
    """The findings by severity, then by rule, host and subject."""
    return sorted(
        findings,
        key=lambda one: (
            -SEVERITIES.index(one.severity), one.rule, one.host, one.subject,
        ),
    )  # fmt: skip


def _title(findings: Sequence[FindingRecord]) -> str:
    """``3 new findings and 1 that came back, worst: high``."""
    back = sum(one.state == "reopened" for one in findings)
    fresh = len(findings) - back
    words = [count(fresh, "new finding")] if fresh else []
    words += [f"{back:,} that came back" if fresh else f"{count(back, 'finding')} came back"] * (
        back > 0
    )
    return f"vnicaudit: {' and '.join(words)}, worst: {findings[0].severity}"


def _line(one: FindingRecord) -> str:
    """One finding: ``high VNIC001 kvm7: web-01, 52:54:00:…: rtl8139 is emulated…``."""
    where = _shortened(one.host, _NAME)
    subject = _shortened(", ".join(filter(None, (one.subject, one.mac))), _NAME)
    text = _shortened(message(one.message), _TEXT)
    place = f"{where}: {subject}" if where else subject
    return f"{one.severity} {one.rule} {place}: {text}"


def _lines(findings: Sequence[FindingRecord]) -> Iterator[str]:
    """A line for each listed finding, and the number of the others."""
    yield from map(_line, islice(findings, SHOWN))
    if len(findings) > SHOWN:
        yield f"… and {len(findings) - SHOWN:,} more: see the report"


def _shortened(text: str, most: int) -> str:
    """A text of bounded length, without terminal or chat commands."""
    shown = safe(text)
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


# ``vnicaudit.notice/1``: every new finding, for programs; at most 500 in a message.


NOTICE_SCHEMA: Literal["vnicaudit.notice/1"] = "vnicaudit.notice/1"
_MOST_FINDINGS = 500


class NoticeFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that an audit brought up: ``new`` (never seen before) or ``reopened`` (it had been
    fixed). ``subject``: the domain or other object it is on; ``name``: that of the rule."""

    state: Literal["new", "reopened"]
    rule: str
    name: str
    severity: Severity
    message: str
    fingerprint: str
    subject: str
    host: str = ""
    site: str = ""
    owner: str = ""
    uuid: str | None = None
    mac: str | None = None


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.notice/1``: one message. ``audit``: id of the audit. ``part``: number of this
    message, from 1 to ``parts``."""

    schema: Literal["vnicaudit.notice/1"] = NOTICE_SCHEMA
    audit: str
    part: int
    parts: int
    title: str
    findings: tuple[NoticeFinding, ...]


def _sent(record: FindingRecord) -> NoticeFinding:
    """A finding as it leaves this machine: without paths, values, and reasons of acceptance."""
    names = NoticeFinding.__struct_fields__
    return NoticeFinding(**{name: getattr(record, name) for name in names})


def _notices(findings: Sequence[FindingRecord], audit: str) -> Iterator[NoticeMessage]:
    """The messages for these findings, worst first."""
    parts = [findings[at : at + _MOST_FINDINGS] for at in range(0, len(findings), _MOST_FINDINGS)]
    for number, part in enumerate(parts, 1):
        notice = Notice(
            audit=audit, part=number, parts=len(parts), title=_title(part),
            findings=tuple(_sent(one) for one in part),
        )  # fmt: skip
        yield NoticeMessage(encode(notice).encode(), tuple(one.fingerprint for one in part))


# A message for Slack's incoming webhooks, which Mattermost and Rocket.Chat accept too.
#
# Source: Slack, "Formatting text for app surfaces": ``&``, ``<`` and ``>`` are escaped, so that no
# name mentions a channel or becomes a link. Mattermost notifies whoever is named after an ``@``, so
# an invisible character is inserted after it.


def _chat_message(findings: Sequence[FindingRecord], audit: str) -> Iterator[NoticeMessage]:
    """One message for all of these findings, worst first."""
    text = "\n".join([f"*{_title(findings)}* (audit {audit})", *map(_item, _lines(findings))])
    body = {"text": text, "unfurl_links": False, "unfurl_media": False, "link_names": False}
    yield NoticeMessage(json.dumps(body).encode(), tuple(one.fingerprint for one in findings))


def _item(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    for character, shown in (("*", "\\*"), ("`", "'"), ("@", "@\u200b")):
        text = text.replace(character, shown)
    return f"- {text}"


# A Matrix event: ``m.room.message``, as a notice, which bots do not answer.
#
# Source: Matrix Client-Server API 1.11, "m.room.message", "m.mentions" (empty: nobody is pinged).


def _event(findings: Sequence[FindingRecord], audit: str) -> Iterator[NoticeMessage]:
    """One message for all of these findings, worst first."""
    head, named = f"{_title(findings)} (audit {audit})", list(_lines(findings))
    items = "".join(f"<li>{escape(text)}</li>" for text in named)
    body = {
        "msgtype": "m.notice",
        "body": "\n".join([head, *(f"- {text}" for text in named)]),
        "format": "org.matrix.custom.html",
        "formatted_body": f"<strong>{escape(head)}</strong><ul>{items}</ul>",
        "m.mentions": {},
    }
    yield NoticeMessage(json.dumps(body).encode(), tuple(one.fingerprint for one in findings))


# Alerts for Alertmanager's API v2: one for each rule, severity, site and owner, never one per NIC.
# They expire after 25 hours, because nothing tells Alertmanager that a finding was fixed; a
# repeated daily audit with new findings renews them.
#
# Source: Alertmanager 0.25, ``api/v2/openapi.yaml`` (postableAlerts).


_HOURS = 25
_MOST_ALERTS = 200
"""Maximum alerts in a message."""
_Key = tuple[str, str, str, str, str]


def _alerts(findings: Sequence[FindingRecord], audit: str) -> Iterator[NoticeMessage]:
    """The messages for these findings."""
    begins = timestamp("seconds")
    ends = (moment(begins) + timedelta(hours=_HOURS)).isoformat().replace("+00:00", "Z")
    ordered = sorted(findings, key=_group_of)
    groups = [(key, list(group)) for key, group in groupby(ordered, _group_of)]
    for at in range(0, len(groups), _MOST_ALERTS):
        some = groups[at : at + _MOST_ALERTS]
        alerts = [_alert(key, group, audit, begins, ends) for key, group in some]
        marks = tuple(one.fingerprint for _key, group in some for one in group)
        yield NoticeMessage(json.dumps(alerts).encode(), marks)


def _group_of(one: FindingRecord) -> _Key:
    site, owner = _shortened(one.site, 100), _shortened(one.owner, 100)
    return (one.rule, one.name, one.severity, site, owner)


def _alert(
    key: _Key, group: list[FindingRecord], audit: str, begins: str, ends: str
) -> dict[str, object]:
    rule, name, severity, site, owner = key
    labels = {"rule": rule, "severity": severity, "site": site, "owner": owner}
    return {
        "labels": {"alertname": "VnicauditNewFindings", **{k: v for k, v in labels.items() if v}},
        "annotations": {
            "summary": f"{len(group)} new or reopened: {rule} {_shortened(name, 100)}",
            "description": _line(group[0]),
            "audit": audit,
            "runbook": f"vnicaudit rules {rule}",
        },
        "startsAt": begins,
        "endsAt": ends,
    }


# The forms of messages, by name.


_FORMS: dict[NoticeForm, Callable[[Sequence[FindingRecord], str], Iterator[NoticeMessage]]] = {
    "json": _notices,
    "slack": _chat_message,
    "matrix": _event,
    "alertmanager": _alerts,
}


def messages_of(
    form: NoticeForm, findings: Sequence[FindingRecord], audit: str
) -> Iterator[NoticeMessage]:
    """The messages about these findings; none if there are no findings."""
    if not findings:
        return iter(())
    return _FORMS[form](_worst_first(findings), audit)
