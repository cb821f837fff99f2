"""A Matrix event: ``m.room.message``, as a notice, which bots do not answer.

Source: Matrix Client-Server API 1.11, "m.room.message", "m.mentions" (empty: nobody is pinged).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape

from vnicaudit.model.finding import NewFinding, NoticeMessage
from vnicaudit.reports.notices.wording import lines, title


def messages(findings: Sequence[NewFinding], audit: str) -> Iterator[NoticeMessage]:
    """One message for all of these findings, worst first."""
    head, named = f"{title(findings)} (audit {audit})", list(lines(findings))
    items = "".join(f"<li>{escape(text)}</li>" for text in named)
    body = {
        "msgtype": "m.notice",
        "body": "\n".join([head, *(f"- {text}" for text in named)]),
        "format": "org.matrix.custom.html",
        "formatted_body": f"<strong>{escape(head)}</strong><ul>{items}</ul>",
        "m.mentions": {},
    }
    yield NoticeMessage(json.dumps(body).encode(), tuple(one.fingerprint for one in findings))
