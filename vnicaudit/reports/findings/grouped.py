"""Findings put together by what they have in common: how many, on which (some are named), and what
to do, once. Memory grows with the groups, which are bounded, and not with the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, get_args

from vnicaudit.base.wording import count
from vnicaudit.knowledge.fixes.owners import Wordings
from vnicaudit.model.finding import Finding, Severity
from vnicaudit.model.report import Audited
from vnicaudit.reports.wording import WORST_FIRST, fix_label, message_of, name_and_id
from vnicaudit.reports.writer import Options

GroupBy = Literal["image", "flavor", "project", "host", "rule"]
GROUP_BY: tuple[GroupBy, ...] = get_args(GroupBy)

GROUPS = 5_000
"""Groups that are told apart; what would be one more goes to those that are put together."""
NAMES = 3
"""Of those that have a finding, as many are named; with ``--verbose`` more."""
_MANY_NAMES = 20
_WORDINGS = 3
"""Messages of one rule in one group that are shown."""
_OTHERS = "all others"
_NO_SERVER = "no server of a cloud"
_NOT_TOLD = "not told"


class EqualFindings:
    """Findings of one rule in one group: ``wordings`` are messages and fixes, with how many have
    each, ``others`` how many have yet another; ``names`` are the first who have it."""

    def __init__(self) -> None:
        self.count = self.subjects = self.others = 0
        self.wordings: Counter[tuple[str, str, str]] = Counter()
        self.names: list[str] = []

    def add(self, words: tuple[str, str, str]) -> None:
        """Count one finding with these words."""
        self.count += 1
        if words in self.wordings or len(self.wordings) < _WORDINGS:
            self.wordings[words] += 1
        else:
            self.others += 1


class Groups:
    """Findings by image, flavor, project, host or rule."""

    def __init__(self, by: GroupBy, wordings: Wordings, *, names: int = NAMES) -> None:
        self._by: GroupBy = by
        self._wordings = wordings
        self._names = names
        self._found: dict[str, dict[tuple[Severity, str, str], EqualFindings]] = {}
        self._subjects: Counter[str] = Counter()

    def add(self, audited: Audited) -> None:
        """Take the findings of one."""
        if not audited.findings:
            return
        met: set[tuple[str, tuple[Severity, str, str]]] = set()
        place = self._place(audited)
        groups = set()
        for finding in audited.findings:
            group = f"{finding.rule} {finding.name}" if self._by == "rule" else place
            if group not in self._found and len(self._found) >= GROUPS:
                group = _OTHERS
            groups.add(group)
            key = (finding.severity, finding.rule, finding.name)
            same = self._found.setdefault(group, {}).setdefault(key, EqualFindings())
            same.add(self._wording(finding, audited))
            if (group, key) not in met:
                met.add((group, key))
                same.subjects += 1
                if len(same.names) < self._names:
                    same.names.append(audited.subject)
        self._subjects.update(groups)

    def groups(
        self,
    ) -> Iterator[tuple[str, str, list[tuple[tuple[Severity, str, str], EqualFindings]]]]:
        """Name, what is in it in numbers, and the rules: those with most first."""
        for name, rules in sorted(
            self._found.items(), key=lambda item: (-self._subjects[item[0]], item[0])
        ):
            problems = sum(same.count for same in rules.values())
            about = f"{count(problems, 'problem')} on {self._subjects[name]:,}"
            ordered = sorted(
                rules.items(),
                key=lambda item: (WORST_FIRST.index(item[0][0]), -item[1].count, item[0][1]),
            )
            yield name if self._by == "rule" else f"{self._by} {name}", about, ordered

    def _wording(self, finding: Finding, audited: Audited) -> tuple[str, str, str]:
        """Message, label of the fix, and fix of a finding, in words that name no particular
        server."""
        if not finding.fix:
            return message_of(finding), "", ""
        named, fix = audited.fix_names, finding.fix
        if named.server_id or named.image_id:
            anyone = named._replace(any_server=True, any_image=self._by != "image")
            fix = self._wordings.said_for(finding, anyone)
        return message_of(finding), fix_label(finding), fix

    def _place(self, audited: Audited) -> str:
        """The group that all of one belongs to."""
        by, placed = self._by, audited.placed
        if audited.scope == by:
            return name_and_id(audited.subject, audited.uuid or "")
        if placed is None:
            return audited.target if by == "host" else _NO_SERVER
        found = {
            "image": name_and_id(placed.image, placed.image_id),
            "flavor": placed.flavor,
            "project": name_and_id(placed.project, placed.project_id),
            "host": placed.host,
        }.get(by, "")
        return found or _NOT_TOLD


def groups_of(options: Options) -> Groups | None:
    """The groups that a report is to fill; None where each finding stands by itself. Raises
    ValueError where nothing says how a fix is worded for several."""
    if options.group_by not in GROUP_BY:
        return None
    if options.wordings is None:
        raise ValueError("grouped findings need wordings")
    names = _MANY_NAMES if options.verbose else NAMES
    return Groups(options.group_by, options.wordings, names=names)


def names_of(same: EqualFindings) -> str:
    """``web-1, web-2, web-3 and 97 more``."""
    shown = ", ".join(same.names)
    more = same.subjects - len(same.names)
    return f"{shown} and {more:,} more" if more > 0 else shown
