"""Find the QEMU command lines in files and standard input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from vnicaudit.errors import TargetError
from vnicaudit.model.guest_words import LOG
from vnicaudit.model.location import Location
from vnicaudit.model.report import NotJudged
from vnicaudit.model.running import RunningQemu
from vnicaudit.platforms.qemu.arguments import Arguments, parse
from vnicaudit.platforms.qemu.build import Built, build
from vnicaudit.platforms.qemu.commands import LOGGED, Command, Missed, commands, missed
from vnicaudit.platforms.qemu.log import is_log, last_start
from vnicaudit.platforms.qemu.places import nic_lines
from vnicaudit.text.beginning import is_program, quotes_others

_PS = re.compile(
    r"[ \t]*(?:(?!PID[ \t])[A-Z%+][A-Z%+-]*[ \t]+)*PID[ \t](?:.*[ \t])?(?:COMMAND|CMD|ARGS)[ \t]*$"
)
_NUL_PROGRAM = re.compile(rb"(?:[^\0\n]*/)?\.?(?:qemu-system-[\w.-]+|qemu-kvm|kvm)\0-")
_VIRT_LAUNCHER = '{"component":"virt-launcher",'
_UNABLE = "Unable to open vhost-net"
"""libvirt's VIR_WARN in qemuInterfaceOpenVhostNet."""

_IN_TEXT = (
    "{program} in a string or a list may be a QEMU command: not judged, save it as a file of its "
    "own"
)

_FILLED_IN = (
    "{program} gets its arguments from a variable: not judged, audit the process while it runs"
)

_MAX_COMMANDS = 100_000
_WIDEST_TERMINAL = 512
"""Columns. ``ps`` on a terminal cuts its lines; a listing as wide as this was not cut."""


def looks_like(head: bytes) -> str | None:
    """``log``, ``ps`` or ``command`` if a file that begins with ``head`` (some kilobytes) holds
    QEMU command lines, otherwise None. Prose, XML or a nova.conf that names QEMU does not count."""
    if _NUL_PROGRAM.match(head):
        return "command"
    if b"\0" in head:
        return None
    text = head.decode("utf-8", "replace")
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
    text = head.decode("utf-8", "replace")
    if LOGGED.search(text) or (is_program(text) and not quotes_others(head)):
        return True
    lines = enumerate(text.split("\n"), 1)
    first, line = next(((n, s) for n, s in lines if s.strip() and s.lstrip()[0] != "#"), (0, ""))
    if _PS.match(line):
        return True
    found = next(commands(text), None)
    return found is not None and found.line == first


def read_text(
    data: bytes, *, target: str, file: str | None, before: int | None = 0
) -> Iterator[RunningQemu]:
    """Every QEMU in a log (its last start), in ``ps`` output, or pasted: :func:`read_parts` without
    the parts that are not judged."""
    parts = read_parts(data, target=target, file=file, before=before)
    yield from (part for part in parts if isinstance(part, RunningQemu))


def read_parts(
    data: bytes, *, target: str, file: str | None, before: int | None = 0
) -> Iterator[RunningQemu | NotJudged]:
    """Every QEMU in a log (its last start), in ``ps`` output, or pasted, and notes on possible
    others in a text or a list of a script. ``before`` is the number of lines before ``data`` if
    that is the end of a log; None: not counted.

    Raises TargetError, with file and line, after those that could be read: for the first command
    line that is not complete (the missing part may contain a NIC), with the number of such lines.
    """
    unread: list[Missed] = []
    if _NUL_PROGRAM.match(data):
        built = [_from_nul(data, Location(target, file, 1))]
    else:
        text = data.decode("utf-8", "replace").replace("\0", " ")
        if is_log(text):
            built = _from_log(text, target, file, before)
        else:
            found = list(islice(commands(text), _MAX_COMMANDS))
            built, unread = _pasted(text, found, target, file), missed(text, found)
    yield from _notes(unread, file or target)
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


def unread_commands(data: bytes, path: str) -> Iterator[NotJudged]:
    """Notes on the QEMU commands of a program that has none to be read."""
    text = data.decode("utf-8", "replace")
    if is_program(text):
        yield from _notes(missed(text, []), path)


def _notes(unread: list[Missed], path: str) -> Iterator[NotJudged]:
    for one in unread:
        why = _FILLED_IN if one.filled_in else _IN_TEXT
        yield NotJudged(why.format(program=one.program), path, one.line)


def _from_nul(data: bytes, location: Location) -> Built:
    """Read a copy of ``/proc/PID/cmdline``. Kernels before 4.2 cut it at 4096 bytes."""
    words = [word.decode("utf-8", "replace") for word in data.split(b"\0")]
    if words[-1] in ("", "\n"):
        words.pop()
    arguments = parse(words[1:])
    if len(data) == 4096 and not data.endswith(b"\0"):
        arguments = arguments._replace(problem="cut at 4096 bytes")
    return build(words[0], arguments, location, pid=None, whole=True)


def _from_log(text: str, target: str, file: str | None, before: int | None) -> list[Built]:
    start = last_start(text)
    if start is None:
        raise TargetError(
            "a libvirt log without a start of QEMU (rotated away?): its arguments are not there",
            file=file or target,
            line=1,
        )
    first = None if before is None else before + start.line
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
    warned = None if before is None or line is None else before + line
    where = () if first is None else nic_lines(start.text, first, qemu.nics)
    qemu = msgspec.structs.replace(
        qemu,
        qemu_version=start.qemu,
        libvirt_version=start.libvirt,
        stopped=start.stopped,
        nic_lines=where,
        warning_line=warned,
        # only libvirt writes such logs
        owner="libvirt" if qemu.owner == "qemu" else qemu.owner,
        nics=tuple(
            msgspec.structs.replace(nic, log_warning=warning, evidence=LOG) for nic in qemu.nics
        ),
    )
    return [Built(qemu, problem)]


def _pasted(text: str, found: list[Command], target: str, file: str | None) -> list[Built]:
    cut = _cut_lines(text, found)
    lines = text.split("\n")
    in_pod = _VIRT_LAUNCHER in text
    ends = [*(command.line - 1 for command in found[1:]), len(lines)]
    built = []
    for command, end in zip(found, ends, strict=False):
        arguments = command.arguments
        if command.line in cut:
            arguments = arguments._replace(problem=cut[command.line])
        item = _pasted_one(command, arguments, Location(target, file, command.line))
        if end > command.line:
            written = "\n".join(lines[command.line - 1 : end])
            where = nic_lines(written, command.line, item.qemu.nics)
            item = item._replace(qemu=msgspec.structs.replace(item.qemu, nic_lines=where))
        if in_pod:
            item = item._replace(qemu=msgspec.structs.replace(item.qemu, owner="kubevirt"))
        built.append(item)
    return built


def _pasted_one(command: Command, arguments: Arguments, place: Location) -> Built:
    return build(
        command.program,
        arguments,
        place,
        pid=command.pid,
        whole=command.complete,
        opened=command.opened,
        runs=command.listed,
    )


def _cut_lines(text: str, found: list[Command]) -> dict[int, str]:
    """Lines of a listing that ``ps`` cut at the width of a terminal: several lines have the maximum
    length."""
    if not any(command.pid is not None for command in found):
        return {}
    lengths = [len(line.rstrip("\r")) for line in text.split("\n")]
    width = max(lengths)
    if width > _WIDEST_TERMINAL or lengths.count(width) < 2:
        return {}
    return {
        command.line: f"ps cut its lines at {width} columns (use ps -ww)"
        for command in found
        if lengths[command.line - 1] == width
    }
