"""Run the cases of the rules in a directory: ``ACME001.yaml`` beside ``acme001.py``."""

from __future__ import annotations

import os
from collections.abc import Iterator

import msgspec

from vnicaudit.audit.judging.catalogue import Catalogue
from vnicaudit.audit.judging.outside import id_of, rule_files
from vnicaudit.audit.reading.platform import Platforms
from vnicaudit.errors import VnicauditError
from vnicaudit.rule_cases.cases import Case, cases_in
from vnicaudit.rule_cases.comparing import differences
from vnicaudit.rule_cases.judging import judge


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
