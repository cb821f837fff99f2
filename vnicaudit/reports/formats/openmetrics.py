"""OpenMetrics 1.0 text, for dashboards and alerts over time. Prometheus' older text parsers (the
textfile collector of node_exporter) read it too: only gauges are used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from vnicaudit.base.clock import moment
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import safe
from vnicaudit.reports.writer import Options, ReportWriter

FORMAT = "openmetrics"
SUMMARY = "counts for dashboards and alerts"
NAMES_NOT_JUDGED = False
NEEDS_ROWS = False

_MAX_SERIES = 5000
"""Owners and rules are few; a hostile input must not make up ever new series."""
Sample = tuple[dict[str, str], float]


def writer(options: Options) -> ReportWriter:
    """A writer of metrics, all at the end; no option changes what it writes."""
    del options
    return _OpenMetrics()


class _OpenMetrics:
    def __init__(self) -> None:
        self._findings: Counter[tuple[str, str, str]] = Counter()
        self._crashed: Counter[str] = Counter()

    def start(self, run: RunInfo) -> str:
        del run
        return ""

    def add(self, audited: Audited) -> str:
        for finding in audited.findings:
            key = (finding.rule, finding.severity, name_of(finding.owner))
            if key not in self._findings and len(self._findings) >= _MAX_SERIES:
                key = (finding.rule, finding.severity, "other")
            self._findings[key] += 1
        for crashed in audited.crashed:
            self._crashed[crashed.rule] += 1
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        summary = end.summary
        names = ("rule", "severity", "owner")
        yield _gauge("findings", "Problems found.", (
            (dict(zip(names, key, strict=True)), number)
            for key, number in sorted(self._findings.items())
        ))  # fmt: skip
        yield _gauge("skipped", "NICs, domains, hosts and files a rule could not be judged for.",
                     _by_rule(summary.skipped))  # fmt: skip
        yield _gauge("crashed", "Times a rule failed.", _by_rule(self._crashed))
        yield _gauge("domains", "Domains audited.", [({}, summary.domains)])
        yield _gauge("nics", "Virtual NICs audited.", [({}, summary.nics)])
        yield _gauge("suppressed", "Findings somebody accepted.", [({}, summary.suppressed)])
        yield _gauge("baselined", "Findings the baseline knows.", [({}, summary.baselined)])
        failed = sum(target.status != "ok" for target in end.targets)
        yield _gauge("targets", "Targets named.", [({}, len(end.targets))])
        yield _gauge("unread_targets", "Targets not read, or not in full.", [({}, failed)])
        errors = sum(target.unread or target.status != "ok" for target in end.targets)
        yield _gauge("unread", "Files and domains that could not be read.", [({}, errors)])
        parts = sum(target.not_judged_count for target in end.targets)
        yield _gauge("not_judged", "Parts of files seen and not judged.", [({}, parts)])
        yield _gauge("run_timestamp_seconds", "End of the audit, Unix time.",
                     [({}, moment(end.finished).timestamp())], unit="seconds")  # fmt: skip
        yield "# EOF\n"


def _by_rule(counts: dict[str, int] | Counter[str]) -> Iterator[Sample]:
    return (({"rule": rule}, number) for rule, number in sorted(counts.items()))


def _gauge(name: str, help_: str, samples: Iterable[Sample], unit: str = "") -> str:
    name = f"vnicaudit_{name}"
    lines = [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else [])]
    lines.append(f"# HELP {name} {help_}")
    lines.extend(f"{name}{_labels(labels)} {number}" for labels, number in samples)
    return "\n".join([*lines, ""])


def _labels(labels: dict[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_quoted(value)}"' for name, value in labels.items()) + "}"


def _quoted(value: str) -> str:
    return safe(value).replace("\\", "\\\\").replace('"', '\\"')
