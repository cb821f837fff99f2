"""Differences between the findings of a case and the expected ones: which finding, where, and with
which message."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from vnicaudit.model.finding import Change, Finding
from vnicaudit.model.owner import name_of
from vnicaudit.model.report import Audited
from vnicaudit.rule_cases.cases import Case, ExpectedFinding


def differences(rule_id: str, case: Case, audited: Audited) -> Iterator[str]:
    """The differences between a judgement and the expectations of the case; empty if there are
    none."""
    for crashed in audited.crashed:
        yield f"the rule crashed: {crashed.error}"
    wanted = [(one.severity, one.message) for one in case.fail]
    seen = [(one.severity, one.message) for one in audited.findings]
    if seen != wanted:
        yield from _unlike("findings", seen, wanted)
    else:
        for finding, expected in zip(audited.findings, case.fail, strict=True):
            yield from _of_finding(finding, expected)
    yield from _of_skipped(rule_id, case, audited)


def _of_skipped(rule_id: str, case: Case, audited: Audited) -> Iterator[str]:
    skipped = [one.rule for one in audited.skipped]
    wanted = [rule_id] if case.skip else []
    if skipped != wanted:
        needs = "; ".join(one.needs for one in audited.skipped)
        yield from _unlike(f"skipped (needs: {needs})" if needs else "skipped", skipped, wanted)
    elif case.skip and case.skip not in audited.skipped[0].needs:
        yield f"needs: {audited.skipped[0].needs!r} has no {case.skip!r}"


def _of_finding(finding: Finding, expected: ExpectedFinding) -> Iterator[str]:
    seen = {
        "message": finding.message,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "line": finding.location.line,
        "column": finding.location.column,
        "file": finding.location.file,
        "related": [str(place) for place in finding.related],
        "xpath": finding.location.xpath,
        "owner": name_of(finding.owner),
        "change": _plain(finding.change),
        "reason": "" if finding.change is None else finding.change.reason,
        "fix": finding.fix,
        "fixes": msgspec.json.decode(msgspec.json.encode(finding.fixes)),
    }
    for name, wanted in msgspec.structs.asdict(expected).items():
        if name in seen and wanted is not msgspec.UNSET and seen[name] != wanted:
            yield from _unlike(name, seen[name], wanted)
    for text in _several(expected.fix_has):
        if text not in finding.fix:
            yield f"fix: {finding.fix!r} has no {text!r}"
    for text in _several(expected.fix_lacks):
        if text in finding.fix:
            yield f"fix: {finding.fix!r} has {text!r}"


def _unlike(what: str, seen: object, wanted: object) -> Iterator[str]:
    yield f"{what}: expected {wanted!r}, got {seen!r}"


def _plain(change: Change | None) -> dict[str, object] | None:
    if change is None:
        return None
    return {"field": change.field, "old": change.old, "new": change.new, "safe": change.safe}


def _several(texts: str | list[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else texts
