"""One finding as text: rule, NIC and place, then the problem, then the fix."""

from __future__ import annotations

from vnicaudit.model.finding import ALL_BUT_THE_MODEL, EVERY_RULE, Crashed, Finding, Skipped
from vnicaudit.model.report import Suppressed
from vnicaudit.reports.paint import Paint
from vnicaudit.reports.safe import safe
from vnicaudit.reports.wording import fix_label, message_of, nic_label
from vnicaudit.reports.wrap import Piece, fold, padded, with_lead, wrap
from vnicaudit.reports.writer import Options

SEVERITY = 6
"""Width of the longest severity."""
HEAD = "  "
BODY = "    "
_HANG = "      "
_RULES = {EVERY_RULE: "every rule", ALL_BUT_THE_MODEL: "every rule except on the model"}


class FindingText:
    """Renders the results of one domain for a terminal."""

    def __init__(self, options: Options, paint: Paint) -> None:
        self._options = options
        self._width = options.width
        self._paint = paint
        self._verbose = options.verbose

    def finding(self, finding: Finding) -> str:
        """Three lines or more; the last one is the fix, if there is one."""
        text = self._head(finding) + self._body(safe(message_of(finding)))
        if finding.related:
            places = ", ".join(safe(str(place)) for place in finding.related)
            text += self._labelled("see also", places, "quiet")
        return text + self._fix(fix_label(finding), finding.fix)

    def _fix(self, label: str, fix: str) -> str:
        return self._labelled(label, safe(fix), _fix_style(label)) if fix else ""

    def suppressed(self, entry: Suppressed) -> str:
        """A suppressed finding, with who accepted it."""
        head = self._head(entry.finding, "suppressed")
        reason = self._labelled("reason", safe(_accepted(entry)), "quiet")
        return head + self._body(safe(message_of(entry.finding))) + reason

    def crashed(self, crashed: Crashed) -> str:
        """A rule that crashed: neither a finding nor a pass."""
        head = self._line("crash", crashed.rule, nic_label(crashed.about), "not judged")
        return head + self._body(safe(crashed.error))

    def skipped(self, skipped: Skipped) -> str:
        """A rule that could not be judged, and what it needs."""
        rule = _RULES.get(skipped.rule, skipped.rule)
        head = self._line("skip", rule, nic_label(skipped.about), "not judged")
        return head + self._body(safe(f"needs {skipped.needs}"))

    def _head(self, finding: Finding, *more: str) -> str:
        name = finding.name if self._verbose else ""
        place = str(finding.location)
        return self._line(
            finding.severity, finding.rule, name, nic_label(finding.about), place, *more
        )

    def _line(self, severity: str, rule: str, *more: str, head: str = HEAD) -> str:
        pieces = [padded(Piece(severity, self._paint(severity, severity)), SEVERITY)]
        painted = self._paint("name", safe(rule))
        pieces.append(
            Piece(safe(rule), self._paint.link(self._options.page_to_link(rule), painted))
        )
        pieces.extend(Piece(word, word) for word in map(safe, more) if word)
        return fold(pieces, self._width, head, BODY, "  ")

    def _body(self, text: str) -> str:
        return wrap(text, self._width, BODY, BODY)

    def _labelled(self, label: str, text: str, style: str) -> str:
        lead = Piece(label, self._paint(style, label))
        return with_lead(lead, f": {text}", self._width, BODY, _HANG)


def _accepted(entry: Suppressed) -> str:
    """``the vendor supports e1000 only (vnicaudit.toml:1; owner telephony; until 2027-01-31)``."""
    owner = entry.owner and f"owner {entry.owner}"
    until = entry.until and f"until {entry.until}"
    return f"{entry.reason} ({'; '.join(filter(None, (entry.source, owner, until)))})"


def _fix_style(label: str) -> str:
    """The style of a fix: unsafe ones must not look like safe ones."""
    return "fix" if label == "fix" else "medium"
