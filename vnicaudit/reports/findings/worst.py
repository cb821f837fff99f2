"""The worst findings of an audit, for reports that show only some."""

from __future__ import annotations

import heapq

from vnicaudit.model.finding import CONFIDENCES, SEVERITIES, Finding
from vnicaudit.model.report import Audited


class WorstFindings:
    """A limited number of findings from a stream, each with its subject: the most severe; among
    these, those of highest confidence; among these, the earliest. Other findings are not kept in
    memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._number = 0
        self._heap: list[tuple[int, int, int, Audited, Finding]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, audited: Audited) -> None:
        """Add the findings of a subject that are worse than those kept."""
        for finding in audited.findings:
            self._number += 1
            severity = SEVERITIES.index(finding.severity)
            confidence = CONFIDENCES.index(finding.confidence)
            entry = (severity, confidence, -self._number, audited, finding)
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def worst_first(self) -> list[tuple[Audited, Finding]]:
        """The findings kept, worst first."""
        return [entry[-2:] for entry in sorted(self._heap, reverse=True)]

    def by_subject(self) -> list[tuple[Audited, list[Finding]]]:
        """The findings grouped by subject; the subject with the worst one comes first."""
        found: dict[int, tuple[Audited, list[Finding]]] = {}
        for audited, finding in self.worst_first():
            found.setdefault(id(audited), (audited, []))[1].append(finding)
        return list(found.values())
