"""Findings put together by what they have in common: how many, on which (some are named), and what
to do, once. Memory grows with the groups, which are bounded, and not with the findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Literal, get_args

from vnicaudit.model.finding import Finding, Severity
from vnicaudit.model.report import Audited, Placed
from vnicaudit.reports.wording import WORST_FIRST, count, fix_label, message_of
from vnicaudit.reports.writer import Options

GroupBy = Literal["image", "flavor", "project", "host", "rule"]
GROUP_BY: tuple[GroupBy, ...] = get_args(GroupBy)

GROUPS = 5_000
"""Groups that are told apart; what would be one more goes to those that are put together."""
NAMES = 3
"""Of those that have a finding, as many are named; with ``--verbose`` more."""
_MANY_NAMES = 20
_LONG = 8
"""Characters of an id: a shorter one may be part of another word."""
_WORDINGS = 3
"""Messages of one rule in one group that are shown."""
_OTHERS = "all others"
_NO_SERVER = "no server of a cloud"
_NOT_TOLD = "not told"


class Same:
    """Findings of one rule in one group: ``wordings`` are messages and fixes, with how many have
    each, ``others`` how many have yet another; ``names`` are the first who have it."""

    def __init__(self) -> None:
        self.count = self.subjects = self.others = 0
        self.wordings: Counter[tuple[str, str, str]] = Counter()
        self.names: list[str] = []

    def add(self, words: tuple[str, str, str]) -> None:
        """Count one."""
        self.count += 1
        if words in self.wordings or len(self.wordings) < _WORDINGS:
            self.wordings[words] += 1
        else:
            self.others += 1


class Groups:
    """What was found, by image, flavor, project, host or rule."""

    def __init__(self, by: GroupBy, *, names: int = NAMES) -> None:
        self._by: GroupBy = by
        self._names = names
        self._found: dict[str, dict[tuple[Severity, str, str], Same]] = {}
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
            same = self._found.setdefault(group, {}).setdefault(key, Same())
            same.add(_wording(finding, audited, self._by))
            if (group, key) not in met:
                met.add((group, key))
                same.subjects += 1
                if len(same.names) < self._names:
                    same.names.append(audited.subject)
        self._subjects.update(groups)

    def groups(self) -> Iterator[tuple[str, str, list[tuple[tuple[Severity, str, str], Same]]]]:
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

    def _place(self, audited: Audited) -> str:
        """The group that all of one belongs to."""
        by, placed = self._by, audited.placed
        if audited.scope == by:
            return _called(audited.subject, audited.uuid or "")
        if placed is None:
            return audited.target if by == "host" else _NO_SERVER
        found = {
            "image": _called(placed.image, placed.image_id),
            "flavor": placed.flavor,
            "project": _called(placed.project, placed.project_id),
            "host": placed.host,
        }.get(by, "")
        return found or _NOT_TOLD


def groups_of(options: Options) -> Groups | None:
    """What a report puts together; None: nothing."""
    if options.group_by not in GROUP_BY:
        return None
    return Groups(options.group_by, names=_MANY_NAMES if options.verbose else NAMES)


def named(same: Same) -> str:
    """``web-1, web-2, web-3 and 97 more``."""
    shown = ", ".join(same.names)
    more = same.subjects - len(same.names)
    return f"{shown} and {more:,} more" if more > 0 else shown


def _called(name: str, identity: str) -> str:
    return f"{name} ({identity})" if name and identity and name != identity else name or identity


def _wording(finding: Finding, audited: Audited, by: GroupBy) -> tuple[str, str, str]:
    """What is said of it, without who it is: message, label of the fix, fix."""
    placed = audited.placed or Placed()
    words = (message_of(finding), fix_label(finding) if finding.fix else "", finding.fix)
    hidden = (
        (audited.uuid if by != audited.scope else None, "UUID"),
        (finding.nic.mac, "MAC"),
        (placed.image_id if by != "image" else None, "IMAGE"),
    )
    for value, word in hidden:
        if value and len(value) >= _LONG:
            message, label, fix = words
            words = (message.replace(value, word), label, fix.replace(value, word))
    return words
