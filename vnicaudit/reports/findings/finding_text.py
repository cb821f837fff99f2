"""One finding as text: what, which NIC, where; what is wrong; what to do."""

from __future__ import annotations

from vnicaudit.model.finding import (
    ALL_BUT_THE_MODEL,
    EVERY_RULE,
    Crashed,
    Finding,
    Severity,
    Skipped,
)
from vnicaudit.model.report import Suppressed
from vnicaudit.reports.findings.grouped import EqualFindings, names_of
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.table.columns import padded_cell
from vnicaudit.reports.table.model import Part
from vnicaudit.reports.wording import fix_label, message_of, nic_label
from vnicaudit.reports.wrap import Piece, fold, with_lead, wrap

SEVERITY = 6
"""Columns of the longest one."""
_HEAD = "  "
_BODY = "    "
_HANG = "      "
_RULES = {EVERY_RULE: "every rule", ALL_BUT_THE_MODEL: "every rule but on the model"}


class FindingText:
    """Renders entries of one domain for one terminal."""

    def __init__(self, width: int, paint: Paint, *, verbose: bool = False) -> None:
        self._width = width
        self._paint = paint
        self._verbose = verbose

    def finding(self, finding: Finding) -> str:
        """Three lines or more; the last says how to fix it, where anything is to be said."""
        text = self._head(finding) + self._body(safe(message_of(finding)))
        if finding.related:
            places = ", ".join(safe(str(place)) for place in finding.related)
            text += self._labelled("see also", places, "quiet")
        if finding.fix:
            text += self._labelled(fix_label(finding), safe(finding.fix), "fix")
        return text

    def group(self, key: tuple[Severity, str, str], same: EqualFindings) -> str:
        """Equal findings: how many, what is wrong and what to do once, and on which."""
        severity, rule, name = key
        text = self._line(severity, rule, f"{same.count:,}", safe(name))
        for (message, label, fix), number in same.wordings.items():
            many = f"{number:,}: " if len(same.wordings) > 1 or same.others else ""
            text += self._body(safe(f"{many}{message}"))
            if fix:
                text += self._labelled(label, safe(fix), "fix")
        if same.others:
            text += self._body(f"{same.others:,}: in other words (each without --group-by)")
        return text + self._labelled("on", safe(names_of(same)), "quiet")

    def suppressed(self, entry: Suppressed) -> str:
        """A finding that somebody accepted, with who says so."""
        head = self._head(entry.finding, "suppressed")
        reason = self._labelled("reason", safe(f"{entry.reason} ({entry.source})"), "quiet")
        return head + self._body(safe(message_of(entry.finding))) + reason

    def crashed(self, crashed: Crashed) -> str:
        """A rule that failed: not a finding, and not a pass."""
        head = self._line("crash", crashed.rule, nic_label(crashed.about), "not judged")
        return head + self._body(safe(crashed.error))

    def skipped(self, skipped: Skipped) -> str:
        """A rule that could not be judged, and what would tell."""
        rule = _RULES.get(skipped.rule, skipped.rule)
        head = self._line("skip", rule, nic_label(skipped.about), "not judged")
        return head + self._body(safe(f"needs {skipped.needs}"))

    def _head(self, finding: Finding, *more: str) -> str:
        name = finding.name if self._verbose else ""
        place = str(finding.location)
        return self._line(
            finding.severity, finding.rule, name, nic_label(finding.about), place, *more
        )

    def _line(self, severity: str, rule: str, *more: str) -> str:
        pieces = [padded_cell(Part(severity, style=severity), SEVERITY, self._paint)]
        pieces.append(Piece(rule, self._paint("name", rule)))
        pieces.extend(Piece(word, word) for word in map(safe, more) if word)
        return fold(pieces, self._width, _HEAD, _BODY, "  ")

    def _body(self, text: str) -> str:
        return wrap(text, self._width, _BODY, _BODY)

    def _labelled(self, label: str, text: str, style: str) -> str:
        lead = Piece(label, self._paint(style, label))
        return with_lead(lead, f": {text}", self._width, _BODY, _HANG)
