"""Words shared by formats for people: names of NICs, counts, and the last line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.base.wording import count
from vnicaudit.model.finding import (
    CONFIDENCES,
    EVERY_RULE,
    SEVERITIES,
    Confidence,
    Finding,
    Severity,
)
from vnicaudit.model.owner import name_of
from vnicaudit.model.refs import NicRef, Ref
from vnicaudit.model.report import Audited, RunEnd, Summary, TargetResult
from vnicaudit.reports.tally import SCOPE_WORD, Tally

WORST_FIRST = tuple(reversed(SEVERITIES))
_BESIDE_DOMAINS = tuple(item for item in SCOPE_WORD.items() if item[0] not in ("domain", "mac"))


def is_hint(finding: Finding, fails: Confidence) -> bool:
    """True if a finding has less confidence than ``fails``, the confidence that fails the run."""
    return CONFIDENCES.index(finding.confidence) < CONFIDENCES.index(fails)


def level_of(finding: Finding, fails: Confidence) -> Severity:
    """The severity with which a finding is shown in other tools. A hint is at most ``low``, so that
    it neither blocks a merge nor looks as important as a finding that does."""
    if is_hint(finding, fails) and finding.severity != "info":
        return "low"
    return finding.severity


def nic_label(ref: Ref) -> str:
    """``NIC 0 52:54:00:00:00:01``, with its target device if it has no MAC; empty if it is not a
    NIC."""
    if not isinstance(ref, NicRef):
        return ""
    words = [str(ref.index)] if ref.index is not None else []
    if ref.mac or ref.target_dev:
        words.append(ref.mac or ref.target_dev or "")
    return " ".join(["NIC", *words]) if words else ""


def name_and_id(name: str, identity: str) -> str:
    """``NAME (ID)``, as far as both are known and differ."""
    return f"{name} ({identity})" if name and identity and name != identity else name or identity


def subject_label(subject: str, ref: Ref) -> str:
    """``web-01, NIC 0 52:54:00:00:00:01``; only the subject if it is not about a NIC."""
    return ", ".join(filter(None, (subject, nic_label(ref))))


def about_domain(audited: Audited) -> Iterator[str]:
    """Owner of a domain, its name in Nova if different, and its number of NICs."""
    yield name_of(audited.owner)
    if audited.server not in ("", audited.subject):
        yield f"server {audited.server}"
    yield count(audited.nics, "NIC")


def fix_label(finding: Finding) -> str:
    """``fix``, or ``fix (unsafe)`` where the proposed change may hurt the guest."""
    return "fix (unsafe)" if finding.change is not None and not finding.change.safe else "fix"


def message_of(finding: Finding) -> str:
    """The message, with the confidence unless that is high."""
    if finding.confidence == "high":
        return finding.message
    return f"{finding.message} (confidence: {finding.confidence})"


def notes_of(target: TargetResult) -> Iterator[str]:
    """Notes on a target: ``openstack:prod: only admins can see hosts``."""
    for note in target.notes:
        yield f"{target.target}: {note}"


def not_judged_sentence(targets: Iterable[TargetResult]) -> str:
    """``2 parts were not judged``; empty if all parts were."""
    parts = sum(target.not_judged_count for target in targets)
    return f"{count(parts, 'part')} {'was' if parts == 1 else 'were'} not judged" if parts else ""


def accepted_sentence(end: RunEnd) -> str:
    """How many findings are not shown and why, and how the baseline changed; else empty."""
    parts = []
    if end.summary.suppressed:
        parts.append(f"{count(end.summary.suppressed, 'finding')} suppressed")
    if end.summary.baselined:
        parts.append(f"{count(end.summary.baselined, 'finding')} known from the baseline")
    if end.summary.filtered:
        which = "--severity, --min-confidence or --owner"
        parts.append(f"{count(end.summary.filtered, 'finding')} left out by {which}")
    if end.summary.baseline_gone:
        parts.append(f"{count(end.summary.baseline_gone, 'finding')} of the baseline gone")
    return ", ".join(parts)


def fixed_sentence(end: RunEnd) -> str:
    """How many problems were fixed in place; else empty."""
    summary = end.summary
    parts = []
    if summary.fixed:
        files = count(summary.fixed_files, "file")
        parts.append(f"Fixed {count(summary.fixed, 'problem')} in {files}")
    if summary.refused:
        parts.append(f"{summary.refused:,} could not be fixed in place")
    return ", ".join(parts)


def is_clean(tally: Tally, end: RunEnd) -> bool:
    """True if something was judged, nothing was found, and nothing failed."""
    judged = end.summary.domains or sum(tally.judged.values())
    found = end.summary.findings + end.summary.filtered
    return bool(judged) and not found and not any(_broken(tally, end))


def closing(tally: Tally, end: RunEnd) -> str:
    """The last line: ``Found 3 problems (1 high, 2 low) in 2 of 12 domains, 24 NICs``. It never
    says that all is well if something could not be read or judged."""
    broken = "; ".join(_broken(tally, end))
    part = _coverage(end)
    unjudged = filter(None, (part, not_judged_sentence(end.targets), *_without_rules(tally)))
    return "; ".join((_closing(tally, end, broken), *unjudged))


def _coverage(end: RunEnd) -> str:
    if end.coverage is None:
        return ""
    from vnicaudit.reports.coverage import coverage_sentence  # fleets have one

    return coverage_sentence(end.coverage)


def _without_rules(tally: Tally) -> Iterator[str]:
    """``no rule was judged for 2 domains``: they were read, but nothing is known about them."""
    unknown: Counter[str] = Counter()
    for (rule, _needs, kind), number in tally.skipped.items():
        if rule == EVERY_RULE:
            unknown[kind] += number
    if unknown:
        kinds = " and ".join(count(number, kind) for kind, number in unknown.items())
        yield f"no rule was judged for {kinds}"


def _closing(tally: Tally, end: RunEnd, broken: str) -> str:
    if not end.summary.findings:
        looked = _looked_at(tally, end)
        if looked:
            which = "No matching problems" if end.summary.filtered else "No problems"
            return f"{which} in {looked}{'; but ' if broken else ''}{broken}"
        return f"There was nothing to judge{'; ' if broken else ''}{broken}"
    severities = ", ".join(
        f"{end.summary.by_severity[name]:,} {name}"
        for name in WORST_FIRST
        if end.summary.by_severity.get(name)
    )
    found = f"Found {count(end.summary.findings, 'problem')} ({severities})"
    return f"{found} in {_affected(tally, end)}{'; ' if broken else ''}{broken}"


def domains_read(summary: Summary) -> str:
    """``2 domains``, or ``2 domains (read 5 times)``."""
    domains = count(summary.domains, "domain")
    times = summary.domains + summary.read_again
    return f"{domains} (read {times:,} times)" if summary.read_again else domains


def _affected(tally: Tally, end: RunEnd) -> str:
    parts = []
    if end.summary.domains:
        several = tally.affected["mac"] and not tally.affected["domain"]  # only across domains
        some = "" if several else f"{tally.affected['domain']:,} of "
        parts.append(some + domains_read(end.summary))
        parts.append(count(end.summary.nics, "NIC"))
    if tally.affected["mac"]:
        parts.append(f"{tally.affected['mac']:,} of them with the MAC address of another")
    for scope, word in _BESIDE_DOMAINS:
        if tally.affected[scope]:
            parts.append(f"{tally.affected[scope]:,} of {count(tally.judged[scope], word)}")
    return ", ".join(parts)


def _looked_at(tally: Tally, end: RunEnd) -> str:
    parts = []
    if end.summary.domains:
        parts.append(domains_read(end.summary))
        parts.append(count(end.summary.nics, "NIC"))
    for scope, word in _BESIDE_DOMAINS:
        if tally.judged[scope]:
            parts.append(count(tally.judged[scope], word))
    return ", ".join(parts)


def _broken(tally: Tally, end: RunEnd) -> Iterator[str]:
    crashed = sum(tally.crashed.values())
    if crashed:
        yield f"{count(len(tally.crashed), 'rule')} crashed ({count(crashed, 'time')})"
    failed = sum(target.status != "ok" for target in end.targets)
    if failed:
        total = count(len(end.targets), "target")
        yield f"{failed:,} of {total} could not be read in full"
