"""A message for Slack's incoming webhooks, which Mattermost and Rocket.Chat accept too.

Source: Slack, "Formatting text for app surfaces": ``&``, ``<`` and ``>`` are escaped, so that no
name mentions a channel or becomes a link. Mattermost notifies whoever is named after an ``@``, so
an invisible character is inserted after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from vnicaudit.model.finding import NewFinding, NoticeMessage
from vnicaudit.reports.notices.wording import lines, title


def messages(findings: Sequence[NewFinding], audit: str) -> Iterator[NoticeMessage]:
    """One message for all of these findings, worst first."""
    text = "\n".join([f"*{title(findings)}* (audit {audit})", *map(_item, lines(findings))])
    body = {"text": text, "unfurl_links": False, "unfurl_media": False, "link_names": False}
    yield NoticeMessage(json.dumps(body).encode(), tuple(one.fingerprint for one in findings))


def _item(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    for character, shown in (("*", "\\*"), ("`", "'"), ("@", "@\u200b")):
        text = text.replace(character, shown)
    return f"- {text}"
