"""Families of gauges, and how they are written.

In the text format of Prometheus, which its scrapes and node_exporter's textfile collector read. A
family without samples is left out: promtool warns about it, and it cannot be queried. Source:
Prometheus, "Exposition formats".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import msgspec

from vnicaudit.base.deadlines import moment
from vnicaudit.model.finding import SEVERITIES, Severity, name_of
from vnicaudit.model.fleet import FindingCount, FleetCounts, SiteCounts
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writers import Options, ReportWriter

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """One gauge with its samples, each with different labels."""

    name: str
    help: str
    samples: tuple[tuple[Labels, float], ...]


def gauge(name: str, help_: str, samples: Iterable[tuple[Labels, float]]) -> Family:
    """A family with the prefix ``vnicaudit_``."""
    return Family(f"vnicaudit_{name}", help_, tuple(samples))


def single(name: str, help_: str, value: float) -> Family:
    """A family with one sample without labels."""
    return gauge(name, help_, (((), value),))


def written(families: Iterable[Family]) -> Iterator[str]:
    """The text, one piece per family."""
    for family in families:
        if family.samples:
            name = family.name
            yield f"# HELP {name} {family.help}\n# TYPE {name} gauge\n"
            for labels, value in family.samples:
                yield f"{name}{_labels(labels)} {value:.15g}\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    shown = (
        (name, safe(value).replace("\\", "\\\\").replace('"', '\\"')) for name, value in labels
    )
    return "{" + ",".join(f'{name}="{value}"' for name, value in shown) + "}"


# Metrics of one audit, added up while it runs.
#
# A selected rule without findings has a sample of 0: if its series disappeared with its last
# finding, that would look like a gap, and an alert would never see it resolved.


_NAMES = ("rule", "severity", "owner")
Key = tuple[str, Severity, str]


class AuditMetrics(ReportWriter):
    """Writes all metrics at the end. Options have no effect."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._rules: tuple[RuleInfo, ...] = ()
        self._findings: Counter[Key] = Counter()
        self._owners: Counter[str] = Counter()
        self._crashed: Counter[str] = Counter()

    def start(self, run: RunInfo) -> str:
        """Nothing: all metrics are written at the end."""
        self._rules = run.rules()
        return ""

    def add(self, audited: Audited) -> str:
        """Count the findings and crashes of one subject."""
        self._owners[name_of(audited.owner)] += audited.nics
        for finding in audited.findings:
            key = (finding.rule, finding.severity, name_of(finding.owner))
            self._findings[key] += 1
        for crashed in audited.crashed:
            self._crashed[crashed.rule] += 1
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The metrics of the whole audit."""
        return written((*self._counted(end), *_of_targets(end)))

    def _counted(self, end: RunEnd) -> Iterator[Family]:
        summary = end.summary
        yield gauge("findings", "Problems found.", self._with_zeros())
        by_severity = self._by_severity()
        yield gauge(
            "findings_by_severity", "Problems found, by severity only.",
            (((("severity", each),), by_severity[each]) for each in SEVERITIES),
        )  # fmt: skip
        yield gauge("skipped", "NICs, domains, hosts and files for which a rule was not judged.",
                    _by_rule(summary.skipped.items()))  # fmt: skip
        yield gauge("crashed", "Crashes of a rule.", _by_rule(self._crashed.items()))
        yield single("crashes", "Crashes of all rules.", sum(self._crashed.values()))
        yield single("domains", "Domains audited.", summary.domains)
        yield single("nics", "Virtual NICs audited.", summary.nics)
        yield single("suppressed", "Findings suppressed.", summary.suppressed)
        yield single("baselined", "Findings known from the baseline.", summary.baselined)

    def _with_zeros(self) -> Iterator[tuple[Labels, int]]:
        """Samples including those of rules without findings, which use the rule's own severity and
        the owner with most NICs."""
        silent = {rule.id for rule in self._rules} - {rule for rule, *_ in self._findings}
        most = max(self._owners, key=lambda name: self._owners[name], default="libvirt")
        counts = dict(self._findings)
        counts.update({(r.id, r.severity, most): 0 for r in self._rules if r.id in silent})
        for key in sorted(counts):
            yield tuple(zip(_NAMES, key, strict=True)), counts[key]

    def _by_severity(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for (_rule, severity, _owner), number in self._findings.items():
            found[severity] += number
        return found


def _of_targets(end: RunEnd) -> Iterator[Family]:
    failed = sum(target.status != "ok" for target in end.targets)
    yield single("targets", "Targets of the audit.", len(end.targets))
    yield single("unread_targets", "Targets not read, or read only in part.", failed)
    errors = sum(target.unread or target.status != "ok" for target in end.targets)
    yield single("unread", "Files and domains that could not be read.", errors)
    if (part := end.coverage) is not None:
        yield single("inventory_hosts", "Hosts of the inventory.", part.inventory)
        share = part.host_share * part.nic_share
        yield single("sample_share", "Share of the hosts or NICs that was sampled; 1: all.", share)
    parts = sum(target.not_judged_count for target in end.targets)
    yield single("not_judged", "Parts of files seen and not judged.", parts)
    ended = moment(end.finished).timestamp()
    yield single("run_timestamp_seconds", "End of the audit, Unix time.", ended)


def _by_rule(counts: Iterable[tuple[str, int]]) -> Iterator[tuple[Labels, int]]:
    return (((("rule", rule),), number) for rule, number in sorted(counts))


# Metrics of a fleet, from the counts of its history. Sites, rules and owners are few.


_STATES = ("fresh", "partial", "stale", "failed")
_CHANGES = ("new", "reopened", "fixed", "gone")
_KINDS = ("open", "stale", "suppressed")
Samples = dict[Labels, float]


def fleet_families(counts: FleetCounts) -> Iterator[Family]:
    """The families of a fleet. Every total equals the sum of its parts."""
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
    )
    shares = (("hosts", counts.host_share), ("nics", counts.nic_share))
    yield gauge("fleet_coverage_ratio", "Share of the fleet the newest audit was asked to cover.",
                (((("of", of),), share) for of, share in shares))  # fmt: skip
    yield gauge("fleet_changes", "Findings changed by the newest audit.",
                (((("change", name),), getattr(counts, name)) for name in _CHANGES))  # fmt: skip
    if counts.finished is not None:
        yield single("fleet_audit_timestamp_seconds", "End of the newest audit, Unix time.",
                     _seconds(counts.finished))  # fmt: skip


def _findings(counts: FleetCounts) -> Samples:
    """Open findings, and 0 for each rule that ran without findings, at each site."""
    found: Samples = {_finding_labels(one): one.open for one in counts.findings}
    there = {(one.rule, one.site) for one in counts.findings}
    for rule, severity in counts.rules:
        for site in counts.sites:
            if (rule, site.site) not in there:
                found[_finding_labels(FindingCount(rule, severity, site.site, "libvirt"))] = 0
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


def _finding_labels(one: FindingCount) -> Labels:
    return (
        ("rule", one.rule), ("severity", one.severity), ("site", one.site), ("owner", one.owner),
    )  # fmt: skip


def _site(one: SiteCounts) -> Labels:
    return (("site", one.site),)


def _seconds(text: str) -> float:
    return moment(text).timestamp()
