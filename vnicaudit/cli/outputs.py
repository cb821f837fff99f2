"""Where reports go: standard output, or files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from vnicaudit.audit.selection import BEING_WRITTEN
from vnicaudit.cli.stdout import failed, stream
from vnicaudit.errors import UsageError

STDOUT = "-"


class Output:
    """One report on its way to its place.

    A regular file is written beside its place and moved there when the report is whole: a run
    that fails leaves the old file as it was; a link there is replaced, not followed. Devices and
    pipes are written to as they are. ``private``: for nobody else to read.
    """

    def __init__(self, place: str, *, private: bool = False) -> None:
        self._place = place
        self._private = private
        self._name = "standard output" if place == STDOUT else place
        self._part: str | None = None
        self._kept = True
        self._file = self._opened()

    def write(self, text: str) -> None:
        """Write a piece. Raises VnicauditError when it cannot be written (a full disk)."""
        if not text:
            return
        try:
            self._file.write(text)
        except OSError as error:
            raise failed(error, self._name) from None

    def finish(self, pieces: Iterator[str]) -> None:
        """Write the end of the report."""
        for text in pieces:
            self.write(text)

    def abandon(self) -> None:
        """Leave the old file as it was, whatever has been written."""
        self._kept = False

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._file.flush()
            if self._place != STDOUT:
                self._file.close()
            if self._part is not None and kind is None and self._kept:
                os.replace(self._part, self._place)
                self._part = None
        except OSError as failure:
            if kind is None:
                raise failed(failure, self._name) from None
        finally:
            if self._part is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._part)

    def _opened(self) -> TextIO:
        if self._place == STDOUT:
            return stream()
        try:
            if os.path.exists(self._place) and not os.path.isfile(self._place):
                _check_link(self._place)
                return open(self._place, "w", encoding="utf-8", newline="")
            import tempfile  # not for a report on standard output

            descriptor, self._part = tempfile.mkstemp(
                prefix=BEING_WRITTEN, dir=os.path.dirname(self._place) or "."
            )
            os.fchmod(descriptor, 0o600 if self._private else _mode(self._place))
            return open(descriptor, "w", encoding="utf-8", newline="")
        except OSError as error:
            raise UsageError(f"{self._place}: {error.strerror}") from None


_BY_SUFFIX = {"xml": "junit", "md": "markdown", "txt": "text", "prom": "openmetrics"}
_OF_OTHERS = frozenset({"htm", "html", "yaml", "yml", "pdf", "xls", "xlsx", "ods", "jsonl"})
"""Suffixes of formats that there are elsewhere: text in such a file would be taken for broken."""


def formats_of(
    formats: tuple[str, ...], outputs: tuple[str, ...], known: tuple[str, ...]
) -> tuple[str, ...]:
    """The formats that are given, and one for each further output whose name has a suffix that
    tells; a single output of another name is text. ``known``: the formats that there are.

    Raises UsageError for a suffix of a format that there is not.
    """
    further = [format_of(place, known) for place in outputs[len(formats) :]]
    if not formats and further == [""]:
        return ("text",)
    return formats if "" in further else (*formats, *further)


def format_of(place: str, known: tuple[str, ...]) -> str:
    """The format that a suffix stands for; empty: it stands for none. Raises UsageError for a
    suffix of a format that there is not."""
    _name, dot, suffix = os.path.basename(place).lower().rpartition(".")
    suffix = _BY_SUFFIX.get(suffix, suffix) if dot else ""
    if suffix in known:
        return suffix
    if suffix in _OF_OTHERS:
        raise which_format(place, known)
    return ""


def which_format(place: str, known: tuple[str, ...]) -> UsageError:
    """It has to be given: the name of the file does not tell."""
    return UsageError(f"{place}: which format? Give --format ({', '.join(known)})")


def different(places: list[str]) -> None:
    """Raises UsageError where two reports would be written to one place, however it is spelled."""
    seen: dict[str, str] = {}
    for place in places:
        key = STDOUT if place == STDOUT else os.path.realpath(place)
        if key in seen and not key.startswith("/dev/"):
            name = "standard output" if place == STDOUT else place
            raise UsageError(f"two reports would be written to {name}: give each its own file")
        seen[key] = place


def _check_link(place: str) -> None:
    """Raises UsageError for a link to a device or pipe that somebody else put there."""
    status = os.lstat(place)
    if stat.S_ISLNK(status.st_mode) and status.st_uid not in (0, os.geteuid()):
        raise UsageError(f"{place}: a link of another user: remove it, or give another name")


def _mode(place: str) -> int:
    """Permissions of the file that is replaced, without those to write that the umask takes from
    others; of a new one, what the umask leaves."""
    mask = os.umask(0o077)
    os.umask(mask)
    try:
        status = os.lstat(place)
    except FileNotFoundError:
        return 0o666 & ~mask
    if not stat.S_ISREG(status.st_mode):
        return 0o666 & ~mask
    return status.st_mode & 0o777 & ~(mask & 0o022)
