"""Findings about suppressions that need attention: expired, unused, or not valid.

They have rule ids of their own, which no suppression covers: an expired entry cannot hide that it
has expired.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from vnicaudit.audit.judging.fingerprint import digest
from vnicaudit.base.wording import shortened
from vnicaudit.model.finding import INVALID_SUPPRESSION as INVALID
from vnicaudit.model.finding import Finding, Severity
from vnicaudit.model.location import Location
from vnicaudit.model.owner import SETTINGS
from vnicaudit.model.refs import Ref
from vnicaudit.model.rule_info import RuleInfo

if TYPE_CHECKING:
    from vnicaudit.audit.accepting.suppression import Suppression

_NAMES: dict[str, tuple[str, Severity, str]] = {
    "SUPP001": ("expired-suppression", "low", "A suppression whose last day is over"),
    "SUPP002": ("unused-suppression", "low", "A suppression that accepts nothing any more"),
    INVALID: ("invalid-suppression", "medium", "A suppression that is not valid"),
}

_MANUAL = {
    "SUPP001": "The `until` of a suppression has passed. What it used to accept is reported again. "
    "Fix the cause, or agree on a new date.",
    "SUPP002": "A suppression matched no finding, although its rule was judged. It is *low* where "
    "the very domain or NIC it names was audited, and *info* where that was not among the "
    "targets, or where it names none (a run over a part of the fleet proves nothing). It is not "
    "reported when its rule was not selected, or was skipped for what it is about; nor of a "
    "domain's own metadata where a rule that compares NICs when all has been read (VNIC016) may "
    "yet need it.",
    INVALID: "A `<vnicaudit:suppress>` in a domain's metadata, an annotation or a comment that "
    "cannot be used: no reason, no such rule, a date that is none, a misspelt word, a line with "
    "several findings of one rule. It suppresses nothing. (A "
    "mistake in the settings is a usage error instead.)",
}

INFO: tuple[RuleInfo, ...] = tuple(
    RuleInfo(rule, name, severity, "suppression", summary, f"{summary}.\n\n{_MANUAL[rule]}")
    for rule, (name, severity, summary) in _NAMES.items()
)
"""The rule entries of these ids for catalogues and for SARIF."""


Form = Literal["metadata", "annotation", "comment"]
_FORMS: dict[Form, str] = {
    "metadata": "<vnicaudit:suppress rule='…' reason='…' until='2027-01-31'/>",
    "annotation": "suppress.vnicaudit/RULE: reason; until=2027-01-31",
    "comment": "# vnicaudit: suppress RULE reason; until=2027-01-31",
}
"""The notation of suppressions outside the settings."""


def expired(entry: Suppression, about: Ref) -> Finding:
    """SUPP001 for one entry."""
    return _finding(
        "SUPP001",
        entry,
        about,
        f"the suppression of {entry} expired on {entry.until} ({_reason_and_owner(entry)}): "
        "what it accepted is reported again",
        "Fix the cause, or agree on a new date.",
    )


def unused(entry: Suppression, about: Ref, *, judged: bool) -> Finding:
    """SUPP002 for one entry. ``judged``: the object it names was audited, and had no such
    finding."""
    reason = "there is no such finding (any more)" if judged else "nothing it is about was audited"
    if judged and not entry.about_one:
        reason = "there is no such finding among what was audited"
    return _finding(
        "SUPP002",
        entry,
        about,
        f"the suppression of {entry} is not used: {reason} ({_reason_and_owner(entry)})",
        "Remove it." if judged and entry.about_one else "Remove it if it is not needed elsewhere.",
        severity="low" if judged and entry.about_one else "info",
    )


def invalid(problem: str, about: Ref, place: Location, form: Form) -> Finding:
    """SUPP003 for one entry at that place."""
    name, severity, _summary = _NAMES[INVALID]
    who = about.id or place.file or f"{place.target}#{about.name}"
    mark = digest(INVALID, who, problem)
    where = "a comment" if form == "comment" else "the metadata"
    return Finding(
        INVALID, name, severity, "high",
        f"a suppression in {where} is not valid, and suppresses nothing: {problem}",
        about, place, SETTINGS, None, mark,
        f"Correct it: {_FORMS[form]}. `vnicaudit rules` lists the rules.",
    )  # fmt: skip


def _finding(
    rule: str, entry: Suppression, about: Ref, message: str, fix: str,
    severity: Severity | None = None,
) -> Finding:  # fmt: skip
    name, usual, _summary = _NAMES[rule]
    place = entry.location
    if place.xpath is None and entry.lines is None:
        # in the settings, whose path differs between machines: by name only
        who = (place.file or place.target).rpartition("/")[2]
    else:
        who = about.id or place.file or f"{place.target}#{about.name}"
    mark = digest(rule, who, f"{entry}\0{entry.reason}")
    return Finding(
        rule,
        name,
        severity or usual,
        "high",
        message,
        about,
        entry.location,
        SETTINGS,
        None,
        mark,
        fix,
    )


def _reason_and_owner(entry: Suppression) -> str:
    owner = "" if entry.owner is None else f", owner {shortened(entry.owner)}"
    return f"reason: {shortened(entry.reason)}{owner}"
