"""The cases of the rules of this package: ``VNICxxx.yaml`` beside this file (README.md)."""

import re
from functools import cache
from pathlib import Path

from vnicaudit.rule_cases.cases import Case, cases_in

HERE = Path(__file__).parent
FILES = tuple(sorted(path.stem for path in HERE.glob("VNIC*.yaml")))
_NAME = re.compile(r"^- name: (['\"]?)(.+)\1$", re.MULTILINE)


@cache
def cases(rule_id: str) -> tuple[Case, ...]:
    """The cases of one rule, read once."""
    return tuple(cases_in(str(HERE / f"{rule_id}.yaml")))


def names(rule_id: str) -> tuple[str, ...]:
    """What its cases are called, in order. The file is searched, not parsed: each process that
    runs tests makes a list of all of them first, and parsing all files takes three seconds."""
    text = (HERE / f"{rule_id}.yaml").read_text("utf-8")
    return tuple(match[2] for match in _NAME.finditer(text))
