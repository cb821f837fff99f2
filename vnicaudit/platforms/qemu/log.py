"""libvirt's log of a domain (``/var/log/libvirt/qemu/NAME.log``): the last start of QEMU.

The format is that of libvirt 9.0 (one argument per line) and of the years before 2017 (all on one
line); both quote like a shell (``virCommandToString``).
"""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import NamedTuple

from vnicaudit.model.version import Version
from vnicaudit.platforms.qemu.arguments import Arguments, parse
from vnicaudit.platforms.qemu.words import shell_words

MAX_TAIL = 64 << 20
"""Maximum number of bytes at the end of a log that are searched for a start."""

_FIRST_WINDOW = 1 << 20
_MAX_COUNTED = 1 << 30
"""Maximum number of bytes whose lines are counted, which takes a second at most."""
_START = re.compile(
    r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+\d{4}: starting up[^\n]*\n?", re.MULTILINE
)
_START_BYTES = re.compile(rb"^\d{4}-\d\d-\d\d [\d:.+]{1,24}: starting up", re.MULTILINE)
_LINE = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+\d{4}: "
    r"(?:starting up|shutting down|initiating migration|Domain id=)"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (?:\S*/)?qemu"
)
_LIBVIRT = re.compile(r"libvirt version: ([\d.]+)")
_QEMU = re.compile(r"qemu version: ([\d.]+)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_STOP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+\d{4}: shutting down", re.MULTILINE)
_RAN = re.compile(_STOP.pattern + r", reason=(?!failed|unknown)\w", re.MULTILINE)
"""The end of a QEMU that had started (virDomainShutoffReasonTypeToString)."""
_WARNING = re.compile(r"^.{0,400}vhost-net.{0,400}$", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_MAX_WARNINGS = 20


class LoggedStart(NamedTuple):
    """The last start in a log. ``line`` is the line where its arguments begin, and ``text`` the
    arguments as written; ``stopped`` tells whether this QEMU has ended according to the log;
    ``ran``, whether it is known to have accepted its arguments; ``warnings`` are those about
    vhost-net, each with its line."""

    program: str
    arguments: Arguments
    line: int
    text: str
    qemu: Version | None
    libvirt: Version | None
    stopped: bool
    ran: bool
    warnings: tuple[tuple[int, str], ...]


def is_log(text: str) -> bool:
    """True if a text begins like a log of libvirt's QEMU: with a line from libvirt or QEMU, or, if
    it was rotated in the middle of a start, with an argument that is continued."""
    first = text.lstrip("\n").split("\n", 1)[0]
    if _LINE.match(first):
        return True
    return first.startswith("-") and first.endswith(" \\") and _started(text)


def last_start(text: str) -> LoggedStart | None:
    """The last start in the text; None if there is none (rotated away, or truncated)."""
    headers = list(_START.finditer(text))
    if not headers:
        return None
    header = headers[-1]
    begin = header.end()
    words, end, problem, *_marks = shell_words(text, begin)
    if problem is None and not text[end:].startswith("\n"):
        problem = "the log ends inside QEMU's arguments"
    place = 0
    while place < len(words) and _ASSIGNMENT.match(words[place]):
        place += 1
    program = words[place] if place < len(words) else ""
    arguments = parse(words[place + 1 :])
    if not program.rpartition("/")[2]:
        problem = problem or "the log ends before QEMU's arguments"
    rest = text[end:]
    return LoggedStart(
        program,
        arguments._replace(problem=problem or arguments.problem),
        text.count("\n", 0, begin) + 1,
        text[begin:end],
        _version(_QEMU, header.group()),
        _version(_LIBVIRT, header.group()),
        _STOP.search(rest) is not None,
        _RAN.search(rest) is not None,
        _warnings(text, end),
    )


def read_tail(descriptor: int, size: int) -> bytes:
    """The end of an open log file of ``size`` bytes, from before its last start on: a window that
    grows until it contains one, up to 64 MiB."""
    window = _FIRST_WINDOW
    while True:
        start = max(0, size - window)
        data = _file_part(descriptor, start, size - start)
        starts = [match.start() for match in _START_BYTES.finditer(data)]
        if starts:
            return data[starts[-1] :]
        if start == 0 or window >= MAX_TAIL:
            return data
        window *= 4


def lines_before(descriptor: int, offset: int) -> int | None:
    """Number of lines of an open file that end before ``offset``; None if that is too far to
    count."""
    if offset > _MAX_COUNTED:
        return None
    return sum(
        _file_part(descriptor, start, min(_FIRST_WINDOW, offset - start)).count(b"\n")
        for start in range(0, offset, _FIRST_WINDOW)
    )


def _file_part(descriptor: int, start: int, length: int) -> bytes:
    parts = []
    while length > 0 and (part := os.pread(descriptor, length, start)):
        parts.append(part)
        start += len(part)
        length -= len(part)
    return b"".join(parts)


def _started(text: str) -> bool:
    return any(_LINE.match(line) for line in text.split("\n", 2000))


def _version(pattern: re.Pattern[str], header: str) -> Version | None:
    match = pattern.search(header)
    try:
        return Version.parse(match[1]) if match else None
    except ValueError:
        return None


def _warnings(text: str, start: int) -> tuple[tuple[int, str], ...]:
    """Lines about vhost-net, without control characters, because they are shown in messages."""
    found = []
    line, counted = 1, 0
    for match in islice(_WARNING.finditer(text, start), _MAX_WARNINGS):
        line, counted = line + text.count("\n", counted, match.start()), match.start()
        found.append((line, _CONTROL.sub("", match.group())[:400]))
    return tuple(found)
