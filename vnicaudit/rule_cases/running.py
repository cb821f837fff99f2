"""Run the cases of the rules in a directory: ``ACME001.yaml`` beside ``acme001.py``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.judging.rule_files import id_of, rule_files
from vnicaudit.audit.reading.targets import Platforms
from vnicaudit.errors import VnicauditError
from vnicaudit.model.finding import Change, Finding, name_of
from vnicaudit.model.report import Audited
from vnicaudit.rule_cases.cases import Case, ExpectedFinding, cases_in
from vnicaudit.rule_cases.judging import judge

# Differences between the findings of a case and the expected ones: which finding, where, and with
# which message.


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


_LEAVING = ("this one is being deleted", "this one has ended")


def _of_skipped(rule_id: str, case: Case, audited: Audited) -> Iterator[str]:
    # of a cluster's objects, a VM that goes away is not judged by any rule
    found = [one for one in audited.skipped if not (case.objects and one.needs.endswith(_LEAVING))]
    skipped = [one.rule for one in found]
    wanted = [rule_id] if case.skip else []
    if skipped != wanted:
        needs = "; ".join(one.needs for one in found)
        yield from _unlike(f"skipped (needs: {needs})" if needs else "skipped", skipped, wanted)
    elif case.skip and case.skip not in found[0].needs:
        yield f"needs: {found[0].needs!r} has no {case.skip!r}"


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


class CaseResult(msgspec.Struct, frozen=True):
    """The result of one case. An empty ``case`` means the file as a whole."""

    rule: str
    case: str
    file: str
    differences: tuple[str, ...] = ()


def results_of(folder: str, catalogue: Catalogue, platforms: Platforms) -> Iterator[CaseResult]:
    """The result of each case of each rule in a directory. Raises UsageError for a file of cases
    that does not follow the format."""
    for path in rule_files(folder):
        rule_id = id_of(path)
        file = os.path.join(folder, f"{rule_id}.yaml")
        if not os.path.exists(file):
            yield CaseResult(rule_id, "", file, ("it is not there: every rule has its cases",))
            continue
        cases = cases_in(file)
        if lacking := tuple(_lacking(rule_id, cases, catalogue)):
            yield CaseResult(rule_id, "", file, lacking)
        for case in cases:
            yield CaseResult(
                rule_id, case.name, file, _case_differences(rule_id, case, catalogue, platforms)
            )


def _lacking(rule_id: str, cases: list[Case], catalogue: Catalogue) -> Iterator[str]:
    if not any(case.fail for case in cases):
        yield "no fail case"
    if not any(case.passes for case in cases):
        yield "no pass case"
    if catalogue.main_judge(rule_id).needs and not any(case.skip for case in cases):
        yield "no skip case, though the rule needs something"


def _case_differences(
    rule_id: str, case: Case, catalogue: Catalogue, platforms: Platforms
) -> tuple[str, ...]:
    try:
        audited = judge(rule_id, case, platforms, catalogue=catalogue)
    except (
        VnicauditError,
        ValueError,
        TypeError,
    ) as error:  # the case is not valid
        return (f"the case cannot be read: {error}",)
    return tuple(differences(rule_id, case, audited))
