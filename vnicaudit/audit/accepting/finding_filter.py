"""Filter for reported findings: by severity, confidence and owner."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.model.finding import CONFIDENCES, Confidence, Finding, Severity
from vnicaudit.model.owner import Keeper, name_of
from vnicaudit.model.report import Audited


class FindingFilter(msgspec.Struct, frozen=True):
    """The filter; an empty one reports everything. Findings that are filtered out are counted, and
    do not fail a run."""

    severities: frozenset[Severity] = frozenset()
    confidence: Confidence = "low"
    owners: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        """True if it may filter something out."""
        return bool(self.severities or self.owners or self.confidence != "low")

    def apply(self, audited: Audited) -> Audited:
        """The subject with its reported findings; the others are counted."""
        kept = tuple(finding for finding in audited.findings if self.keeps(finding))
        hidden = len(audited.findings) - len(kept)
        return replace(audited, findings=kept, filtered=hidden) if hidden else audited

    def keeps(self, finding: Finding) -> bool:
        """True for a finding that is reported."""
        return (
            (not self.severities or finding.severity in self.severities)
            and CONFIDENCES.index(finding.confidence) >= CONFIDENCES.index(self.confidence)
            and is_of(finding.owner, self.owners)
        )


def is_of(owner: Keeper, owners: frozenset[str]) -> bool:
    """True if the owner is among these (lower case), or there are none."""
    return not owners or name_of(owner).lower() in owners


NO_FILTER = FindingFilter()
