"""JUnit XML: suites of tests, for build servers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from lxml import etree

from vnicaudit.reports.safe import safe

Outcome = Literal["failure", "error", "skipped"]

END = "</testsuites>\n"
"""Text after the suites."""


class JUnitCase(NamedTuple):
    """A test: its name, outcome (None: passed), message on one line, and full text."""

    name: str
    outcome: Outcome | None = None
    message: str = ""
    kind: str = ""
    text: str = ""


def begin(name: str) -> str:
    """The start of the file, before the suites."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="{name}">\n'


def suite_text(name: str, package: str, cases: Iterable[JUnitCase]) -> str:
    """One suite. ``package``: the larger unit it belongs to."""
    cases = list(cases)
    ends = [case.outcome for case in cases]
    suite = etree.Element(
        "testsuite",
        name=safe(name),
        package=safe(package),
        tests=str(len(ends)),
        failures=str(ends.count("failure")),
        errors=str(ends.count("error")),
        skipped=str(ends.count("skipped")),
    )
    for case in cases:
        _append(suite, safe(name), case)
    return etree.tostring(suite, encoding="unicode", pretty_print=True)


def _append(suite: etree._Element, domain: str, case: JUnitCase) -> None:
    test = etree.SubElement(suite, "testcase", name=safe(case.name), classname=domain)
    if case.outcome is None:
        return
    end = etree.SubElement(test, case.outcome, message=safe(case.message))
    if case.kind:
        end.set("type", case.kind)
    if case.text:
        end.text = case.text
