"""One finding as text: rule, NIC and place, then the problem, then the fix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from vnicaudit.base.wording import count
from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, Crashed, Finding, Skipped
from vnicaudit.model.report import Audited, Suppressed, TargetResult
from vnicaudit.reports.as_text import GAP, Pen
from vnicaudit.reports.grouped import (
    MANY_NAMES,
    NAMES,
    EqualFindings,
    FindingGroup,
    RuleKey,
    and_more,
    groups_of,
    names_of,
    names_within,
)
from vnicaudit.reports.model import Part
from vnicaudit.reports.safe import fold, padded, safe, width_of
from vnicaudit.reports.wording import fix_label, message_of, part_label
from vnicaudit.reports.writers import Options
from vnicaudit.text.secrets import quoted_line

SEVERITY = 6
"""Width of the longest severity."""
HEAD = "  "
BODY = "    "
RULE_WORDS = {EVERY_RULE: "every rule", ALL_BUT_THE_MODEL: "every rule except on the model"}


class FindingText:
    """Renders the results of one domain for a terminal."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pen = Pen(options)

    def finding(self, finding: Finding) -> str:
        """Three lines or more; the last one is the fix, if there is one."""
        text = self._head(finding) + self._body(message_of(finding)) + self._quoted(finding)
        if finding.related:
            places = ", ".join(map(str, finding.related))
            text += self._pen.labelled("see also", places)
        return text + self._fix(fix_label(finding), finding.fix)

    def _quoted(self, finding: Finding) -> str:
        """``12 | <model type='rtl8139'/>`` and a caret below what is wrong, cut at the width."""
        place = finding.location
        exact = place.column is not None or place.xpath  # else a command, of which little is shown
        if not (self._options.quotes and place.file and place.line and exact):
            return ""
        line = quoted_line(place.file, place.line, place.column, place.xpath or "")
        if line is None:
            return ""
        lead = f"{BODY}{line.number} | "
        room, shown = self._pen.width - len(lead), safe(line.text)
        if width_of(shown) > room:
            shown = f"{shown[: max(room if shown.isascii() else room // 2, 1) - 1]}…"
        text = f"{lead}{self._pen.paint('quiet', shown)}\n"
        if (
            line.caret is None
            or line.caret >= len(shown)
            or shown[: line.caret] != line.text[: line.caret]
        ):
            return text
        return f"{text}{' ' * (len(lead) + line.caret)}{self._pen.paint('medium', '^')}\n"

    def _fix(self, label: str, fix: str) -> str:
        """A fix; unsafe ones must not look like safe ones."""
        return self._pen.labelled(label, fix, "fix" if label == "fix" else "medium") if fix else ""

    def suppressed(self, entry: Suppressed) -> str:
        """A suppressed finding, with who accepted it."""
        head = self._head(entry.finding, "suppressed")
        reason = self._pen.labelled("reason", _accepted(entry))
        return head + self._body(message_of(entry.finding)) + reason

    def crashed(self, crashed: Crashed) -> str:
        """A rule that crashed: neither a finding nor a pass."""
        head = self._line("crash", crashed.rule, part_label(crashed.about), "not judged")
        return head + self._body(crashed.error)

    def skipped(self, skipped: Skipped) -> str:
        """A rule that could not be judged, and what it needs."""
        rule = RULE_WORDS.get(skipped.rule, skipped.rule)
        head = self._line("skip", rule, part_label(skipped.about), "not judged")
        return head + self._body(f"needs {skipped.needs}")

    def _head(self, finding: Finding, *more: str) -> str:
        words = (finding.name if self._options.verbose else "", part_label(finding.about))
        place = str(finding.location)
        return self._line(finding.severity, finding.rule, *words, place, *more)

    def _line(self, severity: str, rule: str, *more: str, head: str = HEAD) -> str:
        painted = self._pen.part(Part(rule, style="name"))
        pieces = [padded(self._pen.paint(severity, severity), SEVERITY)]
        pieces.append(self._pen.paint.link(self._options.page_to_link(rule), painted))
        pieces.extend(self._pen.part(word) for word in more if word)
        return fold(pieces, self._pen.width, head, BODY, GAP)

    def _body(self, text: str) -> str:
        return self._pen.say(text, len(BODY), 0)


def _accepted(entry: Suppressed) -> str:
    """``the vendor supports e1000 only (vnicaudit.toml:1; owner telephony; until 2027-01-31)``."""
    owner = entry.owner and f"owner {entry.owner}"
    until = entry.until and f"until {entry.until}"
    return f"{entry.reason} ({'; '.join(filter(None, (entry.source, owner, until)))})"


# Equal findings as text: count, problem and fix once, and their subjects.


_LINES = 46
"""Lines for rules with message, fix and names; each further rule takes one line."""
_OWNERS = 4
"""Maximum fixes of different owners shown for one rule."""


class GroupedText:
    """Collects findings, and renders equal ones once, in their groups: as many as fit in full, each
    further one as a line. Raises ValueError if it is unknown how a fix is worded for several
    subjects."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pen = Pen(options)
        self._entry = _EqualText(options)
        self._groups = groups_of(options)
        self.first_rule = ""
        """The rule of the first group, once :meth:`text` has been read."""

    def add(self, audited: Audited) -> None:
        """Add the findings of one subject."""
        self._groups.add(audited)

    def text(self, targets: Iterable[TargetResult] = ()) -> Iterator[str]:
        """Yield the groups, and how many are not shown. ``targets``: all of the audit, which for a
        fleet give the names of its hosts."""
        self._entry.hosts = {one.target: one.name for one in targets if one.name}
        groups = list(self._groups.groups())
        self.first_rule = next((group.rules[0][0][1] for group in groups), "")
        most = len(groups) if self._options.most is None else self._options.most
        by_rule = self._options.group_by in ("", "rule")
        unbounded = self._options.verbose or not by_rule or self._options.most is not None
        lines, in_full = 0, 0
        for group in groups[:most]:
            text = self._group(group)
            lines += text.count("\n")
            if in_full and not unbounded and lines > _LINES:
                break
            in_full += 1
            yield text
        rest = groups[in_full:most]
        yield from (self._entry.one_line(*group.rules[0], group.about) for group in rest)
        yield "\n" if rest else ""
        if hidden := groups[most:]:
            yield self._hidden(hidden)

    def _hidden(self, groups: list[FindingGroup]) -> str:
        problems = sum(same.count for group in groups for _key, same in group.rules)
        text = f"… {count(problems, 'more problem')} in {count(len(groups), 'more group')} (--max)"
        return self._pen.say(text) + "\n"

    def _group(self, group: FindingGroup) -> str:
        if not group.name:
            return "".join(self._entry.group(*rule, group.about) for rule in group.rules) + "\n"
        title = self._pen.titled(group.name, group.about)
        return title + "".join(self._entry.group(*rule) for rule in group.rules) + "\n"


class _EqualText(FindingText):
    """Renders equal findings for a terminal. ``hosts``: target -> name of a host of a fleet."""

    hosts: Mapping[str, str] = {}

    def group(self, key: RuleKey, same: EqualFindings, about: str = "") -> str:
        """Equal findings: count, problem and fix once, and their subjects. ``about``: the counts,
        if they form a group of their own."""
        words = [*key[1:], about] if about else [key[1], f"{same.count:,}", key[2]]
        text = self._line(key[0], *words, head="" if about else HEAD)
        text += "".join(map(self._body, _messages(same)))
        text += self._equal_fixes(same)
        text += self._pen.labelled("on", self._names(same))
        hosts = [self.hosts[target] for target in same.targets if target in self.hosts]
        if not hosts:
            return text
        most = MANY_NAMES if self._options.verbose else NAMES
        return text + self._pen.labelled("hosts", and_more(hosts, most, len(hosts)))

    def _equal_fixes(self, same: EqualFindings) -> str:
        """The most frequent fix of each owner, the number of unsafe ones, and their most frequent
        reason."""
        fixes = same.fixes
        words = {(one.label, one.fix) for one in same.wordings}
        if len(words) == 1 or not fixes:
            return self._fix(*words.pop())
        text = "".join(
            self._pen.labelled(same.label("fix", fix.edit, fix.number, fix.owners), fix.edit, "fix")
            for fix in fixes[:_OWNERS]
        )
        if len(fixes) > _OWNERS:
            more = f"{len(fixes) - _OWNERS:,} more, of other owners (--view full has each)"
            text += self._pen.labelled("fix", more, "fix")
        if risks := same.risks:
            (risk, number), *_more = risks
            text += self._pen.labelled(same.label("unsafe", risk, number), risk, "medium")
        return text

    def one_line(self, key: RuleKey, same: EqualFindings, about: str) -> str:
        """Equal findings as one line of counts, with as many names as fit."""
        words = (*key[1:], about)
        used = SEVERITY + sum(len(safe(word)) + 2 for word in words)
        names = names_of(same)
        fits = used + 2 + len(safe(names)) <= self._pen.width
        return self._line(key[0], *words, names if fits else "", head="")

    def _names(self, same: EqualFindings) -> str:
        if same.count == 1:
            name = same.names[0]
            return same.place if same.place.startswith(name) else f"{name}  {same.place}"
        if self._options.verbose:
            return names_of(same, most=MANY_NAMES)
        return names_within(same, self._pen.width - len(BODY) - len("on: "))


def _messages(same: EqualFindings) -> list[str]:
    """At most two lines: the most frequent messages, each with its count."""
    messages = same.messages
    if len(messages) == 1 and not same.others:
        return [messages[0][0]]
    shown = messages[: 1 if same.others or len(messages) > 2 else 2]
    lines = [f"{number:,}: {message}" for message, number in shown]
    if more := same.count - sum(number for _message, number in shown):
        lines.append(f"and {more:,} like it (--view full has each)")
    return lines
