"""The part of a plan that comes from the history: age of findings, measured gains, and open
findings on hosts that could not be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vnicaudit.base.wording import count
from vnicaudit.model.last_readings import PlanHistory, StepHistory, UnreadHost
from vnicaudit.model.plan import Step
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wrap import hidden, wrap
from vnicaudit.reports.writer import Options

_SHOWN_HOSTS = 20


def history_line(steps: Iterable[Step], history: PlanHistory, options: Options) -> Iterator[str]:
    """One line about steps with the same change; nothing if nothing is known about them."""
    facts = [history.steps[step.id] for step in steps if step.id in history.steps]
    if words := "; ".join(_words(facts)):
        yield wrap(f"history: {words}", options.width, "    ", "      ")


def _words(facts: Sequence[StepHistory]) -> Iterator[str]:
    findings, new = sum(one.findings for one in facts), sum(one.new for one in facts)
    known = sum(one.known for one in facts)
    oldest = min((one.first_seen for one in facts if one.first_seen), default="")
    if oldest:
        yield f"{_oldest_of(known, findings)}first seen {_day(oldest)}"
    if new:
        of_all = "" if oldest else f" of {count(findings, 'finding')}"
        yield f"{new:,}{of_all} not in the last audit"
    if gain := next((one.gain for one in facts if one.gain is not None), None):
        from vnicaudit.fleet.ranking.reasons import gain_words

        yield gain_words(gain)


def _oldest_of(known: int, findings: int) -> str:
    if findings == 1:
        return ""
    if known == 1:
        return "1 known finding, "
    return f"oldest of {known:,} {'findings' if known == findings else 'known findings'} "


def unread_lines(history: PlanHistory, options: Options) -> Iterator[str]:
    """The hosts that could not be read, those with most findings first, with the findings open
    after their last audit."""
    if not history.unread:
        return
    yield wrap(_unread_title(history.unread), options.width, "", "  ")
    ordered = sorted(history.unread, key=_most_findings_first)
    shown = ordered if options.verbose else ordered[:_SHOWN_HOSTS]
    for one in shown:
        yield wrap(f"{safe(one.name)}: {_last_words(one)}", options.width, "  ", "    ")
    if len(shown) < len(ordered):
        yield wrap(hidden(len(ordered) - len(shown)), options.width, "  ", "    ")
    yield "\n"


def _unread_title(unread: Sequence[UnreadHost]) -> str:
    hosts, read = count(len(unread), "host"), [one.last for one in unread if one.last is not None]
    if not read:
        return f"{hosts} not read, now or by any audit"
    findings = count(sum(last.findings for last in read), "finding")
    whose = "its" if len(unread) == 1 else "their"
    return f"{hosts} not read; {findings} open there at {whose} last audit"


def coverage_line(history: PlanHistory, options: Options) -> Iterator[str]:
    """The number of open findings on hosts that were read, for how many of them the plan has a
    step, and the hosts that cannot be compared."""
    for text in (*_not_audited(history), *_partly_audited(history), *_covered(history)):
        yield wrap(text, options.width, "", "  ")


def _not_audited(history: PlanHistory) -> Iterator[str]:
    if missing := history.read - history.audited:
        have = "has" if missing == 1 else "have"
        yield f"{count(missing, 'host')} read now {have} no audit in the history"


def _partly_audited(history: PlanHistory) -> Iterator[str]:
    if history.partly:
        yield (
            f"On {count(history.partly, 'host')} read now, the last audit did not check all that "
            "is planned there"
        )


def _covered(history: PlanHistory) -> Iterator[str]:
    if history.open_findings:
        findings = count(history.open_findings, "finding")
        planned = f"{history.planned:,}" if history.planned else "none"
        other = "other " if history.audited < history.read else ""
        whose, hosts = ("its", "host") if history.audited == 1 else ("their", "hosts")
        yield (
            f"At {whose} last audit, the {other}{hosts} read now had {findings} open; the plan has "
            f"a step for {planned} of them"
        )


def _most_findings_first(one: UnreadHost) -> tuple[int, str]:
    return (0 if one.last is None else -one.last.findings), one.name


def _last_words(one: UnreadHost) -> str:
    last = one.last
    if last is None:
        return "no audit has read it"
    size = f"{count(last.domains, 'guest')}, {count(last.nics, 'NIC')}"
    return f"last read {_day(last.read_at)}: {size}, {count(last.findings, 'finding')} open"


def _day(time: str) -> str:
    """The date of a time in RFC 3339."""
    return time[:10]
