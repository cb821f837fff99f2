"""``vnicaudit.notice/1``: every new finding, for programs; at most 500 in a message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from vnicaudit.model.notices import NewFinding, NoticeMessage
from vnicaudit.reports.encode import encode
from vnicaudit.reports.notices.wording import title
from vnicaudit.reports.report_file import FileFinding, written_finding

NOTICE_SCHEMA: Literal["vnicaudit.notice/1"] = "vnicaudit.notice/1"
MOST = 500


class FileNotice(msgspec.Struct, frozen=True):
    """One finding, where it came up and why it is told."""

    state: Literal["new", "reopened"]
    host: str
    site: str
    finding: FileFinding


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """``vnicaudit.notice/1``: one message. ``audit``: the id of the audit; ``part``, of ``parts``:
    from 1."""

    schema: Literal["vnicaudit.notice/1"] = NOTICE_SCHEMA
    audit: str
    part: int
    parts: int
    title: str
    findings: tuple[FileNotice, ...]


def messages(findings: Sequence[NewFinding], audit: str) -> Iterator[NoticeMessage]:
    """The messages for these findings, worst first."""
    parts = [findings[at : at + MOST] for at in range(0, len(findings), MOST)]
    for number, part in enumerate(parts, 1):
        notice = Notice(
            audit=audit, part=number, parts=len(parts), title=title(part),
            findings=tuple(map(_written, part)),
        )  # fmt: skip
        yield NoticeMessage(encode(notice).encode(), tuple(one.finding.fingerprint for one in part))


def _written(one: NewFinding) -> FileNotice:
    return FileNotice(one.state, one.host, one.site, written_finding(one.finding))
