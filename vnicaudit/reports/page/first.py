"""The ranking on the page: what to do first, with a line of explanation for each change."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from vnicaudit.model.ranking import RankedChange, Ranking
from vnicaudit.reports.ranking.text import change_place, change_title
from vnicaudit.reports.table.html import text


def first_parts(ranking: Ranking | None) -> Iterator[str]:
    """The first changes; nothing if there is no ranking."""
    if ranking is None or not ranking.changes:
        return
    yield '<section id="first">\n<h2>What to fix first</h2>\n<ol class="ranks">\n'
    for one in ranking.changes:
        yield from _change(one)
    yield "</ol>\n"
    for note in ranking.notes:
        yield f'<p class="quiet small">{text(note)}</p>\n'
    if (more := ranking.candidates - len(ranking.changes)) > 0:
        yield '<p class="quiet small">'
        yield f"{more:,} more: <code>vnicaudit fleet top --top {ranking.candidates}</code></p>\n"
    yield "</section>\n"


def _change(one: RankedChange) -> Iterator[str]:
    title = f"{change_title(one)}{change_place(one)}"
    yield f'<li><p><span class="sev sev-{text(one.severity)}">{text(one.severity)}</span> '
    yield f'<a href="#findings?{text(_link(one))}">{text(title)}</a> '
    yield f'<span class="quiet small">{text(", ".join(one.names[:3]))}</span></p>\n'
    yield f'<p class="quiet small">{text(one.reason)}</p>\n'
    yield f'<p class="fix">{text(one.fix)}</p></li>\n' if one.fix else "</li>\n"


def _link(one: RankedChange) -> str:
    """A link to the findings that the change fixes, with its place if there is only one."""
    chosen = {"owner": one.owner}
    title = change_title(one)
    if one.field is None:
        chosen["rule"] = one.rules[0]
    else:
        chosen |= {"change": title, "safe": one.safety}
    place = one.place
    if one.places == 1 and place.kind in ("domain", "server"):
        chosen |= {"uuid": place.id} if place.id else {"name": place.name}
    elif one.places == 1 and place.kind == "host":
        chosen["host"] = place.name
    return urlencode({name: value for name, value in chosen.items() if value})
