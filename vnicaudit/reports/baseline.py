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
    """Writes each fingerprint once, one per line, in the order of the findings. If not everything
    was read or judged, the other entries already in the file at ``place`` are added at the end, so
    that no known finding is lost because it was not checked. ``kept`` counts these."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._written: set[str] = set()
        self.kept = 0

    def start(self, run: RunInfo) -> str:
        """The start of the document."""
        schema, created = encode(BASELINE_SCHEMA), encode(run.started)
        return f'{{\n  "schema": {schema},\n  "created": {created},\n  "fingerprints": {{'

    def add(self, audited: Audited) -> str:
        """The findings of one domain that are not in the file yet, including those in the baseline
        used by the audit."""
        return "".join(
            self._line(one.fingerprint, entry_of(one))
            for one in (*audited.findings, *audited.baselined)
            if belongs(one.rule)
        )

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The end of the document. Raises UsageError if existing entries may have to be kept but
        the existing file is not a baseline."""
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
