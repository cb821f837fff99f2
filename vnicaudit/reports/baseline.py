"""``vnicaudit.baseline/1``, written along with an audit (``--write-baseline``)."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.audit.baseline import BASELINE_SCHEMA, BaselineEntry, belongs
from vnicaudit.model.finding import NicRef
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.encode import encode


class BaselineWriter:
    """Writes each fingerprint once, a line each, in the order of the findings."""

    def __init__(self) -> None:
        self._written: set[str] = set()

    def start(self, run: RunInfo) -> str:
        """The head of the document."""
        schema, created = encode(BASELINE_SCHEMA), encode(run.started)
        return f'{{\n  "schema": {schema},\n  "created": {created},\n  "fingerprints": {{'

    def add(self, audited: Audited) -> str:
        """The findings of one domain that are new to the file; those that the baseline given to
        the run knows belong to it as much as the others."""
        lines = []
        for finding in (*audited.findings, *audited.baselined):
            if finding.fingerprint not in self._written and belongs(finding.rule):
                entry = BaselineEntry(
                    rule=finding.rule,
                    severity=finding.severity,
                    domain=finding.nic.domain,
                    nic=_nic(finding.nic),
                )
                comma = "," if self._written else ""
                lines.append(f"{comma}\n    {encode(finding.fingerprint)}: {encode(entry)}")
                self._written.add(finding.fingerprint)
        return "".join(lines)

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The end of the document."""
        del end
        yield "\n  }\n}\n" if self._written else "}\n}\n"


def _nic(nic: NicRef) -> str | None:
    return nic.mac or (None if nic.index is None else f"#{nic.index}")
