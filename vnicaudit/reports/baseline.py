"""``vnicaudit.baseline/1``, written along with an audit (``--write-baseline``)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from vnicaudit.audit.accepting.baseline import (
    BASELINE_SCHEMA,
    BaselineEntry,
    belongs,
    entry_of,
    load_entries,
)
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.encode import encode


class BaselineWriter:
    """Writes each fingerprint once, a line each, in the order of the findings; at the end, where
    not everything was read or judged, what the file at ``place`` had besides: nothing that is known
    is forgotten because it was not looked at. ``kept`` counts these."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._written: set[str] = set()
        self.kept = 0

    def start(self, run: RunInfo) -> str:
        """The head of the document."""
        schema, created = encode(BASELINE_SCHEMA), encode(run.started)
        return f'{{\n  "schema": {schema},\n  "created": {created},\n  "fingerprints": {{'

    def add(self, audited: Audited) -> str:
        """The findings of one domain that are new to the file; those that the baseline given to
        the run knows belong to it as much as the others."""
        return "".join(
            self._line(one.fingerprint, entry_of(one))
            for one in (*audited.findings, *audited.baselined)
            if belongs(one.rule)
        )

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The end of the document. Raises UsageError where the file that is there is no baseline,
        and something of it may have to be kept."""
        if end.is_partial and os.path.isfile(self.place) and os.path.getsize(self.place):
            for mark, entry in load_entries(self.place).items():
                line = self._line(mark, entry)
                self.kept += bool(line)
                yield line
        yield "\n  }\n}\n" if self._written else "}\n}\n"

    def _line(self, mark: str, entry: BaselineEntry) -> str:
        if mark in self._written:
            return ""
        comma = "," if self._written else ""
        self._written.add(mark)
        return f"{comma}\n    {encode(mark)}: {encode(entry)}"
