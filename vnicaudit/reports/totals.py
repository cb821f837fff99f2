"""Totals for reports for people, added up while the audit runs."""

from __future__ import annotations

import os
from collections import Counter

from vnicaudit.audit.kinds import KINDS
from vnicaudit.base.wording import path_word
from vnicaudit.model.finding import Finding, Ref, Severity
from vnicaudit.model.report import Audited, DataPath
from vnicaudit.reports.safe import safe

_KINDS = 1000
"""Maximum different missing things; hostile input could name ever new ones."""
_TARGETS = 3
"""Maximum targets in a command that is shown."""
SCOPE_WORD: dict[str, str] = {scope: row.word for scope, row in KINDS.items()}


_PLANNED_HOSTS = ("ssh://", "netns://", "local")
"""Beginnings of targets that are hosts whose own settings can be planned."""
_NOT_PLANNED = ("/proc",)
"""Beginnings of targets in which nothing can be planned."""


class Tally:
    """Counters whose size depends on the rules, not on the number of subjects."""

    def __init__(self) -> None:
        self.judged: Counter[str] = Counter()
        """Scope (domain, host, config…) -> number of subjects judged."""
        self.affected: Counter[str] = Counter()
        """Scope -> number of subjects with a finding."""
        self.findings: Counter[tuple[Severity, str, str]] = Counter()
        """``(severity, rule, name)`` -> findings."""
        self.paths: Counter[DataPath] = Counter()
        """How the packets of the NICs travel."""
        self.file = ""
        """The last configuration with a finding."""
        self.by_plan = Fixable()
        self.in_files = Fixable()
        self.skipped: Counter[tuple[str, str, str]] = Counter()
        """``(rule, needs, kind)`` -> number of NICs, domains, hosts… (kind)."""
        self.needs_host = False
        """Something was skipped that a live host knows."""
        self.crashed: Counter[str] = Counter()
        """Rule -> crashes."""
        self._config: tuple[str | None, bool] = None, False
        """The file of the last configuration, and True if it has a finding."""

    def add(self, audited: Audited) -> None:
        """Count one subject with its findings, skips and crashes."""
        self._count(audited)
        self.paths.update(audited.paths)
        self.paths.subtract(audited.paths_before)
        if audited.findings and audited.scope == "config":
            self.file = safe(os.path.basename(audited.title) or audited.title)
        for finding in audited.findings:
            self.findings[finding.severity, finding.rule, finding.name] += 1
            self._count_fix(finding, audited)
        for crashed in audited.crashed:
            self.crashed[crashed.rule] += 1
        for skipped in audited.skipped:
            self.needs_host |= skipped.live
            key = (skipped.rule, skipped.needs, kind_of(skipped.about, audited.scope))
            if key not in self.skipped and len(self.skipped) >= _KINDS:
                key = (skipped.rule, "other facts (the JSON report has each)", key[2])
            self.skipped[key] += 1

    def _count_fix(self, finding: Finding, audited: Audited) -> None:
        """Count a change that ``vnicaudit plan`` makes (of a live host or cloud, or a domain XML
        file, but not of standard input), or ``audit --fix`` (of another file)."""
        change, place = finding.change, finding.location
        if change is None or (place.file is None and audited.target.startswith(_NOT_PLANNED)):
            return
        if audited.scope == "preference" and place.file is None:
            return  # its virtual machines are planned
        if audited.scope == "host" and not audited.target.startswith(_PLANNED_HOSTS):
            return  # read beside its libvirt, from a copy, or from a container
        if place.file is None or (place.xpath or "").startswith("/domain"):
            if audited.target != "-":
                self.by_plan.add(audited.target, safe=change.safe)
        elif audited.scope == "config":
            # in another program's file only a value changes, where it is written
            if place.xpath is None or (place.column is not None and change.new is not None):
                self.in_files.add(place.file, safe=change.safe)
        elif audited.owner == "kubevirt" and place.xpath:
            self.in_files.add(place.file, safe=change.safe)

    def _count(self, audited: Audited) -> None:
        """Count a subject. A file with several configurations is one."""
        affected = bool(audited.findings) and not audited.again
        if audited.scope == "config":
            file, had = self._config
            if audited.file is not None and audited.file == file:
                self.affected["config"] += affected and not had
                self._config = file, had or affected
                return
            self._config = audited.file, affected
        self.judged[audited.scope] += 1
        self.affected[audited.scope] += affected


class Fixable:
    """Findings that a command fixes, and the first of the targets or files to give it."""

    def __init__(self) -> None:
        self.safe = self.unsafe = 0
        self._targets: dict[str, None] = {}

    def add(self, target: str, *, safe: bool) -> None:
        """Count a finding."""
        self.safe += safe
        self.unsafe += not safe
        if len(self._targets) <= _TARGETS:
            self._targets[target] = None

    def words(self, placeholder: str) -> str:
        """The targets, quoted; ``placeholder`` if there are many."""
        if len(self._targets) > _TARGETS:
            return placeholder
        return " ".join(one if one == "-" else path_word(one) for one in self._targets)


def kind_of(ref: Ref, scope: str) -> str:
    """The word for the kind of subject: NIC, link, domain, host, file…"""
    if ref.kind == "link":
        return ref.kind
    return "NIC" if ref.index is not None else SCOPE_WORD[scope]
