"""What a unit works with, and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from vnicaudit.errors import KeptError
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.task import CloudTask
from vnicaudit.remedy.applying.journal import Journal, now
from vnicaudit.remedy.applying.lines import Entry, Line, decoded, encoded
from vnicaudit.remedy.applying.state import write_private
from vnicaudit.remedy.applying.task import Task, by_hand
from vnicaudit.remedy.cloud import MANAGE_SECONDS
from vnicaudit.remedy.digests import digest
from vnicaudit.remedy.guest.agent import GuestAgent
from vnicaudit.remedy.hypervisor import Hypervisor, Machine
from vnicaudit.remedy.trial import Trial

_POLL = 0.2


class Limits(msgspec.Struct, frozen=True):
    """``guest_deadline``: seconds a guest may take to shut down, and to come back.
    ``force_off``: one that does not shut down is powered off. ``manage_seconds``: how long a
    nova-manage may take, and may still be at work where its end was not seen."""

    guest_deadline: float = 300.0
    force_off: bool = False
    manage_seconds: float = MANAGE_SECONDS


class Result(NamedTuple):
    """How a unit ended."""

    outcome: Outcome
    message: str = ""
    checks: tuple[Check, ...] = ()
    downtime: float | None = None
    undone: bool = True
    """Of one that failed: all of it was undone."""
    waits: bool = False
    """It is in effect when the guest, which runs otherwise, is powered off and on."""


class Notes:
    """The journal of one unit: what was written in an earlier life too. ``journal`` None: of who
    only looks, and does nothing that would have to be noted."""

    def __init__(self, journal: Journal | None, key: str, past: Iterable[Entry] = ()) -> None:
        self._journal = journal
        self._key = key
        self._past = list(past)

    def write(self, event: str, **data: Any) -> None:
        """Say what is about to be done, or what was seen to be done; on disk when it returns."""
        if self._journal is None:
            raise AssertionError(event, data)
        self._past.append(self._journal.write(event, self._key, **data))

    def last(self, event: str) -> dict[str, Any] | None:
        """What was said with the last such line; None where there is none."""
        found = self.latest(event)
        return None if found is None else found.data

    def latest(self, *events: str, **said: Any) -> Entry | None:
        """The last line of one of these events that says that; None where there is none."""
        for entry in reversed(self._past):
            if entry.event in events and said.items() <= entry.data.items():
                return entry
        return None

    def entries(self) -> tuple[Entry, ...]:
        """All lines, in order."""
        return tuple(self._past)

    def all(self, event: str) -> Iterator[dict[str, Any]]:
        """What was said with every such line, in order."""
        return (entry.data for entry in self._past if entry.event == event)


class Unwritten(Notes):
    """Notes that are remembered, and not written: of what cannot wait until they can be."""

    def __init__(self, notes: Notes, key: str) -> None:
        super().__init__(None, key, notes.entries())

    def write(self, event: str, **data: Any) -> None:
        """Remember it."""
        self._past.append(Entry(now(), event, self._key, data))


class Definitions:
    """The definitions a unit may have, kept in the run's folder."""

    def __init__(self, folder: Path, key: str) -> None:
        self._folder = folder / "definitions"
        self._key = key

    def keep(self, kind: str, data: bytes) -> str:
        """Keep one; its digest. On disk when this returns."""
        write_private(self._path(kind), data)
        return digest(data)

    def get(self, kind: str, wanted: str | None, by_hand: str = "") -> bytes:
        """One that was kept; ``wanted`` is its digest, as the journal says it (None: it does
        not). Raises KeptError where there is none, or another; ``by_hand`` is what else can be
        done then."""
        path = self._path(kind)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise KeptError(
                f"{path} was kept and cannot be read ({error.strerror}): {_mend(by_hand)}"
            ) from None
        if wanted is not None and digest(data) != wanted:
            raise KeptError(
                f"{path} is not what was kept there (the journal has another digest of it: it was "
                f"edited, or is damaged): {_mend(by_hand)}"
            )
        return data

    def has(self, kind: str) -> bool:
        """Whether one was kept."""
        return self._path(kind).is_file()

    def keep_task(self, task: Task | CloudTask) -> None:
        """Keep what is about to be done beside the definitions, in the form of the journal's line:
        what is known of it then does not hang on the journal alone."""
        entry = Entry(now(), "begin", self._key, {"task": msgspec.to_builtins(task)})
        write_private(self._task_path, encoded(entry, 1))

    def begin(self) -> Line | None:
        """The line that was kept by :meth:`keep_task`; None where there is none."""
        try:
            return decoded(self._task_path.read_bytes().rstrip(b"\n"))
        except FileNotFoundError:
            return None
        except OSError as error:
            return Line(None, wrong=error.strerror or "it cannot be read")

    @property
    def _task_path(self) -> Path:
        return self._folder / f"{self._key}.task.json"

    def path(self, kind: str) -> Path:
        """Where one is kept."""
        return self._path(kind)

    def _path(self, kind: str) -> Path:
        return self._folder / f"{self._key}.{kind}.xml"


def _mend(by_hand: str) -> str:
    or_else = f", or change it by hand: {by_hand}" if by_hand else ""
    return f"put that file right from a backup of it and do this again{or_else}"


class Means(NamedTuple):
    """All that a unit on a live host works with."""

    host: Hypervisor
    machine: Machine
    task: Task
    notes: Notes
    definitions: Definitions
    limits: Limits
    tell: Callable[[str], None]
    trial: Trial | None = None
    """Measures whether it helps; None: nobody asked for that, or the guest is left alone."""

    def kept(self, kind: str) -> bytes:
        """A definition that was kept. Raises KeptError where it is not what it was."""
        return self.definitions.get(kind, self._digest(kind), by_hand(self.task))

    def _digest(self, kind: str) -> str | None:
        """What the journal says of it; None where an older version wrote that."""
        if kind in ("before", "goal"):
            return self.task.before if kind == "before" else self.task.goal
        event = "defined" if kind == "settled" else "kept"
        return (self.notes.last(event) or {}).get(kind)

    @property
    def agent(self) -> GuestAgent:
        """The guest, as its agent shows it."""
        return GuestAgent(self.machine)


def wait_until(fact: Callable[[], bool], seconds: float, poll: float = _POLL) -> bool:
    """Whether it became so before the time was up."""
    end = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > end:
            return False
        time.sleep(poll)
    return True
