"""What a run is about to do and what it has done, one line each, on disk before it goes on.

A line that the program was ended in the middle of has no end, and counts as not written: what it
would have announced has not been begun.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import msgspec

from vnicaudit.errors import JournalError, UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.remedy.applying.state import sync_folder, writing

NAME = "journal.jsonl"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line. ``unit`` is the domain (or file) it is about; empty: the run itself."""

    at: str
    event: str
    unit: str = ""
    data: dict[str, Any] = {}


class Journal:
    """The journal of one run, to be added to. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._lock = threading.Lock()
        self._over = ""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with writing(self._path):
            self._descriptor = os.open(self._path, flags, 0o600)
            os.ftruncate(self._descriptor, _whole(self._descriptor))
            sync_folder(folder)

    def write(self, event: str, unit: str = "", **data: Any) -> Entry:
        """Add a line, and return it; it is on disk then. Raises JournalError where it cannot be:
        then no other can be either, for behind half a line it would be lost."""
        entry = Entry(now(), event, unit, data)
        with self._lock:
            if self._over:
                raise JournalError(self._over)
            try:
                with writing(self._path):
                    self._add(msgspec.json.encode(entry) + b"\n")
            except JournalError as error:
                self._over = str(error)
                raise
        return entry

    def close(self) -> None:
        """Nothing more will be written: who goes on in another thread is stopped by that."""
        with self._lock:
            if not self._over:
                self._over = "the run was ended"
            os.close(self._descriptor)

    def _add(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])
        os.fsync(self._descriptor)


def entries(folder: Path) -> Iterator[Entry]:
    """All whole lines of a run's journal, in order. Raises UsageError for one that is none."""
    path = folder / NAME
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    return
                yield _entry(line, path, number)
    except FileNotFoundError:
        return


def now() -> str:
    """The time, as it is written everywhere here."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_since(entry: Entry) -> float:
    """How long ago a line was written."""
    return _seconds(entry.at, now())


def seconds_between(first: Entry, second: Entry) -> float:
    """How long after a line another one was written."""
    return _seconds(first.at, second.at)


def _seconds(first: str, second: str) -> float:
    then, later = (datetime.fromisoformat(at.replace("Z", "+00:00")) for at in (first, second))
    return max(0.0, (later - then).total_seconds())  # clocks are set back


def _entry(line: bytes, path: Path, number: int) -> Entry:
    try:
        return json_as(line, Entry)
    except (msgspec.MsgspecError, RecursionError):
        raise UsageError(
            f"{path}:{number}: not a line of a journal; was it edited? Put it right, or move the "
            f"folder {path.parent} away if that run is of no concern any more"
        ) from None


def _whole(descriptor: int) -> int:
    """The length of the file up to the end of its last whole line."""
    size = os.fstat(descriptor).st_size
    position = size
    while position:
        start = max(0, position - 65536)
        found = os.pread(descriptor, position - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0
