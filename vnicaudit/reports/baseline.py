"""``vnicaudit.baseline/1``, written along with an audit (``--write-baseline``)."""

from __future__ import annotations

import os
from collections.abc import Iterator

from vnicaudit.audit.accepting.baseline import (
    BASELINE_SCHEMA,
    BaselineEntry,
    add_entry,
    belongs,
    entry_of,
    load_entries,
)
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.encode import encode


class BaselineWriter:
    """Writes each fingerprint once, with its highest severity, one per line, in the order of the
    findings. If not everything was read or judged, the entries already in the file at ``place`` are
    kept, so that no known finding is lost because it was not checked. ``kept`` counts those whose
    fingerprint did not occur."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._entries: dict[str, BaselineEntry] = {}
        self.kept = 0

    def start(self, run: RunInfo) -> str:
        """The start of the document."""
        schema, created = encode(BASELINE_SCHEMA), encode(run.started)
        return f'{{\n  "schema": {schema},\n  "created": {created},\n  "fingerprints": {{'

    def add(self, audited: Audited) -> str:
        """Nothing yet: a finding of the same fingerprint may follow that is more severe. Findings
        in the baseline used by the audit are part of the new one."""
        for one in (*audited.findings, *audited.baselined):
            if belongs(one.rule):
                add_entry(self._entries, one.fingerprint, entry_of(one))
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The entries and the end of the document. Raises UsageError if existing entries may have
        to be kept but the existing file is not a baseline."""
        number = len(self._entries)
        if end.is_partial and os.path.isfile(self.place) and os.path.getsize(self.place):
            for mark, entry in load_entries(self.place).items():
                add_entry(self._entries, mark, entry)
        self.kept = len(self._entries) - number
        comma = ""
        for mark, entry in self._entries.items():
            yield f"{comma}\n    {encode(mark)}: {encode(entry)}"
            comma = ","
        yield "\n  }\n}\n" if self._entries else "}\n}\n"
