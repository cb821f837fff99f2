"""Runs with generator pods, as this machine remembers them: ``STATE/bench/pods/RUN.json``.

A record is written before anything is created, and removed when everything was. Its process holds a
lock on it, which the kernel gives back when the process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from vnicaudit.base.deadlines import timestamp
from vnicaudit.base.files import check_own, make_private, open_lock, own_lock
from vnicaudit.errors import UsageError
from vnicaudit.model.decoding import json_as

_MOST = 64 << 10


class PodsRecord(msgspec.Struct, frozen=True):
    """A run. ``server``: the URL of its API server, to which ``target`` may not lead later."""

    run: str
    target: str
    server: str


class KnownRuns(NamedTuple):
    """The runs of this state folder: those whose process lives, and the others."""

    alive: tuple[str, ...]
    dead: tuple[PodsRecord, ...]


@contextmanager
def recorded(state: Path, record: PodsRecord) -> Iterator[None]:
    """Keep the record of a run, until :func:`forget`. Raises UsageError."""
    folder = _folder(state)
    part, path = (folder / f"{record.run}.{suffix}" for suffix in ("part", "json"))
    with ExitStack() as held:
        try:
            make_private(folder.parent)
            make_private(folder)
            descriptor = open_lock(part)
            held.enter_context(own_lock(descriptor, "", lambda _: UsageError(f"{path}: is held")))
            os.write(descriptor, msgspec.json.encode(record))
            os.fsync(descriptor)
            part.rename(path)  # whoever sees it finds it whole, and locked
        except OSError as error:
            raise UsageError(
                f"runs cannot be recorded in {folder}: {error.strerror}; choose another folder "
                "with --state"
            ) from None
        yield


def known_runs(state: Path) -> KnownRuns:
    """The runs that are recorded. Raises UsageError for a record that cannot be read."""
    alive, dead = [], []
    for path in sorted(_folder(state).glob("*.json")):
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:  # that run has just ended well
            continue
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            dead.append(json_as(os.pread(descriptor, _MOST, 0), PodsRecord))
        except BlockingIOError:
            alive.append(path.stem)
        except (msgspec.MsgspecError, UnicodeError):
            raise UsageError(f"{path}: not the record of a run; remove it") from None
        finally:
            os.close(descriptor)
    return KnownRuns(tuple(alive), tuple(dead))


def forget(state: Path, run: str) -> None:
    """Remove the record of a run that has left nothing."""
    (_folder(state) / f"{run}.json").unlink(missing_ok=True)


def this_process() -> str:
    """Who runs this, for others who find its pods."""
    name = str(os.geteuid())
    with suppress(KeyError):
        name = pwd.getpwuid(os.geteuid()).pw_name
    return f"{name}@{socket.gethostname()}, process {os.getpid()}, since {timestamp('seconds')}"


def _folder(state: Path) -> Path:
    check_own(state, link=True)
    check_own(state / "bench")
    return state / "bench" / "pods"
