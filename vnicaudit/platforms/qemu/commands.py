"""Find QEMU command lines in text: pasted shell, ``ps`` output, a document with either."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from vnicaudit.model.report import NotJudged
from vnicaudit.platforms.qemu.arguments import (
    EVIDENCE,
    FLAGS,
    NIC_OPTIONS,
    VALUED,
    Arguments,
    left_open,
    parse,
    parse_unquoted,
)
from vnicaudit.platforms.qemu.nics import silent
from vnicaudit.platforms.qemu.pasted import changed_character, is_run, restored
from vnicaudit.platforms.qemu.words import MAX_COMMAND, pasted_prefix_of, prefix_of, shell_words
from vnicaudit.text.beginning import FENCE

_PROGRAM = re.compile(
    r"(?:(?<![^\s;|&(`])|(?<=ExecStart=)|(?<=ExecStart=[-@:+!])|(?<=[\w~\]\\][#$>%])|(?<=\d:))"
    r"(?P<quote>[\"']?)(?:\"\$\{?\w{1,40}\}?\"(?=/))?"
    r"(?P<program>(?:\$\{?\w{1,40}\}?/|(?:[A-Za-z]:|%\w{1,40}%)[^\"\n|&<>*?:%]{0,200}\\)?"
    r"(?:[^\s'\"`=,;|&<>(){}$%]*/)?\.?(?:qemu-system-[a-z0-9_]+(?:[-.][\w.-]+)?|qemu-kvm|kvm)"
    r"|\$\{?\w{0,40}(?i:qemu|kvm)\w{0,40}\}?|%\w{0,40}(?i:qemu|kvm)\w{0,40}%)"
    r"(?P=quote)(?=[ \t\u00a0]+\S|[ \t]*\\\n)"
)
"""A word that is QEMU's program, or a variable named after it, followed by something."""

_PATH = r"[\w./:\\ -]{0,200}(?:qemu-system-[a-z0-9_]{1,40}|qemu-kvm)(?:\.exe)?"
_KEPT = re.compile(r"(?:qemu-system-[a-z0-9_]+|qemu-kvm)(?=[ \t]+\S)")
_IN_FOLDER = re.compile(r"[/\\]")
_IN_TEXT = (
    "{} in a string or a list may be a QEMU command: not judged, save it as a file of its own"
)
_FILLED_IN = "{} gets its arguments from a variable: not judged, audit the process while it runs"
_COMMAND_ENDS = re.compile(r"[;|&#]")
_OF_NICS = ("device", "netdev", "nic", "net", "nodefaults", "machine", "M")
_REMARK = re.compile(r"(?<=\\\n)([ \t]*)[#;]([^\n]*)(?=\n)")
"""A comment between continued lines of a systemd unit, which ignores it; for a shell the command
ends there."""
_UNIT = re.compile(r"^[ \t]*ExecStart[ \t]*=", re.MULTILINE)
_TIME = re.compile(r"(?:\d{1,4}-)?\d{1,5}:\d\d(?::\d\d)?(?:\.\d+)?")
_HEADER = re.compile(r"^[ \t]*(?:[A-Z%+][A-Z%+-]*[ \t]+)*(?:COMMAND|CMD|ARGS)[ \t]*$", re.MULTILINE)
_LISTING_END = re.compile(rf"\n[ \t]*(?:\n|{FENCE})")
_QUOTE = re.compile(r"['\"]")
_EXPANDS = re.compile(r"\$[@*{(\w]|%\w+%|`|<|\.\.\.|…")
_LIST = re.compile(r"\$[@*]|\$\{[@*]|\$\{\w{1,80}\[[@*]")
LOGGED = re.compile(
    r"^(?:[^\n]{0,400}?[{,\s])?\"?[\w.-]{1,40}\"?:[ ]?"
    r"\"((?:[^\"\\\n]|\\.){0,200}?(?:qemu-kvm|qemu-system-\w{1,40}|\bkvm) "
    r"(?:[^\"\\\n]|\\.)*)\"[^\n]*$",
    re.MULTILINE,
)
"""A line with a command in a string: a message of a log in JSON (virt-launcher's, a container's),
or a value in YAML."""
_OPTION = r"[ \t]*--?(?P<name>[A-Za-z][\w-]*)(?![\w-])"
_LOST_JOINT = re.compile(rf"(?:\\[ \t]+|(?<!\\))\r?\n(?={_OPTION})")
"""The end of a line without backslash, or with blanks behind it, before one with an option."""
_GOES_ON = re.compile(rf"(?:[ \t]*(?:#[^\n]*)?\r?\n)+{_OPTION}")
_TORN = re.compile(
    r"\r?\n(?![^\n]*(?:qemu|kvm|QEMU|KVM|\$))[^\n]*[ \t]-(?:nodefaults|netdev|device|nic)[ \t]"
)
"""A line of no other program behind a command, with its options: it was wrapped in a word."""
_NOT_CONTINUED = (
    "line {} begins with an option, but the line before it is not continued: a shell would run the "
    "first part alone"
)
_LOST = (
    "JSON outside quotes, where other quotes or lines were kept: a shell would mangle it, so what "
    "QEMU received is unknown"
)
_OF_TOLD = 3
"""Least number of options of a command in a sentence or a list, which may only name QEMU, unless
one is for NICs."""
_PAGE = 4096
"""Bytes of a command line that kernels before 4.2 keep, with or without the last zero."""
_PATIENCE = 1 << 20
"""Characters, in addition to four times the length of the text, that are scanned without result
before the text is treated as made to take long."""
_MAX_PREFIX = 600
"""Maximum number of characters before the program in its line; ``ps`` columns and prompts are
shorter."""


class Command(NamedTuple):
    """One command line: the program, its arguments, the line where it begins (1-based), and the
    process id if ``ps`` shows it. ``complete`` is False if there may be more arguments than can be
    read (shell variables, an ellipsis, a file of options, ``ps``); ``opened`` is a word that may
    expand to several. ``listed``: it belongs to a running process, as listed by ``ps``; ``pasted``:
    it is in no script and no unit, so its end may have been lost."""

    program: str
    arguments: Arguments
    line: int
    pid: int | None = None
    complete: bool = True
    opened: str | None = None
    listed: bool = False
    pasted: bool = False


class _Read(NamedTuple):
    """A command, or None if there is none; the position at which to continue; and the number of
    characters that were scanned without result."""

    command: Command | None
    end: int
    in_vain: int = 0


class _PsListing(NamedTuple):
    """``ps`` output with its header: where it begins and ends in the text (at an empty line or a
    code fence), and its columns."""

    start: int
    end: int
    columns: tuple[str, ...]


def commands(text: str) -> Iterator[Command]:
    """Every QEMU command line in ``text``, in order; threads listed by ``ps -L`` count once."""
    if not any(name in text.lower() for name in ("qemu", "kvm")):
        return
    text = LOGGED.sub(_message, _without_remarks(text))
    program = is_run(text)
    script = program and (text.startswith("#!") or _UNIT.search(text) is not None)
    rejoined = False
    if not program:
        whole_lines, text = text, _LOST_JOINT.sub(_joined, text)
        rejoined = text != whole_lines
    seen: set[tuple[int | None, Arguments]] = set()
    listings = _listings(text)
    position, line, counted, after = 0, 1, 0, 0
    patience = 4 * len(text) + _PATIENCE
    while (match := _PROGRAM.search(text, position)) is not None:
        position = match.end()
        begin = text.rfind("\n", 0, match.start()) + 1
        if match.start() - max(begin, after) > _MAX_PREFIX:
            continue
        if program and text[begin : match.start()].lstrip()[:1] == "#":
            continue  # a comment; elsewhere a prompt of root
        line, counted = line + text.count("\n", counted, begin), begin
        listing = _listing(listings, begin)
        command, position, in_vain = _command(
            text, match, max(begin, after), line, listing, patient=patience > 0, program=program
        )
        patience -= in_vain
        if command is None:
            continue
        if rejoined or (not script and silent(command.arguments)):
            # where some lines lost their backslashes, others may be missing; and what was pasted
            # without a word of NICs may be the beginning of a command
            command = command._replace(complete=False)
        command = command._replace(pasted=not script)
        after = position
        if (command.pid, command.arguments) not in seen:
            if command.pid is not None:
                seen.add((command.pid, command.arguments))
            yield command


def _without_remarks(text: str) -> str:
    if _UNIT.search(text) is None:
        return text
    return _REMARK.sub(lambda remark: f"{remark[1]}{' ' * len(remark[2])}\\", text)


def _message(line: re.Match[str]) -> str:
    """The message of a line of a JSON log, which stays one line."""
    try:
        return str(json.loads(f'"{line[1]}"')).replace("\n", " ")
    except ValueError:
        return line.group()


def _joined(end: re.Match[str]) -> str:
    return " \\\n" if _is_option(end) else end.group()


def _is_option(match: re.Match[str]) -> bool:
    return match["name"] in FLAGS or match["name"] in VALUED


def _listings(text: str) -> deque[_PsListing]:
    ends = [match.end() for match in _LISTING_END.finditer(text)]
    found: deque[_PsListing] = deque()
    for match in _HEADER.finditer(text):
        place = bisect_right(ends, match.end())
        end = ends[place] if place < len(ends) else len(text) + 1
        found.append(_PsListing(match.start(), end, tuple(match.group().split())))
    return found


def _listing(listings: deque[_PsListing], begin: int) -> _PsListing | None:
    """The listing to which the line at ``begin`` belongs. Must be called in order of lines."""
    while len(listings) > 1 and listings[1].start < begin:
        listings.popleft()
    if not listings or listings[0].start >= begin:
        return None
    return listings[0] if begin < listings[0].end else None


def _command(
    text: str,
    match: re.Match[str],
    begin: int,
    line: int,
    listing: _PsListing | None,
    *,
    patient: bool,
    program: bool,
) -> _Read:
    prefix = text[begin : match.start()].replace("\u00a0", " ")
    if listing is None and prefix.strip().isdecimal() and _is_history(text, match.end()):
        return _from_shell(text, match, line, patient=patient)
    words = prefix.split()
    if listing is not None or _is_ps(words):
        if listing is not None and len(words) != len(listing.columns) - 1:
            return _Read(None, match.end())  # an argument of another program (grep qemu-kvm)
        return _unquoted(text, match, line, _pid(words, listing))
    found = prefix_of(prefix) if program else pasted_prefix_of(prefix)
    if not found.starts:
        return _Read(None, match.end())
    read = _from_shell(text, match, line, patient=patient, closing=found.closing)
    if found.told and read.command is not None:
        arguments = read.command.arguments
        if len(arguments.pairs) < _OF_TOLD and not arguments.has(*NIC_OPTIONS):
            return _Read(None, match.end())
    return read


def _from_shell(
    text: str, match: re.Match[str], line: int, *, patient: bool, closing: str = ""
) -> _Read:
    """The QEMU command in a line of a shell. If there is none, the line and its continuation lines
    are the arguments of another program, and skipped. Without ``patient`` (for a file made to take
    long), quotation marks are only searched within these lines."""
    logical = _logical_line(text, match.end())
    words, end, problem, bare, kept, sealed = shell_words(
        text,
        match.end(),
        MAX_COMMAND if patient else min(logical - match.end(), MAX_COMMAND),
        closing=closing,
    )
    if bare and not kept and "\n" not in text[match.end() : end]:
        return _unquoted(text, match, line, None)  # pasted without its quotes
    arguments = parse(words)
    plain = parse(restored(words))
    if not plain.has(*EVIDENCE) or _asks_for_help(arguments):
        return _Read(None, min(end, logical), end - match.end())
    if match["program"][0] in "$%" and not _IN_FOLDER.search(match["program"]):
        return _of_variable(text, match, arguments, line, end)
    whole = not any(_EXPANDS.match(word) for word in words) and not arguments.has("readconfig")
    following = _GOES_ON.match(text, end)
    if problem is None and following is not None and _is_option(following):
        problem = _NOT_CONTINUED.format(line + text.count("\n", match.end(), following.end()))
    changed = changed_character(text, match.end(), end)
    if changed is not None:
        place = line + text.count("\n", match.end(), changed.position)
        problem = f"line {place} has {changed.problem}: the paste changed it"
    if (torn := _TORN.match(text, end)) is not None:
        place = line + text.count("\n", match.end(), torn.end())
        problem = problem or f"line {place} goes on with options, but the line before it ends"
    problem = problem or (_LOST if bare else None)
    problem = problem or arguments.problem or left_open(arguments)
    arguments = arguments._replace(problem=problem)
    opened = None if whole else _opened(words, arguments, sealed)
    return _Read(Command(match["program"], arguments, line, None, whole, opened), end)


def _of_variable(
    text: str, match: re.Match[str], arguments: Arguments, line: int, end: int
) -> _Read:
    """A command whose program is a variable; its assignment is searched for the name of the
    program."""
    name = match["program"].strip("${}%")
    named = re.search(rf"^[^\n#]{{0,80}}\b{name}=[\"']?({_PATH})[\"']?[ \t]*$", text, re.MULTILINE)
    program = match["program"] if named is None else named[1]
    problem = arguments.problem or left_open(arguments)
    arguments = arguments._replace(problem=problem)
    return _Read(Command(program, arguments, line, None, complete=False), end)


def _opened(words: list[str], arguments: Arguments, sealed: frozenset[int]) -> str | None:
    """A word that is neither an option nor its value, and that a shell expands. The value of an
    option is taken to be one word; so is a word in quotes, unless it is a list."""
    taken = set(arguments.places)
    taken |= {
        place - 1
        for place, (_name, value) in zip(arguments.places, arguments.pairs, strict=True)
        if value is not None
    }
    taken |= {place for place in sealed if not _LIST.match(words[place])}
    free = (word for place, word in enumerate(words) if place not in taken)
    return next((word for word in free if _EXPANDS.match(word) and word[0] != "<"), None)


def _logical_line(text: str, start: int) -> int:
    """The end of the line that contains ``start``, including its continuation lines."""
    end = text.find("\n", start)
    while end > 0 and text[max(0, end - 2) : end].rstrip("\r").endswith("\\"):
        end = text.find("\n", end + 1)
    return len(text) if end < 0 else end + 1


def _unquoted(text: str, match: re.Match[str], line: int, pid: int | None) -> _Read:
    """A line of ``ps`` output, or another without its quotes."""
    end = text.find("\n", match.end())
    end = len(text) if end < 0 else end
    arguments = parse_unquoted(text[match.end() : min(end, match.end() + MAX_COMMAND)].split())
    if not arguments.has(*EVIDENCE):
        return _Read(None, match.end())
    if end - match.start("program") in (_PAGE - 1, _PAGE):
        arguments = arguments._replace(problem=f"cut at {_PAGE} bytes")
    # never complete: a line that ps cut looks like any other
    command = Command(match["program"], arguments, line, pid, complete=False, listed=True)
    return _Read(command, end)


def _pid(prefix: list[str], listing: _PsListing | None) -> int | None:
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
    """True for ``ps`` output without header (``ps -ef | grep qemu``) or ``pgrep -a``: a number, and
    the CPU time before the program."""
    if not prefix or not any(word.isdecimal() for word in prefix[:4]):
        return False
    return len(prefix) == 1 or _TIME.fullmatch(prefix[-1]) is not None


def _is_history(text: str, start: int) -> bool:
    """True for a line of a shell's ``history``. It begins with a number like one of ``pgrep -a``,
    but may be continued, and still has its quotes. Quotes of JSON prove nothing, because ``pgrep``
    shows them too."""
    end = text.find("\n", start)
    line = text[start : end if end >= 0 else len(text)].rstrip("\r")
    if line.endswith("\\"):
        return True
    words = shell_words(line, 0)
    return words.quoted_json or (
        not words.bare_json and words.problem is None and bool(_QUOTE.search(line))
    )


def _asks_for_help(arguments: Arguments) -> bool:
    """True for arguments with which QEMU only prints help."""
    return any(
        value is not None and (value in ("help", "?") or value.endswith(",help"))
        for _name, value in arguments.pairs
    )


def missed(text: str, found: list[Command], path: str) -> Iterator[NotJudged]:
    """Notes on QEMU in texts and lists that are run elsewhere (``bash -c "…"``, ``CMD="…"``), and
    on QEMU whose arguments are in a variable (``qemu-kvm "${args[@]}"``); not in comments, nor in
    text that is only printed. ``found`` are the commands that are judged."""
    judged = {command.line for command in found}
    for number, line in enumerate(text.split("\n"), 1):
        match = _KEPT.search(line, 0, _MAX_PREFIX) if number not in judged else None
        if match is None:
            continue
        prefix = prefix_of(line[: match.start()])
        rest = line[match.end() : match.end() + MAX_COMMAND].replace('"', " ").replace("'", " ")
        if prefix.run_elsewhere and parse(rest.split()).has(*_OF_NICS):
            yield NotJudged(_IN_TEXT.format(match.group()), path, number)
        elif prefix.starts:
            words = _COMMAND_ENDS.split(rest, maxsplit=1)[0].split()
            arguments = parse(words)
            if not _asks_for_help(arguments) and _opened(words, arguments, frozenset()):
                yield NotJudged(_FILLED_IN.format(match.group()), path, number)
