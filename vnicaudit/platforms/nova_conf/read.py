"""Read nova.conf into :class:`~vnicaudit.model.nova.NovaConfig`, like Nova reads it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.options import (
    is_asked_for,
    options_named,
    section_of_misplaced,
)
from vnicaudit.knowledge.nova_conf.resolve import as_of, is_placeholder
from vnicaudit.model.finding import AcceptingComment
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.platforms.nova_conf.recognise import UTF_16
from vnicaudit.text.comment_walk import accepting_comments
from vnicaudit.text.template_walk import TemplateLine, is_template, plain

# Sections and assignments of nova.conf, line by line, as read by ``oslo_config.iniparser``.
#
# That module is a tenth of a package with twelve dependencies; the tests compare the results.


_QUOTES = ('"', "'")


class IniError(Exception):
    """A line with which Nova would not start. The line is not kept, because it may contain a
    password."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.message = message
        self.number = number


class Assignment(msgspec.Struct, frozen=True):
    """An option, and its value: one text per line."""

    key: str
    values: list[str]


def statements(lines: Iterable[str]) -> Iterator[str | Assignment]:
    """The name of each section that begins, and each assignment, once the line behind it was taken
    from ``lines``. Raises IniError."""
    pending: Assignment | None = None
    for number, line in enumerate(lines, 1):
        line = line.rstrip()
        if line.startswith((" ", "\t")):
            if pending is None:
                raise IniError("Unexpected continuation line", number)
            pending.values.append(line.lstrip())
            continue
        if pending is not None:
            yield pending
            pending = None
        if line.startswith("["):
            yield _section(line, number)
        elif line and not line.startswith(("#", ";")):
            pending = _assignment(line, number)
    if pending is not None:
        yield pending


def _section(line: str, number: int) -> str:
    if not line.endswith("]"):
        raise IniError("Invalid section (must end with ])", number)
    if len(line) <= len("[]"):
        raise IniError("Empty section name", number)
    return line[1:-1]


def _assignment(line: str, number: int) -> Assignment:
    """The text before the first colon or equals sign, and the text behind it without its quotes."""
    places = [at for at in (line.find(":"), line.find("=")) if at >= 0]
    if not places:
        raise IniError("No ':' or '=' found in assignment", number)
    key, value = line[: min(places)].strip(), line[min(places) + 1 :].strip()
    if not key:
        raise IniError("Key cannot be empty", number)
    if value.startswith(_QUOTES) and value[0] == value[-1]:
        value = value[1:-1]
    return Assignment(key, [value])


MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused; Nova's complete sample configuration has about half a megabyte."""

_CREDENTIAL = ("passw", "secret", "token", "transport_url", "connection", "credential")
"""Parts of the names of options that may hold a credential: these are not kept, so that they cannot
leak."""


def read_bytes(data: bytes, *, target: str, file: str | None) -> NovaConfig:
    """One file. Raises TargetError, with file and line, if Nova would refuse it; in a template,
    lines that cannot be parsed are skipped."""
    name = file or target
    parsed = parsed_text(text_of(data, name), name)
    return as_of(
        NovaConfig(
            target,
            name,
            parsed.options,
            (name,),
            complete=not parsed.open_ended,
            compute=parsed.compute and is_service_file(name),
            rest_checksum=parsed.rest_checksum,
            comments=parsed.comments,
        )
    )


def is_service_file(file: str) -> bool:
    """True for a file name that services read, ``*.conf``."""
    return os.path.basename(file).endswith(".conf")


def text_of(data: bytes, file: str) -> str:
    """The file as text. Raises TargetError if it is too large."""
    if len(data) > MAX_BYTES:
        raise TargetError(f"larger than {MAX_BYTES >> 20} MiB: not read", file=file)
    if data.startswith(UTF_16):
        raise TargetError(
            "UTF-16: Nova does not read it either; save it as UTF-8", file=file, line=1
        )
    if data.startswith(BOM_UTF8):  # part of the first line: oslo.config 10.7
        raise TargetError(
            "begins with a byte order mark: Nova would not start with it; save it as UTF-8 "
            "without one",
            file=file,
            line=1,
        )
    # oslo.config opens it as text, where a lone carriage return ends a line
    return data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


class Parsed(msgspec.Struct, frozen=True):
    """One parsed file. ``open_ended``: it may have further options that are not seen (a template).
    ``compute``: it has options of a compute node. ``rest_checksum`` is a checksum of the options
    that are not kept."""

    options: tuple[NovaOption, ...]
    open_ended: bool = False
    compute: bool = False
    rest_checksum: int = 0
    comments: tuple[AcceptingComment, ...] = ()


IsKept = Callable[[str, str], bool]
"""Whether to keep an option, by its section (``""``: unknown) and name."""


def parsed_text(text: str, file: str, is_kept: IsKept = is_asked_for) -> Parsed:
    """The options of one file as written. Raises TargetError, with file and line, if Nova would
    refuse the file."""
    written = text.split("\n")
    if is_template(text):
        lines, open_ended = plain(text)
    else:
        lines, open_ended = [TemplateLine(line, True, False) for line in written], False
    parser = _OptionParser(lines, written, file, is_kept, certain=not open_ended)
    shown = "\n".join(line.text for line in lines)  # without comments of the template language
    comments = tuple(AcceptingComment(file, *one) for one in accepting_comments(shown, "ini"))
    return Parsed(parser.options(), open_ended, parser.compute, parser.rest, comments)


class _OptionParser:
    """Converts the statements of a file to options, and records where each assignment begins."""

    def __init__(
        self,
        lines: list[TemplateLine],
        written: list[str],
        file: str,
        is_kept: IsKept,
        *,
        certain: bool,
    ) -> None:
        self.compute = False
        self.rest = 0
        self._is_kept = is_kept
        self._lines = lines
        self._written = written
        self._file = file
        self._certain = certain
        self._section: str | None = None
        self._starts: deque[tuple[int, str | None]] = deque()
        self._options: list[NovaOption] = []

    def options(self) -> tuple[NovaOption, ...]:
        """Parse. Raises TargetError."""
        try:
            for statement in statements(self._numbered()):
                if isinstance(statement, str):
                    self._begin_section(statement)
                else:
                    self._assign(statement.key, statement.values)
        except IniError as error:
            raise TargetError(
                f"{error.message}: Nova would not start with it",
                file=self._file,
                line=error.number,
            ) from None
        return tuple(self._options)

    def _numbered(self) -> Iterator[str]:
        for number, line in enumerate(self._lines, 1):
            if line.section_lost:
                self._section = ""
            if line.text.strip() and line.text[0] not in "#;[ \t":
                # recorded here, because the parser reports an assignment only when the next one
                # begins
                self._starts.append((number, self._section))
            yield line.text

    def _begin_section(self, section: str) -> None:
        """Sections are compared in lower case, except DEFAULT (oslo.config)."""
        self._section = section if section == "DEFAULT" else section.lower()

    def _assign(self, key: str, value: list[str]) -> None:
        """Add one option; a value on several lines is joined like in oslo.config."""
        number, section = self._starts.popleft()
        if section is None:
            raise IniError("Section must be started before assignment", number)
        if key.endswith("_key") or any(part in key for part in _CREDENTIAL):
            return
        self.compute = self.compute or section == "libvirt" or key == "compute_driver"
        if not self._is_kept(section, key):
            self.rest = hash((self.rest, section, key, *value))
            return
        line = self._lines[number - 1]
        column, value_column = _columns(self._written[number - 1], key)
        present = section != "" and line.certain
        text = "\n".join(value)
        self._options.append(
            NovaOption(
                section,
                key,
                text,
                self._file,
                number,
                self._certain and present and not is_placeholder(text),
                column,
                value_column,
                present and not line.adrift,
                suggestions=tuple("/".join(each) for each in options_named(section, key))
                if section
                else (),
                right_section=section_of_misplaced(section, key),
            )
        )


def _columns(line: str, key: str) -> tuple[int | None, int | None]:
    """Where a name and its value begin in a line, 1-based; for a quoted value, behind the quote.
    None for a name that a template splits, and for a value that begins on another line."""
    start = line.find(key)
    if start < 0:
        return None, None
    rest = line[start + len(key) :]
    value = rest.lstrip()[1:].strip()
    if not value:
        return start + 1, None
    quoted = len(value) > 1 and value[0] == value[-1] and value.startswith(_QUOTES)
    return start + 1, line.rindex(value) + 1 + quoted
