"""Destinations of reports: standard output, or files that appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TextIO

from vnicaudit.base.files import begin_file, drop_file, finish_file
from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.errors import ReaderGoneError, UsageError, VnicauditError

# Standard output, which may be closed or full, or have lost its reader.


def emit(text: str) -> None:
    """Write to standard output.

    Raises ReaderGoneError if nobody reads it any more, VnicauditError if it cannot be written.
    """
    try:
        stream().write(text)
    except OSError as error:
        raise write_error(error, "standard output") from None


def flush() -> None:
    """Flush standard output. Raises the errors of :func:`emit`."""
    try:
        stream().flush()
    except OSError as error:
        raise write_error(error, "standard output") from None


def discard() -> None:
    """Drop what standard output would not take, so that Python does not try again and complain at
    exit. Whatever can still be written is written."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def stream() -> TextIO:
    """Standard output. Raises UsageError if it is closed (``>&-``)."""
    if sys.stdout is None:
        raise UsageError("standard output is closed: there is nowhere to write")
    return sys.stdout


def write_error(error: OSError, name: str) -> VnicauditError:
    """The error to raise for a failed write to standard output."""
    if isinstance(error, BrokenPipeError):
        return ReaderGoneError(f"{name} was closed by its reader")
    return VnicauditError(f"{name} could not be written: {error.strerror}")


STDOUT = "-"


class ReportOutput:
    """A report being written to its destination.

    A regular file is written under a temporary name beside it and renamed when complete, so that a
    failed run leaves the old file as it was. A link is replaced, not followed. Devices, pipes and
    open files of this process (``/dev/stdout``) are written directly. ``private``: readable only by
    this user; ``readable``: by everybody, whatever the umask.
    """

    def __init__(self, place: str, *, private: bool = False, readable: bool = False) -> None:
        self._place = place
        self._private = private
        self._readable = readable
        self._name = "standard output" if place == STDOUT else place
        self._part: str | None = None
        self._kept = True
        self._file = self._opened()

    def write(self, text: str) -> None:
        """Write a piece. Raises VnicauditError if it cannot be written (full disk)."""
        if not text:
            return
        try:
            self._file.write(text)
        except OSError as error:
            raise write_error(error, self._name) from None

    def finish(self, pieces: Iterator[str]) -> None:
        """Write the end of the report."""
        for text in pieces:
            self.write(text)

    def abandon(self) -> None:
        """Discard what was written and leave the old file as it was."""
        self._kept = False

    def __enter__(self) -> ReportOutput:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._place == STDOUT:
                self._file.flush()
            elif self._part is None:
                self._file.close()
            elif kind is None and self._kept:
                finish_file(self._file, self._part, self._place)
                self._part = None
        except OSError as failure:
            if kind is None:
                raise write_error(failure, self._name) from None
        finally:
            if self._part is not None:
                drop_file(self._part)
                with contextlib.suppress(OSError):
                    self._file.close()

    def _opened(self) -> TextIO:
        if self._place == STDOUT:
            return stream()

        try:
            descriptor, self._part = begin_file(
                self._place, private=self._private, readable=self._readable
            )
            return open(descriptor, "w", encoding="utf-8", newline="")
        except OSError as error:
            raise UsageError(f"{self._place}: {error.strerror}") from None


READ_BY_OTHERS = frozenset({"prometheus"})
"""Formats read by a program of another user: node_exporter seldom runs as root."""
_BY_SUFFIX = {"xml": "junit", "md": "markdown", "txt": "text", "prom": "prometheus", "htm": "html"}
_OF_OTHERS = frozenset(
    {
        "csv", "html", "json", "jsonl", "junit", "markdown", "ods", "parquet", "pdf", "prometheus",
        "sarif", "text", "xls", "xlsx", "yaml", "yml",
    }
)  # fmt: skip
"""Suffixes of formats that another command or program writes: a text report in such a file would
look broken."""
_COMPRESSED = frozenset({".bz2", ".gz", ".xz", ".zip", ".zst"})


def formats_of(
    formats: tuple[str, ...], outputs: tuple[str, ...], known: tuple[str, ...]
) -> tuple[str, ...]:
    """The requested formats, and one for each further output whose suffix tells its format. A
    single output without such a suffix is text. ``known``: the available formats.

    Raises UsageError for the suffix of a format that is not available, or of a compressed file.
    """
    for place in outputs:
        check_not_compressed(place)
    further = [format_of(place, known) for place in outputs[len(formats) :]]
    if not formats and further == [""]:
        return ("text",)
    return formats if "" in further else (*formats, *further)


def check_not_compressed(place: str) -> None:
    """Raises UsageError for the suffix of a compressed file, which is never written."""
    name, suffix = os.path.splitext(place)
    if suffix.lower() in _COMPRESSED:
        raise UsageError(
            f"{place}: vnicaudit writes no compressed files: write {name}, then compress it"
        )


def format_of(place: str, known: tuple[str, ...]) -> str:
    """The format of a suffix; empty: the suffix has no format. Raises UsageError for the suffix of
    a format that is not available."""
    if is_of_another_format(place, known):
        raise which_format(place, known)
    name = _format_name(place)
    return name if name in known else ""


def is_of_another_format(place: str, known: tuple[str, ...]) -> bool:
    """True if the suffix stands for a format that is not available here."""
    name = _format_name(place)
    return name in _OF_OTHERS and name not in known


def _format_name(place: str) -> str:
    """The format that the suffix stands for, or the suffix itself; empty: there is none."""
    _name, dot, suffix = os.path.basename(place).lower().rpartition(".")
    return _BY_SUFFIX.get(suffix, suffix) if dot else ""


def which_format(place: str, known: tuple[str, ...]) -> UsageError:
    """The error for a report whose file name does not show its format."""
    return UsageError(
        f"{place}: the file name does not tell the format: add --format ({', '.join(known)})"
    )


def _is_device(path: str) -> bool:
    """True for a character device such as ``/dev/null`` or a terminal."""
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def check_different(places: list[str]) -> None:
    """Raises UsageError if two reports would be written to the same file, however its path is
    written."""
    seen: dict[str, str] = {}
    for place in places:
        key = STDOUT if place == STDOUT else os.path.realpath(place)
        if key in seen and not _is_device(key):
            name = "standard output" if place == STDOUT else place
            raise UsageError(f"two reports would be written to {name}: give each its own file")
        seen[key] = place


# Files that others review.


def write_files(texts: Mapping[str, str], folder: str) -> None:
    """Write texts to their places in a folder, which is made. Nothing is written if a file there
    has another text: somebody may have edited it, or uses it."""
    for place, text in texts.items():
        if _has_other(place, text):
            raise has_another(place, folder)
    for place, text in texts.items():
        with as_usage_error(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            if not os.path.lexists(place):  # else it has the text
                with open(place, "x", encoding="utf-8", errors="backslashreplace") as stream:
                    stream.write(text)


def has_another(place: str, folder: str) -> UsageError:
    """Two texts are for one place."""
    return UsageError(
        f"{place} has another text, so nothing was written to {folder}: compare them in another "
        "folder, or remove it"
    )


def _has_other(place: str, text: str) -> bool:
    """True if something is there that is not a file of that text."""
    with as_usage_error(place):
        if not os.path.lexists(place):
            return False
        data = text.encode("utf-8", "backslashreplace")
        return read_regular(place, len(data) + 1) != data
