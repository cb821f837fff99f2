"""The cases of the rules of this package: ``VNICxxx.yaml`` beside this file (README.md)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from vnicaudit.rule_cases.cases import Case, cases_in

HERE = Path(__file__).parent


@cache
def cases(rule_id: str) -> tuple[Case, ...]:
    """The cases of one rule, read once: three modules ask for those of all rules."""
    return tuple(cases_in(str(HERE / f"{rule_id}.yaml")))
