"""Find QEMU command lines in text: pasted shell, ``ps`` output, a document with either."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.platforms.qemu.arguments import EVIDENCE, Arguments, parse, parse_unquoted
from vnicaudit.platforms.qemu.words import MAX_COMMAND, shell_words

_PROGRAM = re.compile(
    r"(?<![^\s])(?P<program>(?:[^\s'\"`=,;|&<>(){}]*/)?\.?"
    r"(?:qemu-system-[a-z0-9_]+(?:[-.][\w.-]+)?|qemu-kvm|kvm))(?=[ \t]+\S|\\\n)"
)
"""A word that is QEMU's program, with something after it."""

_PROMPT = re.compile(r"(?:\[[^\]\n]{0,80}\]|[\w.@:~/+-]{0,80})[$#%>][ \t]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_WRAPPERS = frozenset(
    {"sudo", "exec", "nohup", "time", "env", "nice", "ionice", "numactl", "taskset", "chrt"}
    | {"setsid", "timeout", "strace", "prlimit", "cgexec", "systemd-run"}
)
_TIME = re.compile(r"(?:\d{1,4}-)?\d{1,5}:\d\d(?::\d\d)?(?:\.\d+)?")
_HEADER_ENDS = frozenset({"COMMAND", "CMD", "ARGS"})
_HEADER = re.compile(r"^[ \t]*(?:[A-Z%+][A-Z%+-]*[ \t]+)*(?:COMMAND|CMD|ARGS)[ \t]*$", re.MULTILINE)
_LOST_QUOTES = re.compile(r"[ \t]\{\"")
_EXPANDS = re.compile(r"\$[@*{(\w]|`|<|\.\.\.|…")
_MAX_PREFIX = 600
"""Characters before the program in its line; ``ps`` columns and prompts are shorter."""


class Command(NamedTuple):
    """One command line: the program, its arguments, where it begins (1-based line), the process
    id where ``ps`` gives it. ``whole`` is False when more arguments may have stood there than can
    be read (shell variables, an ellipsis, a file of options, ``ps``)."""

    program: str
    arguments: Arguments
    line: int
    pid: int | None = None
    whole: bool = True


class _Listing(NamedTuple):
    """The columns of ``ps``: where it begins in the text, and which columns there are."""

    start: int
    columns: tuple[str, ...]


def commands(text: str) -> Iterator[Command]:
    """Every QEMU command line in ``text``, in order; the threads ``ps -L`` lists are one."""
    seen: set[tuple[int | None, Arguments]] = set()
    listings = [
        _Listing(match.start(), tuple(match.group().split())) for match in _HEADER.finditer(text)
    ]
    position, line, counted = 0, 1, 0
    while (match := _PROGRAM.search(text, position)) is not None:
        position = match.end()
        begin = text.rfind("\n", 0, match.start()) + 1
        if match.start() - begin > _MAX_PREFIX:
            continue
        line, counted = line + text.count("\n", counted, begin), begin
        found = _command(text, match, begin, line, _listing(listings, text, begin))
        if found is None:
            continue
        command, position = found
        if (command.pid, command.arguments) not in seen:
            if command.pid is not None:
                seen.add((command.pid, command.arguments))
            yield command


def _listing(listings: list[_Listing], text: str, begin: int) -> _Listing | None:
    """The listing that the line at ``begin`` belongs to: the last header before it, unless an
    empty line or a code fence ends it."""
    while len(listings) > 1 and listings[1].start < begin:
        del listings[0]
    if not listings or listings[0].start >= begin:
        return None
    between = text[listings[0].start : begin]
    return None if re.search(r"\n[ \t]*\n|\n[ \t]*```", between) else listings[0]


def _command(
    text: str, match: re.Match[str], begin: int, line: int, listing: _Listing | None
) -> tuple[Command, int] | None:
    prefix = text[begin : match.start()]
    if listing is not None or _is_ps(prefix.split()):
        return _from_ps(text, match, prefix.split(), line, listing)
    if not _is_shell(prefix):
        return None
    end = text.find("\n", match.end())
    if _LOST_QUOTES.search(text[match.end() : end if end >= 0 else len(text)]):
        return _unquoted(text, match, line, None)
    return _from_shell(text, match, line)


def _from_shell(text: str, match: re.Match[str], line: int) -> tuple[Command, int] | None:
    words, end, problem = shell_words(text, match.end())
    arguments = parse(words)
    if not arguments.has(*EVIDENCE):
        return None
    whole = not any(_EXPANDS.match(word) for word in words) and not arguments.has("readconfig")
    arguments = arguments._replace(problem=problem or arguments.problem)
    return Command(match["program"], arguments, line, None, whole), end


def _from_ps(
    text: str, match: re.Match[str], prefix: list[str], line: int, listing: _Listing | None
) -> tuple[Command, int] | None:
    """A line of ``ps``; None where the program is an argument of another (``grep qemu-kvm``)."""
    if listing is not None and len(prefix) != len(listing.columns) - 1:
        return None
    return _unquoted(text, match, line, _pid(prefix, listing))


def _unquoted(
    text: str, match: re.Match[str], line: int, pid: int | None
) -> tuple[Command, int] | None:
    end = text.find("\n", match.end())
    end = len(text) if end < 0 else end
    arguments = parse_unquoted(text[match.end() : min(end, match.end() + MAX_COMMAND)].split())
    if not arguments.has(*EVIDENCE):
        return None
    # never whole: a line that ps cut short looks like one that ends there
    return Command(match["program"], arguments, line, pid, whole=False), end


def _pid(prefix: list[str], listing: _Listing | None) -> int | None:
    places = [0, 1]
    if listing is not None:
        places = [listing.columns.index("PID")] if "PID" in listing.columns else []
    elif len(prefix) > 1 and not prefix[0].isdigit():
        places = [1]
    for place in places:
        if place < len(prefix) and prefix[place].isdecimal() and len(prefix[place]) < 10:
            return int(prefix[place])
    return None


def _is_ps(prefix: list[str]) -> bool:
    """``ps`` without its header (``ps -ef | grep qemu``), or ``pgrep -a``: a number, and the CPU
    time before the program."""
    if not prefix or not any(word.isdecimal() for word in prefix[:4]):
        return False
    return len(prefix) == 1 or _TIME.fullmatch(prefix[-1]) is not None


def _is_shell(prefix: str) -> bool:
    """Nothing before the program but a prompt, assignments, and programs that start another."""
    prompt = _PROMPT.match(prefix.lstrip())
    rest = prefix.lstrip()[prompt.end() :] if prompt else prefix
    words = rest.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        del words[0]
    return not words or words[0].rpartition("/")[2] in _WRAPPERS
