"""The journal of a run: what it is about to do and what it has done, one line each. A line that
announces a change is on disk before the change is made, and so are all lines above it; a line that
announces none (``events.py``: ANNOUNCE_NOTHING) is written to disk with the next that does.

A line without an end was cut off when the program ended, and counts as not written: the change it
would have announced was not started. Each line can be verified (:func:`decoded`): damaged lines
are reported and skipped, and the others are trusted.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from vnicaudit.base.deadlines import moment, timestamp
from vnicaudit.base.files import (
    DEFINITIONS,
    sync_folder,
    write_private,
    write_private_quickly,
    write_several_private,
    writing,
)
from vnicaudit.errors import JournalError, SavedTextError
from vnicaudit.model.decoding import json_as
from vnicaudit.remedy.applying.journal.events import ANNOUNCE_NOTHING, Begin, Event
from vnicaudit.remedy.replacing import digest, short_digest

# One line of a journal: written with its length, its number and a checksum, and read strictly.
#
# ``{"sum":"…","length":57,"line":3,"at":…,"event":{"event":…},"unit":…}``. ``length`` is that of
# the object without the first three, ``sum`` the first 16 digits of the SHA-256 of ``length``,
# ``line`` and that object.


_LINE = re.compile(
    rb'\{"sum":"([0-9a-f]{16})","length":(\d{1,9}),"line":(\d{1,9}),(.*\})', re.DOTALL
)
_DIGITS = 16
_NO_LINE = "not a line of a journal"


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line. ``unit`` is the key of the unit it is about; empty: the run itself."""

    at: str
    event: Event
    unit: str = ""


class JournalLine(NamedTuple):
    """A line that was read. ``number`` is None if ``wrong`` says why the line cannot be trusted."""

    entry: Entry | None
    number: int | None = None
    wrong: str = ""


def encoded(entry: Entry, number: int) -> bytes:
    """The line, including its end."""
    body = msgspec.json.encode(entry)
    head = f'{{"sum":"{_sum(body, number)}","length":{len(body)},"line":{number},'
    return head.encode() + body[1:] + b"\n"


def decoded(line: bytes) -> JournalLine:
    """Decode a line, given without its end. Never raises, whatever the line holds."""
    found = _LINE.fullmatch(line)
    if found is None:
        return JournalLine(None, wrong=_NO_LINE)
    body, number = b"{" + found[4], int(found[3])
    if (len(body), _sum(body, number)) != (int(found[2]), found[1].decode()):
        return JournalLine(None, wrong="its checksum does not match")
    try:
        entry = json_as(body.decode(), Entry)
        if moment(entry.at).tzinfo is None:
            raise ValueError(entry.at)  # the age of the line would be unknown
        if isinstance(entry.event, Begin):
            entry.event.common()
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return JournalLine(None, wrong=_NO_LINE)
    return JournalLine(entry, number)


def begin_of(entries: Iterable[Entry]) -> Begin | None:
    """The line that started a unit; None: the unit was not started."""
    return next((one.event for one in entries if isinstance(one.event, Begin)), None)


def _sum(body: bytes, number: int) -> str:
    head = f"{len(body)} {number} ".encode()
    return short_digest(head + body, _DIGITS)


# The texts of a unit that a run saves in its folder.


KeptKind = Literal["before", "goal", "settled", "running"]
"""Definitions of a unit: before the change, its goal, the definition that libvirt made of the goal
(``settled``), and the running one, saved where the persistent one does not say what to restore."""


class KeptTexts:
    """The saved definitions of a unit, in the run's folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder / DEFINITIONS
        self._key = key

    def keep(self, kind: KeptKind, data: bytes) -> str:
        """Save a definition and return its digest. It is on disk when this returns."""
        write_private(self.path(kind), data)
        return digest(data)

    def keep_both(self, before: bytes, goal: bytes) -> None:
        """Save the definitions before the change and of the goal. They are on disk when this
        returns."""
        write_several_private(((self.path("before"), before), (self.path("goal"), goal)))

    def keep_settled(self, data: bytes, goal: bytes) -> str:
        """Save the definition that the hypervisor made of the goal, and return its digest. If both
        are equal, the saved goal, which is on disk already, gets a second name."""
        if data == goal:
            with suppress(OSError):  # the name exists, or the file system has no links
                os.link(self.path("goal"), self.path("settled"))
                return digest(data)
        return self.keep("settled", data)

    def get(self, kind: KeptKind, wanted: str | None, by_hand: str = "") -> bytes:
        """A saved definition. ``wanted`` is its digest in the journal (None: it records none).
        Raises SavedTextError if the file is missing or differs; ``by_hand`` is added to the
        message, as what else can be done then."""
        path = self.path(kind)
        try:
            data = path.read_bytes()
        except OSError as error:
            if kind == "settled" and wanted is not None:
                with suppress(SavedTextError):  # a power failure may have lost the second name
                    return self.get("goal", wanted)
            raise SavedTextError(
                f"{path}, saved by the run, cannot be read ({error.strerror}): {_mend(by_hand)}"
            ) from None
        if wanted is not None and digest(data) != wanted:
            raise SavedTextError(
                f"{path} is not as the run saved it (it was edited or is damaged, as its digest "
                f"in the journal differs): {_mend(by_hand)}"
            )
        return data

    def keep_begin(self, line: bytes) -> None:
        """Save the journal's line that starts the unit."""
        write_private_quickly(self._begin(), line)

    def begin(self) -> Entry | None:
        """The saved line that started the unit; None if there is none, or it is damaged."""
        try:
            line = self._begin().read_bytes()
        except OSError:
            return None
        entry = decoded(line.rstrip(b"\n")).entry
        if entry is None or not isinstance(entry.event, Begin) or entry.unit != self._key:
            return None
        return entry

    def _begin(self) -> Path:
        return self._folder / f"{self._key}.begin.json"

    def has(self, kind: KeptKind) -> bool:
        """True if a text of that kind was saved."""
        return self.path(kind).is_file()

    def path(self, kind: KeptKind) -> Path:
        """The path of a saved definition."""
        return self._folder / f"{self._key}.{kind}.xml"


def _mend(by_hand: str) -> str:
    or_else = f", or undo the change by hand: {by_hand}" if by_hand else ""
    return f"restore that file from a backup and run this again{or_else}"


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
        self._folder = folder
        self._lock = threading.Lock()
        self._over = ""
        self._unsynced = False
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with writing(self._path):
            self._descriptor = os.open(self._path, flags, 0o600)
            self._number = self._cut()
            sync_folder(folder)

    def write(self, event: Event, unit: str = "") -> Entry:
        """Append a line, and return it; it is on disk then, unless it announces nothing. The line
        that starts a unit is also saved beside its definitions. Raises JournalError if it cannot be
        written. After that no line can be written, as it would be lost behind half a line."""
        entry = Entry(timestamp(), event, unit)
        with self._writing():
            line = encoded(entry, self._number + 1)
            self._add(line)
            self._number += 1
            self._unsynced = True
            if not isinstance(event, ANNOUNCE_NOTHING):
                self._sync()
            if isinstance(event, Begin):
                KeptTexts(self._folder, unit).keep_begin(line)
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

    def _cut(self) -> int:
        """Cut off half a line at the end. Returns the number of the last line, which also counts
        the lines that were lost before it."""
        whole, end, _half = self._path.read_bytes().rpartition(b"\n")
        os.ftruncate(self._descriptor, len(whole + end))
        number = 0
        for line in whole.split(b"\n") if end else ():
            number = decoded(line).number or number + 1
        return number

    def _add(self, line: bytes) -> None:
        written = 0
        while written < len(line):
            written += os.write(self._descriptor, line[written:])

    def _sync(self) -> None:
        if self._unsynced:
            os.fsync(self._descriptor)
            self._unsynced = False


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
    """Seconds since a line was written. ``now``: a timestamp, as that of another line; None: by the
    clock."""
    passed = moment(now or timestamp()) - moment(entry.at)
    return max(0.0, passed.total_seconds())  # a clock may be set back
