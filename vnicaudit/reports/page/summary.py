"""The part of the page that works without a script: the answer, and what was not checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from string import Template
from urllib.parse import urlencode

from vnicaudit.base.wording import count
from vnicaudit.model.history import AuditSummary, FindingRecord
from vnicaudit.model.host import HostCpus
from vnicaudit.model.ranking import PageChanges, RankedChange, Ranking
from vnicaudit.model.report import DATA_PATHS
from vnicaudit.reports.as_html import head, stylesheet, table_text, template, text
from vnicaudit.reports.host_cpus import host_cpus_text
from vnicaudit.reports.model import Row, Table
from vnicaudit.reports.page.from_audit import (
    PageAbout,
    PageEnd,
    PageSubject,
    coverage_parts,
    moment,
    sample_of,
    unread_hosts,
)
from vnicaudit.reports.page.tables import AnswerCounts, Cure, PageTables, RuleCount
from vnicaudit.reports.ranking import change_place, change_title
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import WORST_FIRST
from vnicaudit.reports.writers import Options

# The last audits as a small chart of open problems; those not checked are drawn separately.


_MOST = 60
_HEIGHT = 100
_BAR = 10
_GAP = 2
_LEAST = 30
"""Minimum room in bars, so that a few bars are not stretched over the page."""


def trend_parts(audits: Sequence[AuditSummary]) -> Iterator[str]:
    """A bar for each audit, oldest first, and the same as a table; nothing if there are fewer than
    two."""
    audits = audits[-_MOST:]
    if len(audits) < 2:
        return
    first, last = audits[0], audits[-1]
    label = (
        f"Open problems of {len(audits)} audits: {_known(first):,} on {moment(first.started)}, "
        f"{_known(last):,} on {moment(last.started)}"
    )
    yield f'<section class="trend">\n<h2>The last {len(audits)} audits</h2>\n'
    yield from _chart(audits, label)
    yield '<p class="quiet small"><span class="key key-open">open</span> '
    yield '<span class="key key-stale">open as last read, not checked by that audit</span> '
    yield f"The highest is {max(map(_known, audits)):,}</p>\n"
    yield from _table(audits)
    yield "</section>\n"


def _known(one: AuditSummary) -> int:
    return one.open + one.stale


def _chart(audits: Sequence[AuditSummary], label: str) -> Iterator[str]:
    """Chart of the audits. Widths and heights are attributes, because inline styles are not
    allowed."""
    most = max(1, *map(_known, audits))
    width = max(len(audits), _LEAST) * _BAR
    yield f'<svg class="chart" viewBox="0 0 {width} {_HEIGHT}" preserveAspectRatio="none" '
    yield f'role="img" aria-label="{text(label)}">'
    for place, one in enumerate(audits):
        at = place * _BAR
        stale = round(_HEIGHT * one.stale / most, 2)
        met = round(_HEIGHT * one.open / most, 2)
        yield f"<g><title>{text(_told(one))}</title>"
        yield _bar("hit", at, 0, _HEIGHT, _BAR)
        yield _bar("met", at, _HEIGHT - met, met, _BAR - _GAP)
        yield _bar("stale", at, _HEIGHT - met - stale, stale, _BAR - _GAP) + "</g>"
    yield "</svg>\n"


def _bar(kind: str, at: int, top: float, height: float, width: int) -> str:
    if not height:
        return ""
    place = f'x="{at}" y="{round(top, 2)}" width="{width}" height="{height}"'
    return f'<rect class="{kind}" {place}/>'


def _told(one: AuditSummary) -> str:
    unseen = f", {one.stale:,} not checked" if one.stale else ""
    return (
        f"{moment(one.started)}: {count(one.open, 'open problem')}{unseen}; {one.new:,} new, "
        f"{one.reopened:,} reopened, {one.fixed:,} fixed"
    )


_HEADS = ("Audit", "Hosts read", "NICs", "Open", "Not checked", "New", "Reopened", "Fixed")


def _table(audits: Sequence[AuditSummary]) -> Iterator[str]:
    rows = tuple(
        Row((
            moment(one.started), f"{one.ok + one.partial:,} of {one.hosts:,}", one.nics, one.open,
            one.stale, one.new, one.reopened, one.fixed,
        ))
        for one in reversed(audits)
    )  # fmt: skip
    yield "<details><summary>As a table</summary>\n"
    yield from table_text(Table("The last audits", _HEADS, rows))
    yield "</details>\n"


CURES = 5
_PROBLEMS = 12
_STYLE = {"does not start": "broken"}
"""CSS classes of paths whose name is not their class."""
_SLOW = (
    "Slow: the model is emulated, or virtio runs without vhost, so that QEMU copies every packet. "
    "Unknown: the definition does not tell; a running guest does (vnicaudit audit qemu:///system)."
)


def body_parts(
    about: PageAbout, end: PageEnd, answer: AnswerCounts, settled: int
) -> dict[str, str]:
    """The values of ``templates/page/body.html``. ``settled``: findings that are not open."""
    notes = len(end.notes) + len(list(unread_hosts(end)))
    made = f"{about.tool.name} {about.tool.version}, started {moment(about.started)}"
    live = ". Reload the page for newer results." if about.live else ""
    return {
        "title": text(about.title),
        "when": text(moment(end.finished)),
        "problems": f"{len(answer.problems()):,}",
        "places": text(f"{about.host_word}s".capitalize()),
        "hosts": f"{len(end.hosts):,}",
        "nics": f"{answer.nics:,}",
        "findings": f"{answer.findings:,}",
        "settled": f"{settled:,}",
        "no_settled": "" if settled else " hidden",
        "notes": f"{notes:,}" if notes else "",
        "answer": "".join(_answer(about, end, answer)),
        "coverage": "".join(coverage_parts(about, end)),
        "footer": text(f"{made}{live}"),
    }


def _answer(about: PageAbout, end: PageEnd, answer: AnswerCounts) -> Iterator[str]:
    yield f'<section class="answer">\n<h1>{_headline(answer)}</h1>\n'
    yield f'<p class="about">{text(_looked_at(about, end, answer))}</p>\n'
    if answer.nics:
        yield from _paths(answer)
    if end.changes is not None:
        yield from _changes(end.changes, live=about.live)
    yield from trend_parts(end.trend)
    yield from (f'<p class="notice">{notice}</p>\n' for notice in _notices(about, end))
    yield "</section>\n"
    if end.ranking is None:
        yield from _cures(answer.cures(CURES), end)
    yield from _first_parts(end.ranking)
    yield from _problems(answer.problems(), end)
    if end.accepted:
        yield f'<p class="quiet small">{text(end.accepted)}</p>\n'


def _headline(answer: AnswerCounts) -> str:
    slow, broken = answer.paths["slow"], answer.paths["does not start"]
    total = text(count(answer.nics, "NIC"))
    if slow:
        verb = "is" if slow == 1 else "are"
        return f'<span class="bad number">{slow:,}</span> of {total} {verb} slow'
    if broken:
        verb = "does" if broken == 1 else "do"
        return f'<span class="bad number">{broken:,}</span> of {total} {verb} not start'
    if answer.findings:
        problems = text(count(answer.findings, "problem"))
        return f"{problems} in {total}, none known to be slow"
    if not answer.nics:
        return "No NIC was audited"
    return f'<span class="good">No problem</span> in {total}'


def _looked_at(about: PageAbout, end: PageEnd, answer: AnswerCounts) -> str:
    severities = ", ".join(
        f"{answer.severities[one]:,} {one}" for one in WORST_FIRST if answer.severities[one]
    )
    found = f"{count(answer.findings, 'problem')} ({severities})" if severities else "no problem"
    places = count(len(end.hosts), about.host_word)
    hints = f"; {count(answer.hints, 'hint')} among them" if answer.hints else ""
    return f"{count(answer.guests, 'guest')} on {places}; {found}{hints}"


def _paths(answer: AnswerCounts) -> Iterator[str]:
    """A bar and its legend. Widths are attributes, because inline styles are not allowed."""
    counts = {name: answer.paths[name] for name in DATA_PATHS}
    counts["unknown"] += answer.nics - sum(counts.values())
    shown = [(name, number) for name, number in counts.items() if number]
    label = ", ".join(f"{number:,} {name}" for name, number in shown)
    yield f'<svg class="paths" viewBox="0 0 {answer.nics} 1" preserveAspectRatio="none" '
    yield f'role="img" aria-label="{text(label)}">'
    at = 0
    for name, number in shown:
        yield f'<rect class="{_STYLE.get(name, name)}" x="{at}" width="{number}" height="1"/>'
        at += number
    yield '</svg>\n<ul class="legend">'
    for name, number in shown:
        query = urlencode({"path": name})
        square = f'<svg class="{_STYLE.get(name, name)}" viewBox="0 0 1 1" aria-hidden="true">'
        yield f'<li>{square}<rect width="1" height="1"/></svg>'
        yield f'<a href="#nics?{query}">{number:,} {text(name)}</a></li>'
    yield f'</ul>\n<p class="quiet small">{text(_SLOW)}</p>\n'


def _changes(changes: PageChanges, *, live: bool) -> Iterator[str]:
    """Counts, each with a link to its list on the page. Only the page of a history lists findings
    that were not checked."""
    yield f'<p class="changes"><span class="quiet">Since {text(moment(changes.since))}:</span>'
    parts = (
        (changes.new, "new", "#findings?state=new"),
        (changes.reopened, "reopened", "#findings?state=reopened"),
        (changes.fixed, "fixed", "#settled?state=fixed"),
        (changes.gone, "gone", "#settled?state=gone"),
        (changes.unseen, "not checked this time", f"#findings?{_UNSEEN}" if live else ""),
        (changes.nics_added, "NICs added", ""),
        (changes.nics_removed, "NICs removed", ""),
    )
    for number, word, link in parts:
        if not number and word not in ("new", "fixed"):
            continue
        shown = f"<b>{number:,}</b> {word}"
        yield f' <span><a href="{link}">{shown}</a></span>' if link else f" <span>{shown}</span>"
    yield "</p>\n"


def _notices(about: PageAbout, end: PageEnd) -> Iterator[str]:
    if sample := sample_of(about):
        yield text(sample)
    failed = sum(one.was_tried and one.status != "ok" for one in end.hosts)
    stale = [one.stale_since for one in end.hosts if one.stale_since]
    parts = []
    if failed:
        parts.append(
            f"{failed:,} of {count(len(end.hosts), about.host_word)} could not be read in full"
        )
    if stale:
        oldest = moment(min(stale))
        parts.append(f"{count(len(stale), 'host')} shown as last read, the oldest on {oldest}")
    for kind in ("not judged", "crashed"):
        if number := sum(note.kind == kind for note in end.notes):
            parts.append(f"{count(number, 'remark')} on what was {_KINDS[kind]}")
    if parts:
        yield f'{text("; ".join(parts))}. <a href="#coverage">What was not checked</a>'


_UNSEEN = urlencode({"state": "not looked at"})
_KINDS = {"not judged": "not judged", "crashed": "not judged because a rule failed"}


def _cures(cures: list[Cure], end: PageEnd) -> Iterator[str]:
    if not cures:
        return
    many = f"{len(cures)} changes" if len(cures) > 1 else "change"
    yield f'<section>\n<h2>The {many} that would clear most</h2>\n<ol class="cures">\n'
    summaries = {rule.id: rule.summary for rule in end.rules}
    for cure in cures:
        query = {"rule": cure.key.rule, "owner": cure.key.owner, "change": cure.key.change}
        query["safe"] = cure.key.safe
        link = urlencode({name: value for name, value in query.items() if value})
        word = "problem" if cure.number == 1 else "problems"
        rules = list(cure.rules)
        title = cure.key.change or summaries.get(cure.key.rule, rules[0])
        about = f"owner {cure.key.owner}: {', '.join(rules[:4])}"
        about += f" and {len(rules) - 4} more" if len(rules) > 4 else ""
        about += "; needs review" if cure.key.safe == "unsafe" else ""
        yield f'<li><p class="count">{cure.number:,} <small>{word}</small></p><div>'
        yield f'<a href="#findings?{text(link)}">{text(title)}</a> '
        yield f'<span class="quiet small">{text(about)}</span>'
        yield f'<p class="fix">{text(cure.fix)}</p></div></li>\n'
    yield "</ol></section>\n"


def _first_parts(ranking: Ranking | None) -> Iterator[str]:
    """The first changes; nothing if there is no ranking."""
    if ranking is None or not ranking.changes:
        return
    yield '<section id="first">\n<h2>What to fix first</h2>\n<ol class="ranks">\n'
    for one in ranking.changes:
        yield from _ranked(one)
    yield "</ol>\n"
    for note in ranking.notes:
        yield f'<p class="quiet small">{text(note)}</p>\n'
    if (more := ranking.candidates - len(ranking.changes)) > 0:
        yield '<p class="quiet small">'
        yield f"{more:,} more: <code>vnicaudit fleet top --top {ranking.candidates}</code></p>\n"
    yield "</section>\n"


def _ranked(one: RankedChange) -> Iterator[str]:
    title = f"{change_title(one)}{change_place(one)}"
    yield f'<li><p><span class="sev sev-{text(one.severity)}">{text(one.severity)}</span> '
    yield f'<a href="#findings?{text(_ranked_link(one))}">{text(title)}</a> '
    yield f'<span class="quiet small">{text(", ".join(one.names[:3]))}</span></p>\n'
    yield f'<p class="quiet small">{text(one.reason)}</p>\n'
    yield f'<p class="fix">{text(one.fix)}</p></li>\n' if one.fix else "</li>\n"


def _ranked_link(one: RankedChange) -> str:
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


def _problems(problems: list[RuleCount], end: PageEnd) -> Iterator[str]:
    if not problems:
        return
    yield '<section>\n<h2>Worst first</h2>\n<table class="tally"><thead class="sr"><tr>'
    yield '<th scope="col">Severity</th><th scope="col">Rule</th><th scope="col">Problems</th>'
    yield "</tr></thead><tbody>\n"
    summaries = {rule.id: rule.summary for rule in end.rules}
    for row in islice(problems, _PROBLEMS):
        link = urlencode({"rule": row.rule})
        title, about = summaries.get(row.rule, row.name), f"{row.rule} {row.name}"
        yield f'<tr><td><span class="sev sev-{row.severity}">{row.severity}</span></td>'
        yield f'<td><a href="#findings?{link}">{text(title)}</a> '
        yield f'<span class="quiet small">{text(about)}</span></td><td>{row.number:,}</td></tr>\n'
    yield "</tbody></table>\n"
    if more := len(problems) - _PROBLEMS:
        yield f'<p><a href="#problems">{more:,} more</a></p>\n' if more > 0 else ""
    yield "</section>\n"


# Which tasks use which CPUs of the hosts whose CPUs are divided.


_DRAWN = 200
_WIDTH = 100


def _drawn(host: str, cpus: HostCpus) -> str:
    """The partition matrix of a host, as ``vnicaudit host cpus`` draws it."""
    lines = "".join(host_cpus_text(cpus, Options(width=_WIDTH))).splitlines()
    matrix = "\n".join(map(text, lines))
    title = f"<details><summary>{text(host)}</summary>\n"
    return f'{title}<pre class="scroll mono">{matrix}</pre></details>\n'


def _cpus(drawn: Sequence[str], hosts: int) -> Iterator[str]:
    if not hosts:
        return
    yield '<section class="cpus">\n<h2>Which tasks use which CPUs</h2>\n'
    yield from drawn
    if (more := hosts - len(drawn)) > 0:
        yield f"<p>{more:,} more: <code>vnicaudit host cpus TARGET</code> draws each</p>\n"
    yield "</section>\n"


# The page, in pieces.


_SCRIPTS = (
    "columns.js", "tables.js", "groups.js", "filter.js", "views.js", "grid.js",
    "details.js", "export.js", "main.js",
)  # fmt: skip
_STYLES = ("page/page.css", "page/table.css")


class HtmlPage:
    """A page that grows: subjects first, then :meth:`finish`."""

    def __init__(self) -> None:
        self._tables = PageTables()
        self._answer = AnswerCounts()
        self._cpus: list[str] = []
        self._divided = 0

    def add(self, subject: PageSubject) -> None:
        """Add an audited subject."""
        self._tables.add(subject)
        self._answer.add(subject.audited)
        if subject.audited.cpus is not None:
            self._divided += 1
            if len(self._cpus) < _DRAWN:
                self._cpus.append(_drawn(subject.host, subject.audited.cpus))

    def add_settled(self, one: FindingRecord) -> None:
        """Add a finding that is not open: fixed, gone, or accepted."""
        self._tables.add_settled(one)

    def finish(self, about: PageAbout, end: PageEnd) -> Iterator[str]:
        """The whole page, in pieces; called once. The answer comes before the data, so that a
        browser shows it while loading the rest."""
        script = page_script()
        yield head(safe(about.title), stylesheet(*_STYLES), script)
        parts = body_parts(about, end, self._answer, self._tables.settled.count)
        parts["cpus"] = "".join(_cpus(self._cpus, self._divided))
        yield Template(template("page/body.html")).substitute(parts)
        yield '<script type="application/octet-stream" id="data">\n'
        yield from self._tables.data(_facts(about, end))
        yield f"</script>\n<script>{script}</script>\n</body>\n</html>\n"


@cache
def page_script() -> str:
    """The script: one function around all its files."""
    parts = "\n".join(template(f"page/{name}") for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}}})();'


def _facts(about: PageAbout, end: PageEnd) -> dict[str, object]:
    """Facts for the script in addition to the tables. All text is safe to show; without a
    ``sample``, everything was to be audited."""
    return {
        "started": about.started,
        "host_word": about.host_word.capitalize(),
        "sample": safe(sample_of(about)),
        "hosts": [
            {
                "name": safe(one.name), "site": safe(one.site), "status": one.status,
                "stale": one.stale_since, "error": safe(one.error),
            }
            for one in end.hosts
        ],
        "rules": {
            safe(one.id): {"name": safe(one.name), "summary": safe(one.summary)}
            for one in end.rules
        },
    }  # fmt: skip
