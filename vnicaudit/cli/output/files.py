"""Where reports go: standard output, or files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from types import TracebackType
from typing import TextIO

from vnicaudit.base.new_file import begin_file
from vnicaudit.cli.output.stdout import stream, write_error
from vnicaudit.errors import UsageError

STDOUT = "-"


class ReportOutput:
    """One report on its way to its place.

    A regular file is written beside its place and moved there when the report is whole: a run
    that fails leaves the old file as it was; a link there is replaced, not followed. Devices and
    pipes are written to as they are. ``private``: for nobody else to read; ``readable``: for
    everybody, whatever the umask is.
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
        """Write a piece. Raises VnicauditError when it cannot be written (a full disk)."""
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
        """Leave the old file as it was, whatever has been written."""
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
            self._file.flush()
            if self._place != STDOUT:
                self._file.close()
            if self._part is not None and kind is None and self._kept:
                os.replace(self._part, self._place)
                self._part = None
        except OSError as failure:
            if kind is None:
                raise write_error(failure, self._name) from None
        finally:
            if self._part is not None:
                with contextlib.suppress(OSError):
                    os.unlink(self._part)

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
"""Formats for a program of another user: node_exporter, which is seldom root."""
_BY_SUFFIX = {"xml": "junit", "md": "markdown", "txt": "text", "prom": "prometheus", "htm": "html"}
_OF_OTHERS = frozenset(
    {
        "csv", "html", "json", "jsonl", "junit", "markdown", "ods", "parquet", "pdf", "prometheus",
        "sarif", "text", "xls", "xlsx", "yaml", "yml",
    }
)  # fmt: skip
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
    if is_of_another_format(place, known):
        raise which_format(place, known)
    name = _format_name(place)
    return name if name in known else ""


def is_of_another_format(place: str, known: tuple[str, ...]) -> bool:
    """True where the suffix stands for a format that is not known here."""
    name = _format_name(place)
    return name in _OF_OTHERS and name not in known


def _format_name(place: str) -> str:
    """The suffix, as the format is called that it stands for; empty: there is none."""
    _name, dot, suffix = os.path.basename(place).lower().rpartition(".")
    return _BY_SUFFIX.get(suffix, suffix) if dot else ""


def which_format(place: str, known: tuple[str, ...]) -> UsageError:
    """The error of a report whose format the name of its file does not tell."""
    return UsageError(
        f"{place}: the file name does not tell the format: add --format ({', '.join(known)})"
    )


def _is_device(path: str) -> bool:
    """True for a device that takes whatever is written to it: ``/dev/null``, a terminal."""
    try:
        return stat.S_ISCHR(os.stat(path).st_mode)
    except OSError:
        return False


def check_different(places: list[str]) -> None:
    """Raises UsageError where two reports would be written to one place, however it is spelled."""
    seen: dict[str, str] = {}
    for place in places:
        key = STDOUT if place == STDOUT else os.path.realpath(place)
        if key in seen and not _is_device(key):
            name = "standard output" if place == STDOUT else place
            raise UsageError(f"two reports would be written to {name}: give each its own file")
        seen[key] = place
