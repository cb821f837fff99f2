"""Documents that grow while an audit runs: arrays of JSON, text kept off the heap, baselines."""

from __future__ import annotations

import codecs
import os
import tempfile
import weakref
from collections.abc import Iterator, Sequence

from vnicaudit.audit.accepting.baseline import (
    BASELINE_SCHEMA,
    BaselineEntry,
    add_entry,
    belongs,
    entry_of,
    load_entries,
)
from vnicaudit.model.report import Audited, RunEnd, RunInfo
from vnicaudit.reports.safe import encode, encode_items
from vnicaudit.reports.writers import Options, ReportWriter

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 16


class Separator:
    """Separator between the pieces of one array; empty before the first piece."""

    def __init__(self) -> None:
        self._first = True

    def before(self) -> str:
        """Return a line break before the first piece, and a comma with one before any other."""
        if self._first:
            self._first = False
            return "\n"
        return ",\n"


class TextSpool:
    """Text that must wait for its place later in the document, kept off the heap: append, then
    drain once. Above 1 MiB it is in an unnamed temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (outlives this)
        self._finalizer = weakref.finalize(self, self._file.close)

    def write(self, text: str) -> None:
        """Append text. Raises OSError if the temporary directory is full."""
        self._file.write(text.encode())

    def drain(self) -> Iterator[str]:
        """All text, in order, in pieces of 64 KiB; closes the spool."""
        self._file.seek(0)
        yield from codecs.iterdecode(iter(lambda: self._file.read(_CHUNK), b""), "utf-8")
        self._finalizer()


class SpooledArray:
    """An array whose items are known before the document reaches it."""

    def __init__(self) -> None:
        self._spool = TextSpool()
        self._separator = Separator()

    def extend(self, items: Sequence[object]) -> None:
        """Append records (or dicts) to the array."""
        if items:
            self._spool.write(self._separator.before() + encode_items(items))

    def drain(self) -> Iterator[str]:
        """The array, brackets included, in pieces."""
        yield "["
        yield from self._spool.drain()
        yield "]"


# ``vnicaudit.baseline/1``, written along with an audit (``--write-baseline``).


class BaselineWriter(ReportWriter):
    """Writes each fingerprint once, with its highest severity, one per line, in the order of the
    findings. If not everything was read, or nothing was judged (a folder that is not mounted), the
    entries already in the file at ``place`` are kept; else those of rules that were not judged for
    their subject, such as a guest that is off. No known finding is lost because it was not checked.
    ``kept`` counts those whose fingerprint did not occur."""

    def __init__(self, place: str) -> None:
        super().__init__(Options())
        self.place = place
        self._entries: dict[str, BaselineEntry] = {}
        self._unjudged: set[tuple[str, str | None]] = set()
        self._has_judged = False
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
        self._unjudged.update((one.rule, one.about.name) for one in audited.skipped)
        self._has_judged = True
        return ""

    def finish(self, end: RunEnd) -> Iterator[str]:
        """The entries and the end of the document. Raises UsageError if existing entries may have
        to be kept but the existing file is not a baseline."""
        number = len(self._entries)
        keeps_all = end.is_partial or not self._has_judged
        may_keep = keeps_all or self._unjudged
        if may_keep and os.path.isfile(self.place) and os.path.getsize(self.place):
            for mark, entry in load_entries(self.place).items():
                if keeps_all or (entry.rule, entry.domain) in self._unjudged:
                    add_entry(self._entries, mark, entry)
        self.kept = len(self._entries) - number
        comma = ""
        for mark, entry in self._entries.items():
            yield f"{comma}\n    {encode(mark)}: {encode(entry)}"
            comma = ","
        yield "\n  }\n}\n" if self._entries else "}\n}\n"
