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
from vnicaudit.remedy.applying.state import sync_folder

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
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._descriptor = os.open(self._path, flags, 0o600)
        os.ftruncate(self._descriptor, _whole(self._descriptor))
        sync_folder(folder)

    def write(self, event: str, unit: str = "", **data: Any) -> None:
        """Add a line; it is on disk when this returns. Raises JournalError where it cannot be."""
        entry = Entry(now(), event, unit, data)
        line = msgspec.json.encode(entry) + b"\n"
        with self._lock:
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._descriptor, line[written:])
                os.fsync(self._descriptor)
            except OSError as error:
                raise JournalError(
                    f"{self._path} cannot be written ({error.strerror}): nothing more was done; "
                    "run this again when it can"
                ) from None

    def close(self) -> None:
        """Nothing more will be written."""
        os.close(self._descriptor)


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


def _entry(line: bytes, path: Path, number: int) -> Entry:
    try:
        return msgspec.json.decode(line, type=Entry)
    except (msgspec.MsgspecError, RecursionError):
        raise UsageError(f"{path}:{number}: not a line of a journal; was it edited?") from None


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
