"""The journal of a run: what it is about to do and what it has done, one line each. A line that
announces a change is on disk before the change is made, and so are all lines above it; a line that
announces none (``events.py``: ANNOUNCE_NOTHING) is written to disk with the next that does.

A line without an end was cut off when the program ended, and counts as not written: the change it
would have announced was not started. Each line can be verified (``journal_line.py``): damaged lines
are reported and skipped, and the others are trusted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from vnicaudit.base.clock import moment, timestamp
from vnicaudit.base.private_files import sync_folder, writing
from vnicaudit.errors import JournalError
from vnicaudit.remedy.applying.journal.events import ANNOUNCE_NOTHING, Event
from vnicaudit.remedy.applying.journal.journal_line import Entry as Entry
from vnicaudit.remedy.applying.journal.journal_line import decoded
from vnicaudit.remedy.applying.journal.journal_line import encoded as encoded

NAME = "journal.jsonl"


class JournalText(NamedTuple):
    """The entries of a journal. ``damage``: a sentence for each place that cannot be trusted, with
    the file's name and the line."""

    entries: tuple[Entry, ...]
    damage: tuple[str, ...] = ()
    gone: str = ""
    """Why nothing can be read; empty: something was read."""


class Journal:
    """The journal of one run, open for appending. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._lock = threading.Lock()
        self._over = ""
        self._added: list[Entry] = []
        self._unsynced = False
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with writing(self._path):
            self._descriptor = os.open(self._path, flags, 0o600)
            os.ftruncate(self._descriptor, _whole(self._descriptor))
            self._number = _number(self._descriptor)
            sync_folder(folder)

    def write(self, event: Event, unit: str = "") -> Entry:
        """Append a line, and return it; it is on disk then, unless it announces nothing. Raises
        JournalError if it cannot be written. After that no line can be written, as it would be lost
        behind half a line."""
        entry = Entry(timestamp(), event, unit)
        with self._writing():
            self._add(encoded(entry, self._number + 1))
            self._number += 1
            self._unsynced = True
            if not isinstance(event, ANNOUNCE_NOTHING):
                self._sync()
            self._added.append(entry)
        return entry

    def sync(self) -> None:
        """Write all lines to disk. Raises JournalError as :meth:`write` does."""
        with self._writing():
            self._sync()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            if self._over:
                raise JournalError(self._over)
            try:
                with writing(self._path):
                    yield
            except JournalError as error:
                self._over = str(error)
                raise

    @property
    def added(self) -> tuple[Entry, ...]:
        """The lines that were appended, in order."""
        with self._lock:
            return tuple(self._added)

    def close(self) -> None:
        """Close the journal: a thread that is still working gets a JournalError at its next
        line."""
        with self._lock:
            if not self._over:
                self._over = "the run was ended"
            try:
                with suppress(OSError):  # as if the program had ended before that line
                    self._sync()
            finally:
                os.close(self._descriptor)

    def _add(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])

    def _sync(self) -> None:
        if self._unsynced:
            os.fsync(self._descriptor)
            self._unsynced = False


def entries(folder: Path) -> tuple[Entry, ...]:
    """All lines of a run's journal that are whole and undamaged, in order."""
    return read_journal(folder).entries


def read_journal(folder: Path) -> JournalText:
    """A run's journal, as far as it can be trusted. Half a line at its end is not damage: the
    program ended while it wrote the line."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return JournalText((), gone="it is missing")
    except OSError as error:
        return JournalText((), (f"{path}: {error.strerror}",))
    if not data:
        return JournalText((), gone="it is empty")
    *lines, rest = data.split(b"\n")
    found: list[Entry] = []
    damage: list[str] = []
    expected = 1
    for number, line in enumerate(lines, 1):
        read = decoded(line)
        wrong = read.wrong
        if read.number is not None and read.number != expected:
            wrong = f"expected line {expected}, found line {read.number}"
        expected = (read.number or expected) + 1
        if wrong:
            damage.append(f"{path}:{number}: damaged: {wrong}")
        if read.entry is not None:
            found.append(read.entry)
    if b"\0" in rest or decoded(rest[:-1]).entry is not None:
        damage.append(f"{path}:{len(lines) + 1}: damaged: not a line of a journal")
    return JournalText(tuple(found), tuple(damage))


def seconds_since(entry: Entry, now: str | None = None) -> float:
    """Seconds since a line was written. ``now``: a timestamp, None: by the clock."""
    return _seconds(entry.at, now or timestamp())


def seconds_between(first: Entry, second: Entry) -> float:
    """Seconds between the writing of two lines."""
    return _seconds(first.at, second.at)


def _seconds(first: str, second: str) -> float:
    return max(0.0, (moment(second) - moment(first)).total_seconds())  # a clock may be set back


def _number(descriptor: int) -> int:
    """The number of the last line. A later line's number also counts the lines lost before it."""
    number = 0
    with open(os.dup(descriptor), "rb") as stream:
        stream.seek(0)
        for line in stream:
            number = decoded(line.rstrip(b"\n")).number or number + 1
    return number


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
