"""The history of stored measurements.

``STATE/bench/ID/``: ``head.json`` (everything but the samples), ``samples.jsonl`` (a line per run,
with all output of the tools; on disk before the next run starts). Tool output may name hosts and
users: the folders are 0700, the files 0600.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.files import check_own, make_private, sync_folder, write_private, writing
from vnicaudit.base.wording import TIME_ID, time_id
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.measurement import BenchResult, Sample
from vnicaudit.text.targets import command

T = TypeVar("T")

_HEAD = "head.json"
_SAMPLES = "samples.jsonl"
_LINE_MAX = 256 * 1024 * 1024
_BLOCK = 4096


class StoredMeasurement:
    """One measurement on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def id(self) -> str:
        """The name of the measurement in the history."""
        return self.folder.name

    @property
    def shown_by(self) -> str:
        """The command that shows the measurement."""
        return command(f"bench show {self.id}", self.folder.parent.parent)

    def write_head(self, result: BenchResult) -> None:
        """Store everything but the samples."""
        head = msgspec.json.encode(replace(result, samples=()))
        write_private(self.folder / _HEAD, msgspec.json.format(head, indent=1))

    def add(self, sample: Sample) -> None:
        """Store one more sample; on disk when this returns. Half a line that an interrupted process
        left is removed first. Raises JournalError."""
        path = self.folder / _SAMPLES
        with writing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with open(descriptor, "r+b") as stream:
                end = _end_of_lines(descriptor)
                stream.truncate(end)
                stream.seek(end)
                stream.write(msgspec.json.encode(sample) + b"\n")
                stream.flush()
                os.fsync(descriptor)

    def write_note(self, name: str, note: dict[str, str]) -> None:
        """Store a caller's own note beside the measurement."""
        write_private(self.folder / f"{name}.json", json.dumps(note).encode())

    def note(self, name: str) -> dict[str, str]:
        """The note of that name; empty if none was written. Raises UsageError."""
        try:
            return _decoded(self.folder / f"{name}.json", dict[str, str], "note")
        except FileNotFoundError:
            return {}

    def head(self) -> BenchResult:
        """Everything but the samples. Raises UsageError if it cannot be read."""
        path = self.folder / _HEAD
        try:
            return _decoded(path, BenchResult, "measurement")
        except FileNotFoundError as error:
            raise UsageError(f"{path}: {error.strerror}") from None

    def samples(self) -> Iterator[Sample]:
        """The samples, in order, one at a time; half a line at the end was never completed."""
        path = self.folder / _SAMPLES
        try:
            with path.open("rb") as stream:
                for number, line in enumerate(iter(lambda: stream.readline(_LINE_MAX), b""), 1):
                    if not line.endswith(b"\n") and len(line) < _LINE_MAX:
                        return
                    yield _sample(line, f"{path}:{number}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None

    def result(self) -> BenchResult:
        """Everything."""
        return replace(self.head(), samples=tuple(self.samples()))


def _decoded(path: Path, kind: type[T], what: str) -> T:
    """A file's record. Raises FileNotFoundError, and UsageError if it cannot be read."""
    try:
        return json_as(path.read_bytes(), kind)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: not a {what}: {error}") from None


def without_output(sample: Sample) -> Sample:
    """The sample without the output of the tools."""
    return replace(sample, raw=())


def new_measurement(state: Path) -> StoredMeasurement:
    """A new, empty measurement; its id is the time. Raises UsageError if it cannot be created."""
    folder = state / "bench"
    _check_own(state)
    with _kept_in(folder):
        make_private(folder)
        while True:
            place = folder / time_id(datetime.now(timezone.utc))
            try:
                place.mkdir(mode=0o700)
            except FileExistsError:  # another measurement started at the same moment
                continue
            sync_folder(folder)
            return StoredMeasurement(place)


def _check_own(state: Path) -> None:
    check_own(state, link=True)
    check_own(state / "bench")


def measurement_ids(state: Path) -> list[str]:
    """Ids of all stored measurements, oldest first. A folder without a head is from a measurement
    that never started. Raises UsageError."""
    folder = state / "bench"
    _check_own(state)
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}") from None
    return sorted(name for name in names if TIME_ID.fullmatch(name) and _began(folder / name))


def stored_measurement(state: Path, run_id: str) -> StoredMeasurement:
    """Return the stored measurement of that id. Raises UsageError if there is none."""
    if run_id not in measurement_ids(state):
        raise UsageError(
            f"there is no measurement {run_id[:60]!r} in {state / 'bench'}; "
            f"`{command('bench show', state)}` lists them"
        )
    return StoredMeasurement(state / "bench" / run_id)


def _began(folder: Path) -> bool:
    """True if there is a head; one that cannot be examined is reported as unreadable later."""
    try:
        os.stat(folder / _HEAD)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


@contextmanager
def _kept_in(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"measurements cannot be stored in {folder}: {error.strerror}; choose another folder "
            "with --state"
        ) from None


def _end_of_lines(descriptor: int) -> int:
    """End of the last complete line of a file."""
    end = os.fstat(descriptor).st_size
    while end:
        begin = max(0, end - _BLOCK)
        last = os.pread(descriptor, end - begin, begin).rfind(b"\n")
        if last >= 0:
            return begin + last + 1
        end = begin
    return 0


def _sample(line: bytes, place: str) -> Sample:
    try:
        return json_as(line, Sample)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UsageError(f"{place}: not a sample; was the file edited?") from None
