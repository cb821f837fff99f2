"""Parts of several reports: coverage, the head of HTML pages, baselines, growing arrays."""

from __future__ import annotations

import codecs
import os
import tempfile
import weakref
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from string import Template

from vnicaudit.audit.accepting.baseline import (
    BASELINE_SCHEMA,
    BaselineEntry,
    add_entry,
    belongs,
    entry_of,
    load_entries,
)
from vnicaudit.base.wording import count
from vnicaudit.model.report import Audited, Coverage, RunEnd, RunInfo
from vnicaudit.reports.safe import encode, encode_items

# The part of a fleet covered by an audit, in words, to be shown wherever its numbers are.


def coverage_sentence(coverage: Coverage | None) -> str:
    """``a sample of 5% of the hosts (seed 7), 50 of 1,000 hosts``, and the limit; empty if the
    whole fleet was audited, or the audit is not of a fleet."""
    if coverage is None or coverage.is_whole:
        return ""
    parts = []
    if coverage.is_sample:
        drawn = "NICs" if coverage.nic_share < 1 else "hosts"
        share = coverage.host_share * coverage.nic_share
        parts.append(f"a sample of {percent(share)} of the {drawn} (seed {coverage.seed})")
    if coverage.limit:
        parts.append(f"limit {coverage.limit!r}")
    hosts = f"{coverage.hosts:,} of {count(coverage.inventory, 'host')}"
    return ", ".join((*parts, hosts))


def percent(share: float) -> str:
    """``5%``, ``0.1%``."""
    return f"{share * 100:.4g}%"


# The head of every HTML page of vnicaudit: colours, style, and a policy that keeps a browser from
# running or loading anything that was not written here.


@cache
def template(name: str) -> str:
    """Contents of a file in ``templates/``."""
    return (files("vnicaudit") / "templates" / name).read_text(encoding="utf-8")


@cache
def stylesheet(*names: str) -> str:
    """The colours of all pages, light and dark, followed by these style sheets."""
    colours = template("page/colours.css").replace("$dark", template("page/dark.css").strip())
    return "\n".join((colours, *map(template, names)))


@cache
def policy(style: str, script: str = "") -> str:
    """The Content-Security-Policy of a page with exactly this style and script: nothing else is
    applied or run, nothing is loaded, and no text becomes markup."""
    parts = ["default-src 'none'", f"style-src {_hash(style)}", "img-src data:"]
    if script:
        parts += [f"script-src {_hash(script)}", "require-trusted-types-for 'script'"]
        parts += ["trusted-types 'none'"]
    return "; ".join((*parts, "base-uri 'none'", "form-action 'none'"))


def head(title: str, style: str, script: str = "") -> str:
    """The document before its body. ``title`` is escaped here."""
    return Template(template("page/head.html")).substitute(
        title=escape(title), policy=policy(style, script), style=style
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# ``vnicaudit.baseline/1``, written along with an audit (``--write-baseline``).


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


# JSON arrays that grow while the audit runs.


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
