"""JUnit XML, for build servers: a test suite per domain, a failed test per finding.

A finding of too low confidence to fail the run is a skipped test, because build servers count
failed ones. A rule that could not be judged is a skipped test; a rule that crashed and a target
that could not be read are errors. A domain without findings has one passed test, because build
servers consider a report without tests broken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lxml import etree

from vnicaudit.model.finding import Confidence, Finding
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import (
    fix_label,
    is_hint,
    message_of,
    not_judged_of,
    part_label,
    unread_of,
)
from vnicaudit.reports.writers import ReportWriter

Outcome = Literal["failure", "error", "skipped"]


class JUnitCase(NamedTuple):
    """A test: its name, outcome (None: passed), message on one line, and full text."""

    name: str
    outcome: Outcome | None = None
    message: str = ""
    kind: str = ""
    text: str = ""


def suite_text(name: str, package: str, cases: Sequence[JUnitCase]) -> str:
    """One suite. ``package``: the larger unit it belongs to."""
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
        test = etree.SubElement(suite, "testcase", name=safe(case.name), classname=safe(name))
        if case.outcome is not None:
            end = etree.SubElement(test, case.outcome, message=safe(case.message))
            if case.kind:
                end.set("type", case.kind)
            end.text = case.text or None
    return etree.tostring(suite, encoding="unicode", pretty_print=True)


class JunitWriter(ReportWriter):
    """Writes JUnit XML. Option used: the confidence that fails."""

    def start(self, run: RunInfo) -> str:
        del run
        return '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="vnicaudit">\n'

    def add(self, audited: Audited) -> str:
        cases = list(_cases(audited, self._options.fail_confidence))
        if not (audited.findings or audited.crashed):
            cases.append(JUnitCase("no findings"))
        return suite_text(audited.subject, audited.target, cases)

    def finish(self, end: RunEnd) -> Iterator[str]:
        for target in end.targets:
            if target.status != "ok" or target.not_judged:
                unread = [JUnitCase(f"read {error.place}", "error", error.message, "unread")
                          for error in unread_of(target)]  # fmt: skip
                rest = [JUnitCase(f"read {part.place}", "skipped", part.message)
                        for part in not_judged_of(target)]  # fmt: skip
                yield suite_text(target.target, target.target, [*unread, *rest])
        yield "</testsuites>\n"


def _cases(audited: Audited, fails: Confidence) -> Iterator[JUnitCase]:
    for finding in audited.findings:
        name = _name(finding.rule, finding.name, part_label(finding.about))
        if is_hint(finding, fails):
            yield JUnitCase(name, "skipped", f"a hint, {finding.severity}: {message_of(finding)}")
        else:
            yield JUnitCase(
                name, "failure", message_of(finding), finding.severity, _details(finding)
            )
    for crashed in audited.crashed:
        name = _name(crashed.rule, part_label(crashed.about))
        yield JUnitCase(name, "error", crashed.error, "crash")
    for skipped in audited.skipped:
        name = _name(skipped.rule, part_label(skipped.about))
        yield JUnitCase(name, "skipped", f"needs {skipped.needs}")
    for entry in audited.suppressed:
        name = _name(entry.finding.rule, entry.finding.name, part_label(entry.finding.about))
        yield JUnitCase(name, "skipped", f"suppressed: {entry.reason} ({entry.source})")


def _name(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _details(finding: Finding) -> str:
    fix = f"\n{fix_label(finding)}: {safe(finding.fix)}" if finding.fix else ""
    return f"{safe(str(finding.location))}: {safe(finding.message)}{fix}"
