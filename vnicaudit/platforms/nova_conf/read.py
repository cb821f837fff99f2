"""Read nova.conf into :class:`~vnicaudit.model.nova.NovaConfig`, like Nova reads it."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import TargetError
from vnicaudit.knowledge.nova_conf.options import is_asked_for, options_named, section_of_misplaced
from vnicaudit.knowledge.nova_conf.resolve import as_of, is_placeholder
from vnicaudit.model.finding import AcceptingComment, Location
from vnicaudit.model.nova import NovaConfig, NovaOption
from vnicaudit.platforms.nova_conf.recognise import UTF_16, is_read_by_nova
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


Statement = tuple[int, str, list[str] | None]
"""The line where a section begins, its name and None; or where an option is set, its name and its
value: one text per line."""


def statements(lines: Iterable[str]) -> Iterator[Statement]:
    """Each section, and each assignment once the line behind it was taken from ``lines``. Raises
    IniError."""
    pending: tuple[int, str, list[str]] | None = None
    for number, line in enumerate(lines, 1):
        line = line.rstrip()
        if line.startswith((" ", "\t")):
            if pending is None:
                raise IniError("Unexpected continuation line", number)
            pending[2].append(line.lstrip())
            continue
        if pending is not None:
            yield pending
            pending = None
        if line.startswith("["):
            yield number, _section(line, number), None
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


def _assignment(line: str, number: int) -> tuple[int, str, list[str]]:
    """The text before the first colon or equals sign, and the text behind it without its quotes."""
    places = [at for at in (line.find(":"), line.find("=")) if at >= 0]
    if not places:
        raise IniError("No ':' or '=' found in assignment", number)
    key, value = line[: min(places)].strip(), line[min(places) + 1 :].strip()
    if not key:
        raise IniError("Key cannot be empty", number)
    if value.startswith(_QUOTES) and value[0] == value[-1]:
        value = value[1:-1]
    return number, key, [value]


MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused; Nova's complete sample configuration has about half a megabyte."""

_CREDENTIAL = ("passw", "secret", "token", "transport_url", "connection", "credential")
"""Parts of the names of options that may hold a credential: these are not kept, so that they cannot
leak."""


def read_bytes(data: bytes, *, target: str, file: str | None) -> NovaConfig:
    """One file. Raises TargetError, with file and line, if Nova would refuse it; in a template,
    lines that cannot be parsed are skipped."""
    name = file or target
    parsed = parsed_bytes(data, name)
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
    """The file as text. Raises TargetError if it is too large, or if Nova could not read it."""
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
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if is_read_by_nova(file, data):
            line = data.count(b"\n", 0, error.start) + 1
            why = "not UTF-8: Nova on Python 3 would not start with it"
            raise TargetError(why, file=file, line=line) from None
        text = data.decode("utf-8", "replace")
    # oslo.config opens it as text, where a lone carriage return ends a line
    return text.replace("\r\n", "\n").replace("\r", "\n")


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


class Spot(NamedTuple):
    """Where an option is written, and how sure that is: see :class:`NovaOption`. ``called``: its
    name there, if it is not that of nova.conf."""

    line: int
    column: int | None = None
    value_column: int | None = None
    certain: bool = True
    present: bool = True
    called: str = ""


class OptionCollector:
    """The options of one file, whatever its form: those that are kept."""

    def __init__(self, file: str, is_kept: IsKept = is_asked_for) -> None:
        self.options: list[NovaOption] = []
        self.compute = False
        self.rest_checksum = 0
        self._file = file
        self._is_kept = is_kept

    def add(self, section: str, name: str, value: str, spot: Spot) -> None:
        """Add one assignment; ``section`` as :func:`section_name` returns it."""
        if name.endswith("_key") or any(part in name for part in _CREDENTIAL):
            return
        self.compute = self.compute or section == "libvirt" or name == "compute_driver"
        if not self._is_kept(section, name):
            self.rest_checksum = hash((self.rest_checksum, section, name, value))
            return
        self.options.append(
            NovaOption(
                section,
                name,
                value,
                self._file,
                spot.line,
                spot.certain and not is_placeholder(value),
                spot.column,
                spot.value_column,
                spot.present,
                suggestions=tuple("/".join(each) for each in options_named(section, name))
                if section
                else (),
                right_section=section_of_misplaced(section, name),
                called=spot.called,
            )
        )


def part_of_config(
    found: OptionCollector | Parsed,
    where: Location,
    home: str,
    comments: tuple[AcceptingComment, ...] = (),
) -> NovaConfig:
    """Options that ``home`` writes into some nova.conf: see :class:`NovaConfig`. ``where``: their
    place in its file. An option to which a value refers may be set elsewhere."""
    file = where.file or where.target
    options = tuple(
        replace(option, certain=False) if "$" in option.value else option
        for option in found.options
    )
    return as_of(
        NovaConfig(
            where.target,
            file,
            options,
            (file,),
            complete=False,
            rest_checksum=found.rest_checksum,
            comments=comments,
            home=home,
            part=where.xpath or "/",
        )
    )


def moved(
    option: NovaOption, lines: int = 0, indent: int | None = None, *, sure: bool = True,
    present: bool = True,
) -> NovaOption:  # fmt: skip
    """An option of a text that is a part of a file: so many lines further down. ``indent``: by how
    much its lines are indented there; None: they are not there as they are, or an edit of them
    would change other places, too. ``sure`` and ``present``: as far as the file decides."""
    columns = (option.column, option.value_column)
    column, value = (None if indent is None else at and at + indent for at in columns)
    return replace(
        option,
        line=option.line + lines,
        column=column,
        value_column=value,
        certain=option.certain and sure,
        present=option.present and present,
    )


def section_name(written: str) -> str:
    """A section as oslo.config compares it: in lower case, except DEFAULT."""
    return written if written == "DEFAULT" else written.lower()


def parsed_bytes(data: bytes, file: str) -> Parsed:
    """The options of one file as written. Raises TargetError, with file and line, if Nova would
    refuse the file."""
    return parsed_text(text_of(data, file), file)


def parsed_text(text: str, file: str, is_kept: IsKept = is_asked_for) -> Parsed:
    """As :func:`parsed_bytes`, of the text of a file."""
    written = text.split("\n")
    if is_template(text):
        lines, open_ended = plain(text)
    else:
        lines, open_ended = [TemplateLine(line, True, False) for line in written], False
    section: str | None = None
    lost = deque(number for number, line in enumerate(lines, 1) if line.section_lost)
    found = OptionCollector(file, is_kept)
    try:
        for number, name, value in statements(line.text for line in lines):
            while lost and lost[0] <= number:
                lost.popleft()
                section = ""
            if value is None:
                section = section_name(name)
                continue
            if section is None:
                raise IniError("Section must be started before assignment", number)
            line = lines[number - 1]
            present = section != "" and line.certain
            spot = Spot(
                number,
                *_columns(written[number - 1], name),
                not open_ended and present,
                present and not line.adrift,
            )
            # a value on several lines is joined like in oslo.config
            found.add(section, name, "\n".join(value), spot)
    except IniError as error:
        why = f"{error.message}: Nova would not start with it"
        raise TargetError(why, file=file, line=error.number) from None
    shown = "\n".join(line.text for line in lines)  # without comments of the template language
    comments = tuple(AcceptingComment(file, *one) for one in accepting_comments(shown, "ini"))
    return Parsed(tuple(found.options), open_ended, found.compute, found.rest_checksum, comments)


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
