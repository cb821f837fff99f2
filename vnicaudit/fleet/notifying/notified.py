"""Which channel was told of which finding on which day: so that none is told twice.

A claim comes before the message. One that certainly nobody got is taken back; one whose fate is
unknown stays, so that a finding is told at most once a day.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from vnicaudit.base.private_files import check_own, make_private, writing
from vnicaudit.model.decoding import json_decoder

_DAYS = 7
"""Files of days that are kept."""
_MAX_BYTES = 256 * 1024 * 1024


class NotifiedStore(Protocol):
    """Remembers claims, for all processes that share it."""

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """Those of the fingerprints that nobody claimed for that channel and day (``2026-11-26``);
        they are claimed now, on disk when this returns."""

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """Take claims back: the message was certainly not received."""


class _Line(msgspec.Struct, frozen=True, omit_defaults=True):
    channel: str
    findings: tuple[str, ...]
    released: bool = False


class NotifiedFiles:
    """A file of lines for each day in ``notified/`` of the state directory."""

    def __init__(self, state: Path) -> None:
        """Raises UsageError where somebody else may write there."""
        check_own(state, link=True)
        self._folder = state / "notified"

    def claim(self, channel: str, day: str, findings: Collection[str]) -> frozenset[str]:
        """As of :class:`NotifiedStore`. Raises JournalError where it cannot be noted."""
        with self._open(day) as file:
            fresh = frozenset(findings) - _claimed(file, channel)
            if fresh:
                _append(file, _Line(channel, tuple(sorted(fresh))))
        return fresh

    def release(self, channel: str, day: str, findings: Collection[str]) -> None:
        """As of :class:`NotifiedStore`."""
        if findings:
            with self._open(day) as file:
                _append(file, _Line(channel, tuple(sorted(findings)), released=True))

    @contextmanager
    def _open(self, day: str) -> Iterator[int]:
        path = self._folder / f"{day}.jsonl"
        with writing(path):
            make_private(self._folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            is_new = not path.exists()
            file = os.open(path, flags, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if is_new:
                    self._forget(path)
                yield file
            finally:
                os.close(file)

    def _forget(self, newest: Path) -> None:
        """Remove days long past."""
        for path in sorted(self._folder.glob("*.jsonl"))[:-_DAYS]:
            if path != newest:
                with suppress(OSError):
                    path.unlink()


def _claimed(file: int, channel: str) -> set[str]:
    """Claims of a channel that hold. A line that was cut short, by a crash, counts for nothing: its
    message had not been sent."""
    found: set[str] = set()
    decoder = json_decoder(_Line)
    for text in os.pread(file, _MAX_BYTES, 0).splitlines():
        try:
            line = decoder.decode(text)
        except msgspec.DecodeError:
            continue
        if line.channel == channel:
            found = found.difference(line.findings) if line.released else found.union(line.findings)
    return found


def _append(file: int, line: _Line) -> None:
    data = b"\n" + msgspec.json.encode(line) + b"\n"
    while data:
        data = data[os.write(file, data) :]
    os.fsync(file)
