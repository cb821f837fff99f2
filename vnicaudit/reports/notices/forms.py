"""The forms of messages, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from vnicaudit.model.finding import NewFinding, NoticeForm, NoticeMessage
from vnicaudit.reports.notices import alertmanager, json, matrix, slack
from vnicaudit.reports.notices.wording import worst_first

_FORMS: dict[NoticeForm, Callable[[Sequence[NewFinding], str], Iterator[NoticeMessage]]] = {
    "json": json.messages,
    "slack": slack.messages,
    "matrix": matrix.messages,
    "alertmanager": alertmanager.messages,
}


def messages_of(
    form: NoticeForm, findings: Sequence[NewFinding], audit: str
) -> Iterator[NoticeMessage]:
    """The messages about these findings; none if there are no findings."""
    if not findings:
        return iter(())
    return _FORMS[form](worst_first(findings), audit)
