"""Notices of findings as they come up, and the messages that carry them."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Severity

NoticeForm = Literal["json", "slack", "matrix", "alertmanager"]
"""``json``: an object of this program's own (docs/how-to/scheduled-audit.md); ``slack``: an
incoming webhook of Slack, or of a compatible service (Mattermost, Rocket.Chat); ``matrix``: an
event in a room; ``alertmanager``: alerts of its API v2."""


class NewFinding(msgspec.Struct, frozen=True, kw_only=True):
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


class NoticeMessage(msgspec.Struct, frozen=True):
    """One message: its body (JSON), and the fingerprints of the findings in it."""

    body: bytes
    findings: tuple[str, ...]
