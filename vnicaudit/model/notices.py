"""Findings that somebody is told of as they come up, and the messages that tell it."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Finding

NoticeForm = Literal["json", "slack", "matrix", "alertmanager"]
"""``json``: an object of this program's own (docs/how-to/webhooks.md); ``slack``: an incoming
webhook of Slack, or of what takes the same (Mattermost, Rocket.Chat); ``matrix``: an event in a
room; ``alertmanager``: alerts of its API v2."""


class NewFinding(msgspec.Struct, frozen=True):
    """A finding that an audit brought up: ``new``, never known before, or ``reopened``, fixed once.
    ``subject``: the domain, or what else it is on."""

    state: Literal["new", "reopened"]
    finding: Finding
    subject: str
    host: str = ""
    site: str = ""


class NoticeMessage(msgspec.Struct, frozen=True):
    """One message: its body (JSON), and the fingerprints of the findings that it tells of."""

    body: bytes
    findings: tuple[str, ...]
