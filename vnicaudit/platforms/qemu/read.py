"""Find the QEMU command lines in files and standard input."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.wording import MAC
from vnicaudit.errors import TargetError
from vnicaudit.model.domain import Marked
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.model.finding import LOG, Location
from vnicaudit.model.host import Version
from vnicaudit.model.nic import RunningNic, RunningQemu
from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.qemu.arguments import Arguments, parse
from vnicaudit.platforms.qemu.build import Built, build
from vnicaudit.platforms.qemu.commands import LOGGED, Command, commands, missed
from vnicaudit.platforms.qemu.pasted import as_typed, changed_character, decoded, is_run
from vnicaudit.platforms.qemu.proc import domain_of
from vnicaudit.platforms.qemu.words import shell_words
from vnicaudit.text.beginning import is_program, quotes_others

# libvirt's log of a domain (``/var/log/libvirt/qemu/NAME.log``): the last start of QEMU.
#
# The format is that of libvirt 9.0 (one argument per line) and of the years before 2017 (all on one
# line); both quote like a shell (``virCommandToString``).


MAX_TAIL = 64 << 20
"""Maximum number of bytes at the end of a log that are searched for a start."""
_FIRST_WINDOW = 1 << 20
_HEAD = 1 << 16
"""Number of bytes by which a log is recognised."""
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
_STARTED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+\d{4}: starting up")
_STOP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\+\d{4}: shutting down")
_RAN = re.compile(_STOP.pattern + r", reason=(?!failed|unknown)\w")
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
    continued = first.startswith("-") and first.endswith(" \\")
    return continued and any(_LINE.match(line) for line in text.split("\n", 2000))


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
    if (changed := changed_character(text, begin, end)) is not None:
        line = text.count("\n", 0, changed.position) + 1
        problem = f"line {line} has {changed.problem}: the paste changed it"
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
    """The end of an open log file of ``size`` bytes, from its last start on: a window that grows
    until it contains one, up to 64 MiB."""
    window = _FIRST_WINDOW
    while True:
        data = os.pread(descriptor, window, max(0, size - window))
        found, before = _from_last_start(data)
        if before or window >= min(size, MAX_TAIL):
            return found
        window *= 4


def _from_last_start(data: bytes) -> tuple[bytes, int]:
    """A log from its last start on, and the number of lines before it; all of it without one."""
    starts = [match.start() for match in _START_BYTES.finditer(data)]
    begin = starts[-1] if starts else 0
    return data[begin:], data.count(b"\n", 0, begin)


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


# The line of a text on which each NIC of a command line is defined.


_NIC_LINE = re.compile(r"(?<![\w-])-(?:device|nic|net)\b")
_ID = re.compile(r"(?:\"id\":\s?\"|(?<![\w-])id=)([\w.-]+)")


def nic_lines(text: str, first: int, nics: Iterable[RunningNic]) -> tuple[int, ...]:
    """The 1-based line of each NIC. ``text`` is the command line as written, which begins in line
    ``first`` of its file; a NIC that is not found in it gets that line.

    A NIC is found by its most specific value: the MAC address, then the id, then the kind of
    device, of which a line counts as often as the device occurs on it.
    """
    macs: dict[str, int] = {}
    ids: dict[str, int] = {}
    lines: list[tuple[int, str]] = []
    by_driver: dict[str, deque[int]] = {}
    for number, line in enumerate(text.split("\n"), first):
        if _NIC_LINE.search(line):
            lower = line.lower()
            lines.append((number, lower))
            for mac in MAC.findall(lower):
                macs.setdefault(mac, number)
            for name in _ID.findall(line):
                ids.setdefault(name, number)
    found = []
    for nic in nics:
        place = macs.get(nic.mac or "") or ids.get(nic.id or "")
        if place is None:
            driver = nic.driver.lower()
            if driver not in by_driver:
                by_driver[driver] = deque(
                    number for number, line in lines for _ in range(line.count(driver))
                )
            place = by_driver[driver].popleft() if by_driver[driver] else first
        found.append(place)
    return tuple(found)


_PS = re.compile(
    r"[ \t]*(?:(?!PID[ \t])[A-Z%+][A-Z%+-]*[ \t]+)*PID[ \t](?:.*[ \t])?(?:COMMAND|CMD|ARGS)[ \t]*$"
)
_NUL_PROGRAM = re.compile(rb"(?:[^\0\n]*/)?\.?(?:qemu-system-[\w.-]+|qemu-kvm|kvm)\0-")
_VIRT_LAUNCHER = re.compile(r'"component": ?"virt-launcher"')
_UNABLE = "Unable to open vhost-net"
"""libvirt's VIR_WARN in qemuInterfaceOpenVhostNet."""

_CUT_NAME = re.compile(r":\d\d[ \t]+(?:[\w/.-]{0,200}/)?(?:qemu-[a-z0-9_-]{0,40})[ \t]*\r?\Z")
"""The end of a line of ``ps``: QEMU's program or the beginning of its name, behind the CPU time."""
_MAX_COMMANDS = 100_000
_LAST = " -msg timestamp=on"
"""libvirt's last option (qemuBuildCommandLine)."""
_LAST_PAIR = ("msg", "timestamp=on")
_LOST_NICS = "no NIC is given, but these may not be all its arguments: not judged"
_WIDEST_TERMINAL = 512
"""Columns. ``ps`` on a terminal cuts its lines; a listing as wide as this was not cut."""


def looks_like(head: bytes) -> str | None:
    """``log``, ``ps`` or ``command`` if a file that begins with ``head`` (some kilobytes) holds
    QEMU command lines, otherwise None. Prose, XML or a nova.conf that names QEMU does not count."""
    if _NUL_PROGRAM.match(head):
        return "command"
    text = as_typed(decoded(head))
    if "\0" in text:
        return None
    if is_log(text):
        return "log"
    if _PS.match(text.lstrip("\n").split("\n", 1)[0]):
        return "ps"
    found = next(commands(text), None)
    if found is None:
        return None
    return "command" if found.pid is None else "ps"


def is_for_commands(head: bytes) -> bool:
    """True for a shell script, a unit or a batch file, and for a file that begins with a command
    line or ``ps`` output, ignoring comments; False for a page or another program that quotes
    one."""
    if _NUL_PROGRAM.match(head):
        return True
    text = as_typed(decoded(head))
    if LOGGED.search(text) or (is_program(text) and not quotes_others(head)):
        return True
    lines = enumerate(text.split("\n"), 1)
    first, line = next(((n, s) for n, s in lines if s.strip() and s.lstrip()[0] != "#"), (0, ""))
    if _PS.match(line):
        return True
    found = next(commands(text), None)
    return found is not None and found.line == first


def read_content(content: Content) -> Iterator[Item]:
    """The domains of a file's content, with notes on what may be others."""
    number = 0
    for qemu in read_parts(content.data, target=content.target, file=content.path):
        if isinstance(qemu, NotJudged):
            yield qemu
            continue
        number += 1
        mark = f"#{number}" if qemu.name is None else qemu.name
        yield (domain := replace(domain_of(qemu, content.target), known_by=Marked(mark)))
        yield from domain.unread


def read_text(data: bytes, *, target: str, file: str | None) -> Iterator[RunningQemu]:
    """Every QEMU in a log (its last start), in ``ps`` output, or pasted: :func:`read_parts` without
    the parts that are not judged."""
    parts = read_parts(data, target=target, file=file)
    yield from (part for part in parts if isinstance(part, RunningQemu))


def read_parts(data: bytes, *, target: str, file: str | None) -> Iterator[RunningQemu | NotJudged]:
    """Every QEMU in a log (its last start), in ``ps`` output, or pasted, and notes on possible
    others in a text or a list of a script.

    Raises TargetError, with file and line, after those that could be read: for the first command
    line that is not complete (the missing part may contain a NIC), with the number of such lines.
    """
    unread: Iterable[NotJudged] = ()
    cut: int | None = None
    if _NUL_PROGRAM.match(data):
        built = [_from_nul(data, Location(target, file, 1))]
    else:
        before = 0
        if is_log(data[:_HEAD].decode("utf-8", "replace")):
            data, before = _from_last_start(data)
        text = as_typed(decoded(data)).replace("\0", " ")
        if is_log(text):
            built = _from_log(text, target, file, before)
        else:
            found = list(islice(commands(text), _MAX_COMMANDS))
            built = _pasted(text, found, target, file)
            unread = missed(text, found, file or target)
            lines = enumerate(text.split("\n"), 1)
            # ps cut it within QEMU's name, or directly behind it
            cut = next((number for number, line in lines if _CUT_NAME.search(line)), None)
    yield from unread
    broken = []
    for item in built:
        if item.problem is None:
            yield item.qemu
        else:
            broken.append(item)
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise TargetError(
            f"QEMU command line not understood: {broken[0].problem}{more}",
            file=file or target,
            line=broken[0].qemu.location.line,
        )
    if cut is not None:
        raise TargetError("ps cut QEMU's arguments off (use ps -ww)", file=file or target, line=cut)


def unread_commands(data: bytes, path: str) -> Iterator[NotJudged]:
    """Notes on the QEMU commands of a program that has none to be read."""
    text = decoded(data)
    if is_run(text):
        yield from missed(text, [], path)


def _from_nul(data: bytes, location: Location) -> Built:
    """Read a copy of ``/proc/PID/cmdline``. Kernels before 4.2 cut it at 4096 bytes."""
    words = [word.decode("utf-8", "replace") for word in data.split(b"\0")]
    if words[-1] in ("", "\n"):
        words.pop()
    arguments = parse(words[1:])
    if len(data) == 4096 and not data.endswith(b"\0"):
        arguments = arguments._replace(problem="cut at 4096 bytes")
    return build(words[0], arguments, location, pid=None, whole=True)


def _from_log(text: str, target: str, file: str | None, before: int) -> list[Built]:
    start = last_start(text)
    if start is None:
        raise TargetError(
            "a libvirt log without a start of QEMU (rotated away?): its arguments are not there",
            file=file or target,
            line=1,
        )
    first = before + start.line
    place = Location(target, file, first)
    qemu, problem = build(
        start.program,
        start.arguments,
        place,
        pid=None,
        whole=True,
        runs=start.ran,
        logged=True,
    )
    found = (warning for warning in start.warnings if _UNABLE in warning[1])
    line, warning = next(found, (None, ""))
    warned = None if line is None else before + line
    where = nic_lines(start.text, first, qemu.nics)
    qemu = replace(qemu, nic_lines=where, warning_line=warned)
    if not (start.ran or start.stopped) and _may_have_lost_nics(qemu, start.arguments):
        qemu = replace(qemu, gaps=(_LOST_NICS,))  # the log may end too early
    versions = start.qemu, start.libvirt
    return [Built(_of_log(qemu, versions, warning, stopped=start.stopped), problem)]


def _of_log(
    qemu: RunningQemu,
    versions: tuple[Version | None, Version | None],
    warning: str,
    *,
    stopped: bool,
) -> RunningQemu:
    """The guest with what its log tells: QEMU's and libvirt's versions, and a warning of vhost."""
    return replace(
        qemu,
        qemu_version=versions[0],
        libvirt_version=versions[1],
        stopped=stopped,
        # only libvirt writes such logs
        owner="libvirt" if qemu.owner == "qemu" else qemu.owner,
        nics=tuple(replace(nic, log_warning=warning, evidence=LOG) for nic in qemu.nics),
    )


def _pasted(text: str, found: list[Command], target: str, file: str | None) -> list[Built]:
    cut = _cut_lines(text, found)
    lines = text.split("\n")
    in_pod = _VIRT_LAUNCHER.search(text) is not None
    ends = [*(command.line - 1 for command in found[1:]), len(lines)]
    built: list[Built] = []
    begin = 0
    for command, end in zip(found, ends, strict=False):
        headers = [line for line in lines[begin : command.line - 1] if _STARTED.search(line)]
        rest = "\n".join(lines[command.line : end]) if headers else ""
        begin = command.line
        arguments = command.arguments
        if command.line in cut:
            arguments = arguments._replace(problem=cut[command.line])
        item = build(
            command.program,
            arguments,
            Location(target, file, command.line),
            pid=command.pid,
            whole=command.complete,
            opened=command.opened,
            runs=command.listed or _RAN.search(rest) is not None,
            logged=bool(headers),
        )
        if headers:
            versions = _version(_QEMU, headers[-1]), _version(_LIBVIRT, headers[-1])
            warning = next((text for _line, text in _warnings(rest, 0) if _UNABLE in text), "")
            stopped = _STOP.search(rest) is not None
            item = item._replace(qemu=_of_log(item.qemu, versions, warning, stopped=stopped))
        if command.pasted and _may_have_lost_nics(item.qemu, arguments):
            item = item._replace(qemu=replace(item.qemu, gaps=(_LOST_NICS,)))
        if end > command.line:
            written = "\n".join(lines[command.line - 1 : end])
            where = nic_lines(written, command.line, item.qemu.nics)
            item = item._replace(qemu=replace(item.qemu, nic_lines=where))
        if in_pod:
            item = item._replace(qemu=replace(item.qemu, owner="kubevirt"))
        built.append(item)
    return built


def _may_have_lost_nics(qemu: RunningQemu, arguments: Arguments) -> bool:
    """True for a guest without NICs, unless it is said that it has none, or its command line ends
    like libvirt's."""
    found = qemu.nics or qemu.gaps or arguments.has("net", "nic")
    return not found and arguments.pairs[-1] != _LAST_PAIR


def _cut_lines(text: str, found: list[Command]) -> dict[int, str]:
    """Lines of a listing that ``ps`` cut at the width of a terminal: several lines have the maximum
    length, and they do not end like a whole command of libvirt."""
    if not any(command.pid is not None for command in found):
        return {}
    lines = [line.rstrip("\r") for line in text.split("\n")]
    lengths = [len(line) for line in lines]
    width = max(lengths)
    if width > _WIDEST_TERMINAL or lengths.count(width) < 2:
        return {}
    return {
        command.line: f"ps cut its lines at {width} columns (use ps -ww)"
        for command in found
        if lengths[command.line - 1] == width and not lines[command.line - 1].endswith(_LAST)
    }
