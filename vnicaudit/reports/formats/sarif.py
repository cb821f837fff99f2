"""SARIF 2.1.0, for code scanning: one run, one result per finding, on its line.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Suppressed
findings are results with a ``suppressions`` entry; what could not be read and rules that crashed
are notifications, and make ``executionSuccessful`` false.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.finding import Confidence, Crashed, Finding
from vnicaudit.model.owner import name_of
from vnicaudit.model.refs import mac_of
from vnicaudit.model.report import Audited, RuleInfo, RunEnd, RunInfo, Suppressed
from vnicaudit.reports.array import Separator, SpooledArray
from vnicaudit.reports.encode import encode, encode_items
from vnicaudit.reports.safe import safe
from vnicaudit.reports.sarif_places import artifact, location_of, locations_in
from vnicaudit.reports.wording import (
    Unread,
    fix_label,
    level_of,
    message_of,
    nic_label,
    not_judged_of,
    unread_of,
)
from vnicaudit.reports.writer import Options, ReportWriter

FORMAT = "sarif"
SUMMARY = "SARIF 2.1.0, for code scanning"
NAMES_NOT_JUDGED = True
TELLS_FILTERED = False
NEEDS_ROWS = False

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    "error": "error", "high": "error", "medium": "warning", "low": "note", "info": "note",
}  # fmt: skip
_FINGERPRINT = "vnicaudit/v1"


def writer(options: Options) -> ReportWriter:
    """A SARIF writer; ``options`` says which confidence fails."""
    return _Sarif(options.fail_confidence)


class _Sarif:
    def __init__(self, fails: Confidence) -> None:
        self._fails = fails
        self._separator = Separator()
        self._notifications = SpooledArray()
        self._rules: dict[str, int] = {}
        self._started = ""
        self._crashed = False

    def start(self, run: RunInfo) -> str:
        self._started = run.started
        rules = run.rules()
        self._rules = {rule.id: index for index, rule in enumerate(rules)}
        driver = {
            "name": run.tool.name,
            "version": run.tool.version,
            "rules": [_rule(rule) for rule in rules],
        }
        return (
            f'{{"$schema":"{_SCHEMA}",\n"version":"2.1.0",\n"runs":[{{\n'
            f'"tool":{{"driver":{encode(driver)}}},\n"results":['
        )

    def add(self, audited: Audited) -> str:
        self._crashed = self._crashed or bool(audited.crashed)
        self._notifications.extend([self._crash(crashed) for crashed in audited.crashed])
        results = [self._result(finding) for finding in audited.findings]
        results.extend(map(self._suppressed, audited.suppressed))
        return self._separator.before() + encode_items(results) if results else ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        failed = any(target.status != "ok" for target in end.targets)
        for target in end.targets:
            self._notifications.extend([_unread(error, "error") for error in unread_of(target)])
            parts = [_unread(part, "note") for part in not_judged_of(target)]
            self._notifications.extend(parts)
        yield (
            f'],\n"invocations":[{{"startTimeUtc":{encode(self._started)},'
            f'"endTimeUtc":{encode(end.finished)},'
            f'"executionSuccessful":{encode(not (failed or self._crashed))},'
            '"toolExecutionNotifications":'
        )
        yield from self._notifications.drain()
        if end.coverage is not None:
            yield f',"properties":{{"coverage":{encode(end.coverage)}}}'
        yield "}]}]}\n"

    def _reference(self, rule: str) -> dict[str, object]:
        """``index`` only for rules of the catalogue: others (about suppressions) have none."""
        index = self._rules.get(rule)
        return {"id": rule} if index is None else {"id": rule, "index": index}

    def _result(self, finding: Finding) -> dict[str, object]:
        text = message_of(finding)
        if finding.fix:
            text += f"\n{fix_label(finding)}: {finding.fix}"
        result: dict[str, object] = {
            "ruleId": finding.rule,
            "level": _LEVELS[level_of(finding, self._fails)],
            "message": _message(text),
            "locations": [location_of(finding)],
            "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
            "properties": _properties(finding),
        }
        if finding.related:
            result["relatedLocations"] = [
                {"physicalLocation": artifact(place.file, place.line, place.column)}
                for place in finding.related
                if place.file is not None
            ]
        if finding.rule in self._rules:
            result["ruleIndex"] = self._rules[finding.rule]
        return result

    def _suppressed(self, entry: Suppressed) -> dict[str, object]:
        reason = safe(f"{entry.reason} ({entry.source})")
        note = {"kind": "external", "status": "accepted", "justification": reason}
        return {**self._result(entry.finding), "suppressions": [note]}

    def _crash(self, crashed: Crashed) -> dict[str, object]:
        who = ", ".join(filter(None, (crashed.about.name, nic_label(crashed.about))))
        return {
            "level": "error",
            "message": _message(f"{crashed.rule} crashed on {who or 'a host'}: {crashed.error}"),
            "associatedRule": self._reference(crashed.rule),
            "locations": locations_in(crashed.about),
        }


def _rule(rule: RuleInfo) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.manual, "markdown": rule.manual},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"severity": rule.severity, "judges": rule.judges},
    }


def _properties(finding: Finding) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "confidence": finding.confidence,
        "owner": name_of(finding.owner),
        "domain": finding.about.name,
        "uuid": finding.about.id,
        "mac": mac_of(finding.about),
        "change": finding.change,
    }


def _unread(error: Unread, level: str) -> dict[str, object]:
    note: dict[str, object] = {
        "level": level,
        "message": _message(f"{error.place}: {error.message}"),
    }
    if error.file is not None:
        note["locations"] = [{"physicalLocation": artifact(error.file, error.line)}]
    return note


def _message(text: str) -> dict[str, str]:
    """SARIF reads ``[words](destination)`` in a plain message as a link (3.11.6): text from a
    target must not make one."""
    lines = (safe(line) for line in text.split("\n"))
    return {"text": "\n".join(lines).replace("](", "\\](")}
