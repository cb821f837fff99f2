"""Metrics of one audit, added up while it runs.

A selected rule without findings has a sample of 0: if its series disappeared with its last finding,
that would look like a gap, and an alert would never see it resolved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.base.clock import moment
from vnicaudit.model.finding import SEVERITIES, Severity
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.model.rule_info import RuleInfo
from vnicaudit.reports.metrics.families import Family, Flavour, Labels, gauge, single, written

MAX_SERIES = 5000
"""Limit on series: owners and rules are few, but hostile input must not create ever new series."""
OTHER = "other"
_NAMES = ("rule", "severity", "owner")
Key = tuple[str, Severity, str]


class AuditMetrics:
    """A report writer for either text format of metrics."""

    def __init__(self, flavour: Flavour) -> None:
        self._flavour: Flavour = flavour
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
        if len(self._owners) < MAX_SERIES:
            self._owners[name_of(audited.owner)] += audited.nics
        for finding in audited.findings:
            key = (finding.rule, finding.severity, name_of(finding.owner))
            if key not in self._findings and len(self._findings) >= MAX_SERIES:
                key = (finding.rule, finding.severity, OTHER)
            self._findings[key] += 1
        for crashed in audited.crashed:
            self._crashed[crashed.rule] += 1
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The metrics of the whole audit."""
        return written((*self._counted(end), *_of_targets(end)), self._flavour)

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
    yield single("run_timestamp_seconds", "End of the audit, Unix time.", ended, "seconds")


def _by_rule(counts: Iterable[tuple[str, int]]) -> Iterator[tuple[Labels, int]]:
    return (((("rule", rule),), number) for rule, number in sorted(counts))
