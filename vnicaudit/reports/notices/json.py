"""``vnicaudit.notice/1``: every new finding, for programs; at most 500 in a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.model.finding import NewFinding, NoticeMessage
from vnicaudit.reports.notices.wording import title
from vnicaudit.reports.safe import encode

NOTICE_SCHEMA: Literal["vnicaudit.notice/1"] = "vnicaudit.notice/1"
MOST = 500


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.notice/1``: one message. ``audit``: id of the audit. ``part``: number of this
    message, from 1 to ``parts``."""

    schema: Literal["vnicaudit.notice/1"] = NOTICE_SCHEMA
    audit: str
    part: int
    parts: int
    title: str
    findings: tuple[NewFinding, ...]


def messages(findings: Sequence[NewFinding], audit: str) -> Iterator[NoticeMessage]:
    """The messages for these findings, worst first."""
    parts = [findings[at : at + MOST] for at in range(0, len(findings), MOST)]
    for number, part in enumerate(parts, 1):
        notice = Notice(
            audit=audit, part=number, parts=len(parts), title=title(part),
            findings=tuple(part),
        )  # fmt: skip
        yield NoticeMessage(encode(notice).encode(), tuple(one.fingerprint for one in part))
