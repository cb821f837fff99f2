"""Formats for a pipeline: annotations of GitHub, Code Quality of GitLab."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b

from vnicaudit.model.finding import Confidence, Crashed, Finding
from vnicaudit.model.report import Audited, RunEnd, RunInfo, TargetResult
from vnicaudit.reports.json_parts import Separator
from vnicaudit.reports.safe import annotation, annotation_property, encode_items, safe
from vnicaudit.reports.totals import Tally
from vnicaudit.reports.wording import (
    Unread,
    closing,
    fix_label,
    level_of,
    message_of,
    not_judged_of,
    subject_label,
    unread_of,
)
from vnicaudit.reports.writers import Options, ReportWriter

# GitHub workflow commands: each finding becomes an annotation on its file and line.
#
# Source of the escaping: actions/toolkit, ``packages/core/src/command.ts`` (data: ``%``, CR and LF;
# properties: also ``:`` and ``,``).


_LEVELS = {
    "error": "error", "high": "error", "medium": "warning", "low": "notice", "info": "notice",
}  # fmt: skip


class GithubWriter(ReportWriter):
    """Writes annotations, one per line. Option used: the confidence that fails."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._tally = Tally()

    def add(self, audited: Audited) -> str:
        self._tally.add(audited)
        fails = self._options.fail_confidence
        lines = [_annotation(finding, audited.subject, fails) for finding in audited.findings]
        for crashed in audited.crashed:
            text = f"{subject_label(audited.subject, crashed.about)}: {crashed.error}"
            lines.append(_command("error", {"title": f"{crashed.rule} crashed"}, text))
        return "".join(lines)

    def finish(self, end: RunEnd) -> Iterator[str]:
        for target in end.targets:
            for error in unread_of(target):
                where = _annotation_place("could not be read", error.file, error.line)
                yield _command("error", where, f"{error.place}: {error.message}")
        yield _command("notice", {"title": "vnicaudit"}, closing(self._tally, end))


def _annotation(finding: Finding, subject: str, fails: Confidence) -> str:
    place = finding.location
    where = _annotation_place(
        f"{finding.rule} {finding.name}", place.file, place.line, place.column
    )
    lines = [f"{subject_label(subject, finding.about)}: {message_of(finding)}"]
    if finding.fix:
        lines.append(f"{fix_label(finding)}: {finding.fix}")
    return _command(_LEVELS[level_of(finding, fails)], where, *lines)


def _annotation_place(
    title: str, file: str | None, line: int | None, column: int | None = None
) -> dict[str, str]:
    if file is None:
        return {"title": title}
    place = {"file": file, "line": str(line or 1)}
    return {**place, **({"col": str(column)} if column else {}), "title": title}


def _command(level: str, properties: dict[str, str], *lines: str) -> str:
    named = ",".join(f"{key}={annotation_property(value)}" for key, value in properties.items())
    return f"::{level} {named}::{annotation(*lines)}\n"


# GitLab Code Quality: each finding on its file and line in a merge request.
#
# Source: GitLab's documentation, "Code Quality report format" (doc/ci/testing/code_quality.md):
# ``description``, ``check_name``, ``fingerprint``, ``severity`` (info, minor, major, critical,
# blocker), ``location.path`` (relative to the repository, without ``./``) and
# ``location.lines.begin``. GitLab keeps one entry per fingerprint
# (lib/gitlab/ci/reports/codequality_reports.rb); ours are unique for each finding, so none is lost.
# Targets that could not be read and rules that crashed are entries too, and so are, as ``info``,
# parts of files that were not judged: without them the report would look better than the audit was.


_SEVERITIES = {
    "error": "blocker", "high": "critical", "medium": "major", "low": "minor", "info": "info",
}  # fmt: skip


class GitlabWriter(ReportWriter):
    """Writes Code Quality. Option used: the confidence that fails."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._separator = Separator()

    def start(self, run: RunInfo) -> str:
        del run
        return "["

    def add(self, audited: Audited) -> str:
        fails = self._options.fail_confidence
        entries = [_quality(finding, audited.subject, fails) for finding in audited.findings]
        entries.extend(_crash(crashed, audited) for crashed in audited.crashed)
        return self._written(entries)

    def finish(self, end: RunEnd) -> Iterator[str]:
        for target in end.targets:
            entries = [_unread(error, target.target) for error in unread_of(target)]
            entries.extend(_not_judged(target))
            yield self._written(entries)
        yield "\n]\n"

    def _written(self, entries: list[dict[str, object]]) -> str:
        return self._separator.before() + encode_items(entries) if entries else ""


def _quality(finding: Finding, subject: str, fails: Confidence) -> dict[str, object]:
    place = finding.location
    text = f"{subject_label(subject, finding.about)}: {message_of(finding)}"
    if finding.fix:
        text += f". {fix_label(finding)}: {finding.fix}"
    return _entry(
        finding.rule,
        _SEVERITIES[level_of(finding, fails)],
        text,
        finding.fingerprint,
        (place.file or place.target, place.line),
    )


def _crash(crashed: Crashed, audited: Audited) -> dict[str, object]:
    subject = subject_label(audited.subject, crashed.about)
    return _entry(
        crashed.rule,
        "blocker",
        f"{subject}: the rule crashed: {crashed.error}",
        _digest("crashed", crashed.rule, audited.target, subject),
        (audited.file or audited.target, None),
    )


def _unread(error: Unread, target: str) -> dict[str, object]:
    return _entry(
        "unread",
        "blocker",
        f"could not be read: {error.message}",
        _digest("unread", target, error.place, error.message),
        (error.file or target, error.line),
    )


def _not_judged(target: TargetResult) -> Iterator[dict[str, object]]:
    """An entry for each part. Its fingerprint does not change when a merge request moves its
    line."""
    alike: Counter[tuple[str | None, str]] = Counter()
    for part in not_judged_of(target):
        alike[part.file, part.message] += 1
        number = str(alike[part.file, part.message])
        mark = _digest("not judged", target.target, part.file or "", part.message, number)
        place = (part.file or target.target, part.line)
        yield _entry("not-judged", "info", part.message, mark, place)


def _entry(
    check: str, severity: str, text: str, mark: str, place: tuple[str, int | None]
) -> dict[str, object]:
    file, line = place
    return {
        "description": safe(text),
        "check_name": check,
        "fingerprint": mark,
        "severity": severity,
        "location": {"path": _relative(file), "lines": {"begin": line or 1}},
    }


def _relative(file: str) -> str:
    """A path relative to the current folder, as GitLab expects; paths outside it are unchanged."""
    if "://" in file:
        return safe(file)
    try:
        here = os.getcwd().rstrip("/") + "/"
    except FileNotFoundError:  # the current folder has been deleted
        return safe(file)
    return safe(os.path.normpath(file).removeprefix(here))


def _digest(*parts: str) -> str:
    data = "\0".join(parts).encode("utf-8", "backslashreplace")
    return blake2b(data, digest_size=12).hexdigest()
