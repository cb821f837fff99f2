"""Where runs are remembered, and who may work on a host.

``STATE/runs/ID/``: ``run.json`` (what was asked for), ``plan.json``, ``journal.jsonl`` and
``definitions/``: what each domain's definition was, and what it was to be. Definitions hold
passwords: folders are 0700 and files 0600. ``STATE/locks/``: one file per host that is worked on.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from vnicaudit.errors import RefusedError, UsageError

_SAFE = re.compile(r"[^A-Za-z0-9.-]")
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")


class StateFolder:
    """The folder of all runs. Made when the first run begins."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def ids(self) -> list[str]:
        """Ids of runs, oldest first."""
        try:
            names = os.listdir(self.path / "runs")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.path / 'runs'}: {error.strerror}") from None
        return sorted(name for name in names if _ID.fullmatch(name))

    def run(self, run_id: str) -> Path:
        """The folder of a run. Raises UsageError where there is none."""
        if run_id not in self.ids():
            raise UsageError(
                f"there is no run {run_id[:60]!r} in {self.path}; `vnicaudit runs` lists them"
            )
        return self.path / "runs" / run_id

    def new(self) -> Path:
        """An empty folder for a new run."""
        now = datetime.now(timezone.utc)
        name = f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        folder = self.path / "runs" / name
        try:
            make_private(folder / "definitions")
        except OSError as error:
            raise UsageError(
                f"runs cannot be remembered in {self.path}: {error.strerror}; choose another "
                "folder with --state"
            ) from None
        return folder

    @contextmanager
    def held(self, key: str, name: str) -> Iterator[None]:
        """Keep other runs away from a host. Raises RefusedError where one is at work there. The
        kernel lets go of the lock when this process ends, however it ends."""
        folder = self.path / "locks"
        make_private(folder)
        path = folder / f"{_SAFE.sub('_', key)[:100]}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RefusedError(
                    f"another run is at work on {name} (process {_holder(descriptor)}): wait for "
                    "it to end"
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode(), 0)
            yield
        finally:
            os.close(descriptor)


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode("ascii", "replace") or "unknown"


def make_private(folder: Path) -> None:
    """The folder and those above it that are missing, for nobody else to look into."""
    if folder.is_dir():
        return
    make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
    sync_folder(folder.parent)


def write_private(path: Path, data: bytes) -> None:
    """A new file for nobody else to read, on disk when this returns; whole or not there."""
    part = path.with_name(f"{path.name}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(descriptor)
    os.replace(part, path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Have the names in a folder on disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
