"""``vnicaudit.report/1``: everything, for programs.

One finding per line; the schema is in ``docs/schemas/``. Findings are written as they arrive; what
follows them waits in temporary files.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.model.report import REPORT_SCHEMA, Audited, RunEnd, RunInfo
from vnicaudit.reports.json_parts import Separator, SpooledArray
from vnicaudit.reports.safe import encode, encode_items
from vnicaudit.reports.writers import Options, ReportWriter


class JsonWriter(ReportWriter):
    """Writes JSON. Options have no effect."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._separator = Separator()
        self._later = {name: SpooledArray() for name in ("skipped", "crashed", "suppressed")}

    def start(self, run: RunInfo) -> str:
        request = "" if run.request is None else f'"request":{encode(run.request)},\n'
        return (
            f'{{"schema":"{REPORT_SCHEMA}",\n"tool":{encode(run.tool)},\n'
            f'"started":{encode(run.started)},\n{request}"findings":['
        )

    def add(self, audited: Audited) -> str:
        self._later["skipped"].extend(audited.skipped)
        self._later["crashed"].extend(audited.crashed)
        self._later["suppressed"].extend(audited.suppressed)
        if not audited.findings:
            return ""
        return self._separator.before() + encode_items(audited.findings)

    def finish(self, end: RunEnd) -> Iterator[str]:
        yield "]"
        for name, array in self._later.items():
            yield f',\n"{name}":'
            yield from array.drain()
        yield f',\n"finished":{encode(end.finished)}'
        if end.not_fixed:
            yield f',\n"not_fixed":[\n{encode_items(end.not_fixed)}]'
        yield f',\n"targets":{encode(end.targets)}'
        if end.coverage is not None:
            yield f',\n"coverage":{encode(end.coverage)}'
        yield f',\n"summary":{encode(end.summary)}}}\n'


WRITER = JsonWriter
