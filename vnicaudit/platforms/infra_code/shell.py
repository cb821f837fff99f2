"""Shell scripts: the images and flavors that commands of OpenStack's clients create or change.

Text is split into simple commands, as words with their places; nothing is expanded. The grammar is
that of POSIX sh with bash's extensions to words: quotes, ``$'…'``, ``$(…)``,
backticks, ``${…}``, ``$((…))``, here-documents and here-strings, redirections, process
substitution. Control structures need no special handling: the commands in them are commands.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Property
from vnicaudit.platforms.infra_code.records import Kind, Record, Statement, records, whole_number
from vnicaudit.text.beginning import is_only_placeholder
from vnicaudit.text.template_walk import HOLE, with_holes

MAX_DEPTH = 40
"""Maximum depth of nested substitutions; deeper ones are treated as text."""

_BLANK = " \t\r"
_ENDS_WORD = frozenset(" \t\r\n;&|()<>")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9]|[@*#?$!-]")
_REDIRECTION = re.compile(r"<<<|<<-?|[<>]\(|&>>?|[<>]&|<>|>\||>>?|<")
_PLAIN = re.compile(r"[^ \t\r\n;&|()<>$`\"'\\]+")
_QUOTED = re.compile(r"[^$`\"\\]+")
_TO_FILL_IN = re.compile(r"<[A-Za-z][\w.-]*>(?=\s|\Z)")
"""``<name>``, as in documentation; to a shell it would be two redirections, the second to nowhere
or to the following word."""


class Word(NamedTuple):
    """One word, with quotes removed. ``certain`` False: something in it is expanded; the text is
    then as written. ``splits``: it may become several words, or none."""

    text: str
    line: int
    column: int
    certain: bool = True
    splits: bool = False


Command = tuple[Word, ...]


def commands(text: str) -> list[Command]:
    """All simple commands, inner ones (of ``$(…)``) before the command that contains them;
    here-documents are data and left out. This accepts any text."""
    lexer = _Lexer(text)
    lexer.script("", 0)
    return lexer.found


class _Lexer:
    def __init__(self, text: str) -> None:
        self.found: list[Command] = []
        self._text = text
        self._at = 0
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._here: list[tuple[str, bool]] = []

    def script(self, closing: str, depth: int) -> None:
        """Read commands up to ``closing``, or to the end."""
        words: list[Word] = []
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == closing:
                break
            if char in _BLANK:
                self._at += 1
            elif (length := self._continued()) > 0:
                self._at += length
            elif char == "#":
                self._skip_to_line_end()
            elif char == "(" and depth < MAX_DEPTH:
                words = self._flush(words)
                self._inner(")", depth)
            elif redirection := self._redirection():
                self._redirect(redirection, words, depth)
            elif char in ";&|()\n":
                words = self._flush(words)
                self._at += 1
                if char == "\n":
                    self._skip_here_documents()
            else:
                words.append(self._word(closing, depth))
        self._flush(words)
        self._at += 1 if closing else 0

    def _flush(self, words: list[Word]) -> list[Word]:
        if words:
            self.found.append(tuple(words))
        return []

    def _inner(self, closing: str, depth: int) -> None:
        self._at += 1
        self.script(closing, depth + 1)

    def _continued(self) -> int:
        """Length of a backslash and the line break behind it; 0 if there is none."""
        for end in ("\\\n", "\\\r\n"):
            if self._text.startswith(end, self._at):
                return len(end)
        return 0

    def _skip_to_line_end(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _redirection(self) -> str:
        match = _REDIRECTION.match(self._text, self._at)
        if match is None or _TO_FILL_IN.match(self._text, self._at):
            return ""
        return match.group()

    def _redirect(self, operator: str, words: list[Word], depth: int) -> None:
        """Read a redirection and its word, which do not belong to the command; neither does a
        number before it."""
        before = self._text[self._at - 1] if self._at else ""
        if words and before.isdigit() and words[-1].text.isdigit() and words[-1].certain:
            words.pop()
        start = self._at
        self._at += len(operator)
        if operator.endswith("("):
            self._at = start
            self._substitution(")", len(operator), depth)
            words.append(self._word_at(start, self._text[start : self._at], certain=False))
            return
        while self._at < len(self._text) and self._text[self._at] in _BLANK:
            self._at += 1
        if self._at >= len(self._text) or self._text[self._at] in _ENDS_WORD:
            return
        word = self._word("", depth)
        if operator in ("<<", "<<-"):
            self._here.append((word.text, operator == "<<-"))

    def _skip_here_documents(self) -> None:
        for ending, dedented in self._here:
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                stop = len(self._text) if end < 0 else end
                line = self._text[self._at : stop].rstrip("\r")
                self._at = min(stop + 1, len(self._text))
                if (line.lstrip("\t") if dedented else line) == ending:
                    break
        self._here.clear()

    def _word(self, closing: str, depth: int) -> Word:
        start = self._at
        parts: list[str] = []
        certain, splits = True, False
        while self._at < len(self._text):
            char = self._text[self._at]
            if char == "<" and (match := _TO_FILL_IN.match(self._text, self._at)):
                parts.append(match.group())
                self._at = match.end()
                certain = False
                continue
            if char in _ENDS_WORD or char == closing:
                break
            if char in "$`":
                sure, may_split = self._expansion(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == '"':
                sure, may_split = self._double_quoted(parts, depth)
                certain, splits = certain and sure, splits or may_split
            elif char == "'":
                parts.append(self._until("'", 1))
            elif char == "\\":
                self._escaped(parts)
            else:
                self._run(_PLAIN, parts)
        text = "".join(parts)
        return self._word_at(start, text, certain=certain and HOLE not in text, splits=splits)

    def _run(self, pattern: re.Pattern[str], parts: list[str]) -> None:
        """Read plain text, at least one character."""
        match = pattern.match(self._text, self._at)
        text = self._text[self._at] if match is None else match.group()
        parts.append(text)
        self._at += len(text)

    def _word_at(self, start: int, text: str, *, certain: bool, splits: bool = False) -> Word:
        line = bisect_right(self._lines, start)
        return Word(text, line, start - self._lines[line - 1] + 1, certain, splits)

    def _until(self, ending: str, opening: int) -> str:
        """The text up to ``ending``; reading continues behind it."""
        start = self._at + opening
        end = self._text.find(ending, start)
        end = len(self._text) if end < 0 else end
        self._at = min(end + len(ending), len(self._text))
        return self._text[start:end]

    def _escaped(self, parts: list[str]) -> None:
        length = self._continued()
        if length == 0:
            parts.append(self._text[self._at + 1 : self._at + 2])
        self._at += length or 2

    def _double_quoted(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        certain, splits = True, False
        self._at += 1
        while self._at < len(self._text) and (char := self._text[self._at]) != '"':
            if char in "$`":
                start = self._at
                sure, _splits = self._expansion(parts, depth)
                certain = certain and sure
                splits = splits or "@" in self._text[start : self._at]
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\"):
                parts.append(self._text[self._at + 1])
                self._at += 2
            elif (length := self._continued()) > 0:
                self._at += length
            else:
                self._run(_QUOTED, parts)
        self._at += 1
        return certain, splits

    def _expansion(self, parts: list[str], depth: int) -> tuple[bool, bool]:
        """Read the expansion that ``$`` or a backtick begins. Returns whether its text is certain,
        and whether the shell may split it into words."""
        start = self._at
        text = self._text
        if text[start] == "`":
            self._substitution("`", 1, depth)
        elif text.startswith("$'", start):
            parts.append(self._until("'", 2))
            return "\\" not in parts[-1], False
        elif text.startswith("$((", start):
            self._until("))", 3)
        elif text.startswith("$(", start):
            self._substitution(")", 2, depth)
        elif text.startswith("${", start):
            self._parameter()
        elif match := _NAME.match(text, start + 1):
            self._at = match.end()
        else:
            parts.append("$")
            self._at += 1
            return True, False
        parts.append(text[start : self._at])
        return False, True

    def _substitution(self, closing: str, opening: int, depth: int) -> None:
        if depth >= MAX_DEPTH:
            self._until(closing, opening)
            return
        self._at += opening
        here, self._here = self._here, []
        self.script(closing, depth + 1)
        self._here = here

    def _parameter(self) -> None:
        """Read ``${…}``, including nested expansions."""
        depth = 0
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 2 if char == "\\" else 1
            if char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if depth == 0:
                    break
        self._at = min(self._at, len(self._text))


# Statements about images and flavors, from commands of the clients.
#
# Sources of the options: python-openstackclient 10.5.0 (``image/v2/image.py``,
# ``compute/v2/flavor.py``), python-glanceclient 4.13.0 and python-novaclient 18.13.1
# (``v2/shell.py``).

CLIENTS = frozenset({"openstack", "glance", "nova"})

_BEFORE = frozenset({
    "!", "if", "then", "elif", "else", "while", "until", "do", "{", "time", "sudo", "exec",
    "command", "env", "nohup", "eval", "retry",
})  # fmt: skip
"""Words after which a command begins."""

_FLAGS = frozenset({
    "--public", "--private", "--shared", "--community", "--protected", "--unprotected", "--force",
    "--progress", "--import", "--activate", "--deactivate", "--accept", "--reject", "--pending",
    "--hidden", "--unhidden", "--no-property", "--insecure", "--debug", "--timing", "--verbose",
    "--quiet", "--noindent", "--print-empty", "--fit-width", "--os-beta-command", "--verify",
    "--copy-from-cache",
})  # fmt: skip
"""Long options without a value; all others have one."""

_SHORT_WITH_VALUE = frozenset({"-f", "-c"})

_UUID = re.compile(r"[0-9a-fA-F-]{32,36}")

_OWN_OPTIONS = {
    "--os-distro": "os_distro",
    "--os_distro": "os_distro",
    "--architecture": "architecture",
}
"""Image properties that have their own option."""


class _Call(NamedTuple):
    """A command line taken apart. ``options`` are in order; ``open_ended``: one of its words may
    expand to further options."""

    plain: tuple[Word, ...]
    options: tuple[tuple[str, Word], ...]
    open_ended: bool


Place = Callable[[Word], Location]
Key = Callable[[Word], object]


def definitions(command: Command, place: Place, key: Key) -> Iterator[Statement]:
    """The image or flavor statements of a command; none for any other command. ``place`` gives a
    word's location, ``key`` distinguishes two names."""
    start = _client(command)
    if start is None:
        return
    client, call = command[start].text.rpartition("/")[2], _taken_apart(command[start + 1 :])
    verb = [word.text for word in call.plain[:3]]
    if client == "openstack" and verb[:1] in (["image"], ["flavor"]) and len(verb) > 1:
        kind: Kind = "image" if verb[0] == "image" else "flavor"
        if verb[1] in ("create", "set", "unset"):
            yield _openstack(kind, verb[1], call, command[start], place, key)
    elif client == "glance" and verb[:1] in (["image-create"], ["image-update"]):
        yield _glance(verb[0] == "image-create", call, command[start], place, key)
    elif client == "nova" and verb[:1] == ["flavor-key"] and verb[2:3] == ["set"]:
        yield _nova_key(call, command[start], place, key)


def _client(command: Command) -> int | None:
    """Index of the client's name, if the command runs one."""
    wrapped = False
    for number, word in enumerate(command):
        if word.certain and word.text.rpartition("/")[2] in CLIENTS:
            return number
        assignment = "=" in word.text and word.text.partition("=")[0].isidentifier()
        option = wrapped and word.text.startswith("-")
        if word.text not in _BEFORE and not assignment and not option:
            return None
        wrapped = wrapped or word.text in ("sudo", "env", "time", "command", "exec")
    return None


def _taken_apart(words: Command) -> _Call:
    plain: list[Word] = []
    options: list[tuple[str, Word]] = []
    open_ended = only_plain = False
    rest = iter(words)
    for word in rest:
        text = word.text
        if word.splits and not text.startswith("-"):
            open_ended = True
        if only_plain or not text.startswith("-") or text == "-":
            plain.append(word)
        elif text == "--":
            only_plain = True
        elif text.startswith("--") and "=" in text:
            name, _equals, value = text.partition("=")
            options.append((name, word._replace(text=value)))
        elif (text.startswith("--") and text not in _FLAGS) or text in _SHORT_WITH_VALUE:
            value_word = next(rest, None)
            if value_word is not None:
                options.append((text, value_word))
    return _Call(tuple(plain), tuple(options), open_ended)


def _openstack(
    kind: Kind, verb: str, call: _Call, command: Word, place: Place, key: Key
) -> Statement:
    name = call.plain[-1] if len(call.plain) > 2 else command
    # one name is required: an unquoted $NAME alone must be that name
    open_ended = (call.open_ended and len(call.plain) > 3) or _only_splitting_name(call)
    removed = tuple(word.text for option, word in call.options if option == "--property")
    unset = verb == "unset"
    return Statement(
        kind,
        name.text if len(call.plain) > 2 else "",
        place(command),
        () if unset else _properties(call, place, kind),
        key(name),
        creates=verb == "create",
        open_ended=open_ended,
        vcpus=_vcpus(call, verb) if kind == "flavor" else None,
        disk_format=_openstack_format(call, verb),
        removed=removed if unset else (),
        has_certain_name=_is_name(name),
    )


def _is_name(word: Word) -> bool:
    return _is_said(word) and _UUID.fullmatch(word.text) is None


def _is_said(word: Word) -> bool:
    """True if neither the shell nor an earlier placeholder replaces the word."""
    return word.certain and not is_only_placeholder(word.text)


def _only_splitting_name(call: _Call) -> bool:
    """True if the only name is ``${ARGS[@]}``, which may expand to anything."""
    return len(call.plain) == 3 and "@" in call.plain[2].text and call.plain[2].splits


def _glance(creates: bool, call: _Call, command: Word, place: Place, key: Key) -> Statement:
    named = [word for option, word in call.options if option == "--name"]
    plain = list(call.plain[1:])
    name = (named if creates else plain or named) or [command]
    return Statement(
        "image",
        name[0].text if name[0] is not command else "",
        place(command),
        _properties(call, place, "image"),
        key(name[0]),
        creates=creates,
        open_ended=call.open_ended and (creates or len(plain) > 1),
        disk_format=_certain(call, "--disk-format"),
        has_certain_name=_is_name(name[0]),
    )


def _nova_key(call: _Call, command: Word, place: Place, key: Key) -> Statement:
    """The statement of ``nova flavor-key NAME set k=v …``."""
    pairs = (_property(word, place) for word in call.plain[3:])
    return Statement(
        "flavor",
        call.plain[1].text,
        place(command),
        tuple(found for found in pairs if found is not None),
        key(call.plain[1]),
        creates=False,
        has_certain_name=_is_name(call.plain[1]),
    )


def _properties(call: _Call, place: Place, kind: Kind) -> tuple[Property, ...]:
    found = []
    for option, word in call.options:
        if option == "--property":
            found.append(_property(word, place))
        elif kind == "image" and option in _OWN_OPTIONS:
            name = _OWN_OPTIONS[option]
            found.append(Property(name, word.text, place(word), _is_said(word)))
    return tuple(each for each in found if each is not None)


def _property(word: Word, place: Place) -> Property | None:
    """``key=value``; None if the key is not certain."""
    name, equals, value = word.text.partition("=")
    if not equals or not (word.certain or _is_plain(name)):
        return None
    return Property(name, value, place(word), word.certain and not is_only_placeholder(value))


def _is_plain(name: str) -> bool:
    return not any(char in name for char in ("$", "`", HOLE))


def _vcpus(call: _Call, verb: str) -> int | None:
    """Number of vCPUs; the client's default for a new flavor is 1."""
    given = [word for option, word in call.options if option == "--vcpus"]
    if not given:
        return 1 if verb == "create" and not call.open_ended else None
    return whole_number(given[-1].text) if given[-1].certain else None


def _openstack_format(call: _Call, verb: str) -> str | None:
    """The disk format; the client's default for a new image is raw."""
    if verb == "create" and not call.open_ended and not _has_option(call, "--disk-format"):
        return "raw"
    return _certain(call, "--disk-format")


def _has_option(call: _Call, option: str) -> bool:
    return any(name == option for name, _word in call.options)


def _certain(call: _Call, option: str) -> str | None:
    words = [word for name, word in call.options if name == option]
    return words[-1].text if words and _is_said(words[-1]) else None


# Shell scripts that create images and flavors with the clients.


MAX_BYTES = 2 * 1024 * 1024
"""Larger scripts are refused."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(?:\[[^]]*\])?\+?=")


def read(data: bytes, *, target: str, file: str) -> Iterator[Record]:
    """The images and flavors, one record for each that is created, changed or both. Raises
    TargetError for a file that is too large for a script."""
    if len(data) > MAX_BYTES:
        raise TargetError(f"larger than {MAX_BYTES >> 20} MiB: not read", file=file)
    text = with_holes(data.decode("utf-8-sig", "replace"))
    yield from records(script(text, Location(target, file)), target)


def script(text: str, where: Location, line: int = 1, column: int = 1) -> Iterator[Statement]:
    """The image and flavor statements of the commands in a text. ``line`` and ``column`` (from 1)
    are where the text begins in its file."""

    def place(word: Word) -> Location:
        first = column - 1 if word.line == 1 else 0
        return Location(
            where.target, where.file, line + word.line - 1, where.xpath, word.column + first
        )

    times: dict[str, int] = {}
    for command in commands(text):
        if any(word.text.rpartition("/")[2] in CLIENTS for word in command):
            yield from definitions(command, place, lambda word: _key(word, times))
        for name in _assigned(command):
            times[name] = times.get(name, 0) + 1


def _key(word: Word, times: dict[str, int]) -> object:
    """The key of a name: the name as written, and for a name with a variable also how often the
    variable was set before, since ``$NAME`` is another image after ``NAME=…``."""
    if word.certain:
        return word.text
    names = _VARIABLE.findall(word.text)
    return word.text, tuple(times.get(name, 0) for name in names)


def _assigned(command: Command) -> Iterator[str]:
    """Variables that a command sets."""
    if command[0].text in ("for", "read", "select"):
        yield from (word.text for word in command[1:2])
    for word in command:
        match = _ASSIGNED.match(word.text)
        if match is not None:
            yield match.group(1)
