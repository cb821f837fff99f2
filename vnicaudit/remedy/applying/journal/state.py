"""The state folder: the records of all runs, and the locks on hosts.

``STATE/runs/ID/``: ``run.json`` (the request), ``plan.json``, ``journal.jsonl`` and
``definitions/`` (each domain's definition before the change, its goal, and the line that started
it). Definitions hold passwords: folders are 0700 and files 0600. ``STATE/locks/``: one file per
host that is being worked on, and one per host that has the folder's own lock.
"""

from __future__ import annotations

import errno
import os
import pwd
import re
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

import msgspec

from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.files import (
    DEFINITIONS,
    check_own,
    make_private,
    open_lock,
    own_lock,
    sync_folder,
    unwritable,
    write_private,
    write_private_quickly,
)
from vnicaudit.base.wording import TIME_ID, time_id
from vnicaudit.errors import RefusedError, UsageError
from vnicaudit.model.host import HostLock
from vnicaudit.remedy.applying.journal.events import BaseEvent, Begin, Event, Transaction, mac_of
from vnicaudit.remedy.applying.journal.journal_file import Entry, Journal
from vnicaudit.remedy.replacing import short_digest
from vnicaudit.text.targets import command

_SAFE = re.compile(r"[^A-Za-z0-9.-]")
_OWNER = "owner"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


class HeldError(RefusedError):
    """Another run is working on that host."""


class StateFolder:
    """The folder of all runs, created when the first run starts."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.ended: set[str] = set()
        """Ids of runs that ended and had lost nothing, as far as they were read."""

    def command(self, words: str) -> str:
        """A command on this state folder, to be copied by the user."""
        return command(words, self.path)

    def ids(self) -> list[str]:
        """Ids of runs, oldest first."""
        self._check_own()
        try:
            names = os.listdir(self.path / "runs")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.path / 'runs'}: {error.strerror}") from None
        return sorted(name for name in names if TIME_ID.fullmatch(name))

    def run(self, run_id: str) -> Path:
        """The folder of a run. Raises UsageError if there is none."""
        if run_id not in self.ids():
            raise UsageError(
                f"there is no run {run_id[:60]!r} in {self.path}; "
                f"`{self.command('runs')}` lists them"
            )
        folder = self.path / "runs" / run_id
        for place in (folder, folder / DEFINITIONS):
            check_own(place)
        return folder

    def _check_own(self) -> None:
        """Raises UsageError if another user could change what is recorded here."""
        if self.path.parent.is_dir():  # otherwise creating it reports the error
            check_own(self.path.parent, link=True)
        check_own(self.path, link=True)
        for name in ("runs", "locks", "bench"):
            check_own(self.path / name)

    def new(self) -> Path:
        """An empty folder for a new run. Its id is the time, in units of 1/65,536 s, or the next
        after the last id if the clock was set back: ids are in the order of the runs."""
        self._check_own()
        with self._kept_here():
            make_private(self.path / "runs")
            while True:
                folder = self.path / "runs" / _id_behind(self.ids())
                try:
                    folder.mkdir(mode=0o700)
                except FileExistsError:  # another run, on another host, started at the same moment
                    continue
                sync_folder(folder.parent)
                make_private(folder / DEFINITIONS)
                return folder

    @contextmanager
    def lock(self, key: str, name: str) -> Iterator[None]:
        """Keep other runs away from a host. Raises HeldError if one is working there. The kernel
        releases the lock when this process ends, however it ends."""
        folder = self.path / "locks"
        path = folder / f"{_SAFE.sub('_', key)[:100]}.lock"
        self._check_own()
        with self._kept_here():
            make_private(folder)
            descriptor = open_lock(path)
        with own_lock(descriptor, str(os.getpid()), self._held(name)):
            yield

    def host_lock(self) -> HostLock:
        """The lock that runs of this folder put on a host, for runs on other machines to see. Its
        owner is this folder on this machine: a copy of the folder elsewhere is another owner."""
        path = self.path / "locks" / _OWNER
        with self._kept_here():
            make_private(path.parent)
            if not path.exists():
                _write_token(path)
            token = path.read_text("ascii")
        machine = socket.gethostname()
        owner = blake2b(f"{token} {machine}".encode(), digest_size=16).hexdigest()
        who = f"{_user()}@{machine}, process {os.getpid()}, since {timestamp('seconds')}"
        return HostLock(owner, f"vnicaudit of {who}, runs in {self.path}")

    def note_locked(self, uri: str) -> None:
        """Record that a host is about to get this folder's lock: a run that is killed leaves it
        there."""
        with self._kept_here():
            write_private_quickly(self._note(uri), uri.encode())

    def note_unlocked(self, uri: str) -> None:
        """Record that a host no longer has this folder's lock."""
        with suppress(OSError):  # then the host is looked at once more
            self._note(uri).unlink(missing_ok=True)

    def may_be_locked(self, uri: str) -> bool:
        """True if a run of this folder locked that host and did not unlock it."""
        return self._note(uri).exists()

    def _note(self, uri: str) -> Path:
        return self.path / "locks" / f"{short_digest(uri.encode(), 32)}.host"

    @staticmethod
    def _held(name: str) -> Callable[[str], HeldError]:
        return lambda holder: HeldError(
            f"another run is working on {name} (process {holder}): wait for it to end"
        )

    @contextmanager
    def _kept_here(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise unwritable(self.path, error) from None
            raise UsageError(
                f"runs cannot be stored in {self.path}: {error.strerror}; choose another folder "
                "with --state"
            ) from None


def _write_token(path: Path) -> None:
    """Write the file as a whole, and only once: if two processes come first, one of them writes
    it."""
    own = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        write_private(own, secrets.token_hex(16).encode())
        with suppress(FileExistsError):
            os.link(own, path)
    finally:
        own.unlink(missing_ok=True)


def _user() -> str:
    """Name of this user, or the numeric id if there is no name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _id_behind(ids: Sequence[str]) -> str:
    """An id later than all of these: the order of ids tells which run undid which."""
    made = time_id(datetime.now(timezone.utc))
    if not ids or made > ids[-1]:
        return made
    day, clock, part = ids[-1].split("-")
    if part != "ffff":
        return f"{day}-{clock}-{int(part, 16) + 1:04x}"
    whole = int(day + clock) + 1  # digits in order, no longer a time of day
    return f"{whole:014d}"[:8] + "-" + f"{whole:014d}"[8:] + "-0000"


# The journal's lines about one unit: read them, and write new ones.


E = TypeVar("E", bound=BaseEvent)


class UnitJournal:
    """The journal of one unit, including the lines of an interrupted run. Without ``journal``, new
    lines are only remembered: for actions that cannot wait until the journal can be written."""

    def __init__(self, journal: Journal | None, key: str, past: Iterable[Entry] = ()) -> None:
        self._journal = journal
        self._key = key
        self._past = list(past)

    def write(self, event: Event) -> None:
        """Record an action that is about to start, or its observed result; on disk when this
        returns."""
        if self._journal is None:
            self._past.append(Entry(timestamp(), event, self._key))
        else:
            self._past.append(self._journal.write(event, self._key))

    def last(self, kind: type[E]) -> E | None:
        """The last event of that kind; None if there is none."""
        found = [one.event for one in self._past if isinstance(one.event, kind)]
        return found[-1] if found else None

    def latest(self, *kinds: type[BaseEvent]) -> Entry | None:
        """The last line of one of these kinds; None if there is none."""
        found = (one for one in reversed(self._past) if isinstance(one.event, kinds))
        return next(found, None)

    def pending(
        self, kind: type[BaseEvent], *ends: type[BaseEvent], mac: str | None = None
    ) -> Entry | None:
        """The last line of ``kind``, about the NIC with that ``mac`` if it is named; None if there
        is none, or if one of the ``ends`` came after it."""
        for entry in reversed(self._past):
            if isinstance(entry.event, (kind, *ends)) and mac in (None, mac_of(entry.event)):
                return entry if isinstance(entry.event, kind) else None
        return None

    def entries(self) -> tuple[Entry, ...]:
        """All lines, in order."""
        return tuple(self._past)

    def events_of(self, kind: type[E]) -> Iterator[E]:
        """Every event of that kind, in order."""
        return (one.event for one in self._past if isinstance(one.event, kind))


def begun_with(transaction: Transaction) -> Begin:
    """The line that starts a unit with that transaction."""
    return Begin(msgspec.Raw(msgspec.json.encode(transaction)))
