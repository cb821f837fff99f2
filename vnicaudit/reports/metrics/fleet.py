"""Metrics of a fleet, from the counts of its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from vnicaudit.base.clock import moment
from vnicaudit.model.finding import SEVERITIES
from vnicaudit.model.fleet_counts import FindingCount, FleetCounts, SiteCounts
from vnicaudit.reports.metrics.audit import OTHER
from vnicaudit.reports.metrics.families import Family, Labels, gauge, single

MAX_SITES = 100
MAX_OWNERS = 16
MAX_RULES = 300
"""Maximum values of a label: the most frequent ones are kept; the rest are counted as ``other``."""

_STATES = ("fresh", "partial", "stale", "failed")
_CHANGES = ("new", "reopened", "fixed", "gone")
_KINDS = ("open", "stale", "suppressed")
Samples = dict[Labels, float]


def fleet_families(counts: FleetCounts) -> Iterator[Family]:
    """The families of a fleet. Every total equals the sum of its parts."""
    counts = bounded(counts)
    yield gauge("fleet_findings", "Open problems on hosts that were read.",
                _findings(counts).items())  # fmt: skip
    yield gauge("fleet_findings_by_severity", "Problems by severity, site and state.",
                _by_severity(counts).items())  # fmt: skip
    yield gauge("fleet_hosts", "Hosts by result of reading them.", _hosts(counts).items())
    for name, text in (
        ("domains", "Domains as last read."),
        ("nics", "Virtual NICs as last read."),
    ):
        samples = ((_site(one), getattr(one, name)) for one in counts.sites)
        yield gauge(f"fleet_{name}", text, samples)
    yield gauge(
        "fleet_oldest_reading_timestamp_seconds",
        "Time of the oldest reading of a host, Unix time.",
        ((_site(one), _seconds(one.oldest_reading)) for one in counts.sites if one.oldest_reading),
        "seconds",
    )
    shares = (("hosts", counts.host_share), ("nics", counts.nic_share))
    yield gauge("fleet_coverage_ratio", "Share of the fleet the newest audit was asked to cover.",
                (((("of", of),), share) for of, share in shares), "ratio")  # fmt: skip
    yield gauge("fleet_changes", "Findings changed by the newest audit.",
                (((("change", name),), getattr(counts, name)) for name in _CHANGES))  # fmt: skip
    if counts.finished is not None:
        yield single("fleet_audit_timestamp_seconds", "End of the newest audit, Unix time.",
                     _seconds(counts.finished), "seconds")  # fmt: skip


def bounded(counts: FleetCounts) -> FleetCounts:
    """The counts with few values for each label; further values are added up as ``other``."""
    sites = _most({one.site: one.hosts for one in counts.sites}, MAX_SITES)
    open_of = {"owner": Counter[str](), "rule": Counter[str]()}
    for one in counts.findings:
        open_of["owner"][one.owner] += one.open + 1
        open_of["rule"][one.rule] += one.open + 1
    owners, rules = _most(open_of["owner"], MAX_OWNERS), _most(open_of["rule"], MAX_RULES)
    return FleetCounts(
        finished=counts.finished,
        rules=tuple(each for each in counts.rules if each[0] in rules or len(rules) < MAX_RULES),
        host_share=counts.host_share,
        nic_share=counts.nic_share,
        findings=_added_up(counts.findings, rules, sites, owners),
        sites=_sites(counts.sites, sites),
        new=counts.new,
        reopened=counts.reopened,
        fixed=counts.fixed,
        gone=counts.gone,
    )


def _most(found: dict[str, int] | Counter[str], limit: int) -> frozenset[str]:
    """The most frequent names, up to ``limit``."""
    ordered = sorted(found, key=lambda name: (-found[name], name))
    return frozenset(ordered[:limit])


def _added_up(
    findings: tuple[FindingCount, ...],
    rules: frozenset[str],
    sites: frozenset[str],
    owners: frozenset[str],
) -> tuple[FindingCount, ...]:
    """One count for each set of labels: duplicate series break a scrape."""
    found: dict[tuple[str, str, str, str], FindingCount] = {}
    for one in findings:
        rule, site = _known(one.rule, rules), _known(one.site, sites)
        owner = _known(one.owner, owners)
        key = (rule, one.severity, site, owner)
        old = found.get(key) or FindingCount(rule, one.severity, site, owner)
        found[key] = FindingCount(
            rule, one.severity, site, owner,
            old.open + one.open, old.stale + one.stale, old.suppressed + one.suppressed,
        )  # fmt: skip
    return tuple(found[key] for key in sorted(found))


def _sites(counts: tuple[SiteCounts, ...], known: frozenset[str]) -> tuple[SiteCounts, ...]:
    found: dict[str, SiteCounts] = {}
    for one in counts:
        name = _known(one.site, known)
        old = found.get(name) or SiteCounts(name)
        oldest = min(filter(None, (old.oldest_reading, one.oldest_reading)), default=None)
        found[name] = SiteCounts(
            name, old.fresh + one.fresh, old.partial + one.partial, old.stale + one.stale,
            old.failed + one.failed, old.domains + one.domains, old.nics + one.nics, oldest,
        )  # fmt: skip
    return tuple(found[name] for name in sorted(found))


def _known(name: str, names: frozenset[str]) -> str:
    return name if name in names else OTHER


def _findings(counts: FleetCounts) -> Samples:
    """Open findings, and 0 for each rule that ran without findings, at each site."""
    found: Samples = {_labels(one): one.open for one in counts.findings}
    there = {(one.rule, one.site) for one in counts.findings}
    for rule, severity in counts.rules:
        for site in counts.sites:
            if (rule, site.site) not in there:
                found[_labels(FindingCount(rule, severity, site.site, "libvirt"))] = 0
    return found


def _by_severity(counts: FleetCounts) -> Samples:
    places = sorted({one.site for one in counts.sites} | {one.site for one in counts.findings})
    found: Samples = {
        (("severity", severity), ("site", site), ("state", state)): 0
        for severity in SEVERITIES for site in places for state in _KINDS
    }  # fmt: skip
    for one in counts.findings:
        for state in _KINDS:
            labels = (("severity", one.severity), ("site", one.site), ("state", state))
            found[labels] += getattr(one, state)
    return found


def _hosts(counts: FleetCounts) -> Samples:
    return {
        (*_site(one), ("state", state)): getattr(one, state)
        for one in counts.sites for state in _STATES
    }  # fmt: skip


def _labels(one: FindingCount) -> Labels:
    return (
        ("rule", one.rule), ("severity", one.severity), ("site", one.site), ("owner", one.owner),
    )  # fmt: skip


def _site(one: SiteCounts) -> Labels:
    return (("site", one.site),)


def _seconds(text: str) -> float:
    return moment(text).timestamp()
