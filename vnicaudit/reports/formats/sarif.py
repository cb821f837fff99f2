"""SARIF 2.1.0, for code scanning: one run, one result per finding, on its line.

Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0. Suppressed findings
are results with a ``suppressions`` entry. Targets that could not be read and rules that crashed are
notifications, and make ``executionSuccessful`` false.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from urllib.parse import quote

from vnicaudit.model.finding import Crashed, Finding, Ref, name_of
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.report import Audited, RunEnd, RunInfo, Suppressed
from vnicaudit.reports.json_parts import Separator, SpooledArray
from vnicaudit.reports.safe import encode, encode_items, safe
from vnicaudit.reports.wording import (
    Unread,
    fix_label,
    level_of,
    message_of,
    not_judged_of,
    part_label,
    unread_of,
)
from vnicaudit.reports.writers import (
    Options,
    ReportWriter,
    rule_page,
)
from vnicaudit.text.edits import Replacement

# The place of a finding in SARIF's terms: a line of a file, and the NIC of a domain.


def location_of(finding: Finding) -> dict[str, object]:
    """The file and line if known, and the domain, NIC and element by name."""
    place = finding.location
    names = _logical(finding.about)
    if place.xpath is not None:
        element = f"{place}#{place.pointer}" if place.object else place.xpath
        names.append({"fullyQualifiedName": safe(element), "kind": "element"})
    location: dict[str, object] = {}
    if place.file is not None:
        location["physicalLocation"] = artifact(place.file, place.line, place.column)
    if names or not location:
        location["logicalLocations"] = names or [
            {"fullyQualifiedName": safe(place.target), "kind": "target"}
        ]
    return location


def artifact(file: str, line: int | None, column: int | None = None) -> dict[str, object]:
    """A ``physicalLocation``. A relative path stays relative. Bytes of a name that are not allowed
    in a URI are percent-encoded, whether UTF-8 or not."""
    path = quote(os.fsencode(_encodable(file)))
    uri = f"file://{path}" if file.startswith("/") else path
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if line is not None:
        place["region"] = {"startLine": line} | ({} if column is None else {"startColumn": column})
    return place


def replacement(one: Replacement) -> dict[str, object]:
    """A ``replacement``: an empty region inserts, empty content deletes."""
    region = {
        "startLine": one.start.line,
        "startColumn": one.start.column,
        "endLine": one.end.line,
        "endColumn": one.end.column,
    }
    content = {"insertedContent": {"text": one.new}} if one.new else {}
    return {"deletedRegion": region, **content}


def _logical(ref: Ref) -> list[dict[str, object]]:
    if ref.name is None:
        return []
    name, index = safe(ref.name), ref.index
    if index is None:
        return [{"name": name, "fullyQualifiedName": name, "kind": ref.kind}]
    nic = f"NIC {index}"
    return [{"name": nic, "fullyQualifiedName": f"{name}/{nic}", "kind": "nic"}]


def _encodable(file: str) -> str:
    """A path from the file system unchanged; lone surrogates that no file name can contain are
    escaped."""
    try:
        os.fsencode(file)
    except UnicodeEncodeError:
        return safe(file)
    return file


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {
    "error": "error", "high": "error", "medium": "warning", "low": "note", "info": "note",
}  # fmt: skip
_PROBLEMS = {"error": "error", "warning": "warning", "note": "recommendation"}
_FINGERPRINT = "vnicaudit/v1"


class SarifWriter(ReportWriter):
    """Writes SARIF. Options used: the confidence that fails, the base URL of the documentation,
    and how files are fixed."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._fails = options.fail_confidence
        self._docs_url = options.docs_url
        self._replacements = options.replacements
        self._separator = Separator()
        self._notifications = SpooledArray()
        self._rules: dict[str, int] = {}
        self._started = ""
        self._crashed = False

    def start(self, run: RunInfo) -> str:
        self._started = run.started
        rules = run.rules()
        self._rules = {rule.id: index for index, rule in enumerate(rules)}
        driver: dict[str, object] = {
            "name": run.tool.name,
            "version": run.tool.version,
            "rules": [_rule(rule, self._docs_url) for rule in rules],
        }
        if self._docs_url:
            driver["informationUri"] = self._docs_url
        return (
            f'{{"$schema":"{_SCHEMA}",\n"version":"2.1.0",\n"runs":[{{\n'
            f'"tool":{{"driver":{encode(driver)}}},\n"columnKind":"unicodeCodePoints",\n"results":['
        )

    def add(self, audited: Audited) -> str:
        self._crashed = self._crashed or bool(audited.crashed)
        self._notifications.extend([self._crash(crashed) for crashed in audited.crashed])
        results = [self._result(finding) | self._fixes(finding) for finding in audited.findings]
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
        """``index`` only for rules of the catalogue; rules about suppressions have none."""
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

    def _fixes(self, finding: Finding) -> dict[str, object]:
        """The safe fix as replacements in the file of the finding; empty if there is none."""
        place = finding.location
        known = self._replacements
        replacements = () if known is None or place.file is None else known(finding)
        if not replacements or place.file is None:
            return {}
        change = {
            "artifactLocation": artifact(place.file, None)["artifactLocation"],
            "replacements": [replacement(one) for one in replacements],
        }
        return {"fixes": [{"description": _message(finding.fix), "artifactChanges": [change]}]}

    def _suppressed(self, entry: Suppressed) -> dict[str, object]:
        reason = safe(f"{entry.reason} ({entry.source})")
        in_file = entry.in_source and entry.finding.location.file is not None
        kind = "inSource" if in_file else "external"  # SARIF 2.1.0, 3.35.2
        note = {"kind": kind, "status": "accepted", "justification": reason}
        return {**self._result(entry.finding), "suppressions": [note]}

    def _crash(self, crashed: Crashed) -> dict[str, object]:
        names = _logical(crashed.about)
        name = None if crashed.about.kind == "link" else crashed.about.name
        who = ", ".join(filter(None, (name, part_label(crashed.about))))
        return {
            "level": "error",
            "message": _message(f"{crashed.rule} crashed on {who or 'a host'}: {crashed.error}"),
            "associatedRule": self._reference(crashed.rule),
            "locations": [{"logicalLocations": names}] if names else [],
        }


def _rule(rule: RuleInfo, docs_url: str) -> dict[str, object]:
    """A rule, with the ``fullDescription`` and ``problem.severity`` required by GitHub."""
    described: dict[str, object] = {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.manual, "markdown": rule.manual},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {
            "severity": rule.severity,
            "judges": rule.judges,
            "tags": list(rule.groups),
            "problem.severity": _PROBLEMS[_LEVELS[rule.severity]],
        },
    }
    page = rule_page(docs_url, rule.id)
    return described | {"helpUri": page} if page else described


def _properties(finding: Finding) -> dict[str, object]:
    return {
        "severity": finding.severity,
        "confidence": finding.confidence,
        "owner": name_of(finding.owner),
        "about": finding.about,
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
    """A message. SARIF treats ``[words](destination)`` in it as a link (3.11.6), so text from a
    target is escaped."""
    lines = (safe(line) for line in text.split("\n"))
    return {"text": "\n".join(lines).replace("](", "\\](")}
