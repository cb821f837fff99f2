"""Shell scripts: the images and flavors that commands of OpenStack's clients create or change.

Sources of the options: python-openstackclient 10.5.0 (``image/v2/image.py``,
``compute/v2/flavor.py``) and python-glanceclient 4.13.0 (``v2/shell.py``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from vnicaudit.errors import TargetError
from vnicaudit.model.finding import Location
from vnicaudit.model.openstack import Property
from vnicaudit.platforms.infra_code.records import Kind, Record, Statement, records, whole_number
from vnicaudit.text.beginning import LineIndex, is_only_placeholder
from vnicaudit.text.shell import Command, Word, commands
from vnicaudit.text.template_walk import HOLE, with_holes

CLIENTS = frozenset({"openstack", "glance"})

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

    def last(self, option: str) -> Word | None:
        """The last value of an option; None if it is not given."""
        return next((word for name, word in reversed(self.options) if name == option), None)

    def certain(self, option: str) -> str | None:
        """The last value of an option, if neither the shell nor an earlier placeholder replaces
        it."""
        word = self.last(option)
        return word.text if word is not None and _is_said(word) else None


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
    # one name is required: an unquoted $NAME alone must be that name, but not ${ARGS[@]}
    anything = len(call.plain) == 3 and "@" in name.text and name.splits
    removed = tuple(word.text for option, word in call.options if option == "--property")
    unset = verb == "unset"
    return Statement(
        kind,
        name.text if len(call.plain) > 2 else "",
        place(command),
        () if unset else _properties(call, place, kind),
        key(name),
        creates=verb == "create",
        open_ended=(call.open_ended and len(call.plain) > 3) or anything,
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


def _glance(creates: bool, call: _Call, command: Word, place: Place, key: Key) -> Statement:
    named, plain = call.last("--name"), call.plain[1:]
    name = (named if creates or not plain else plain[0]) or command
    return Statement(
        "image",
        name.text if name is not command else "",
        place(command),
        _properties(call, place, "image"),
        key(name),
        creates=creates,
        open_ended=call.open_ended and (creates or len(plain) > 1),
        disk_format=call.certain("--disk-format"),
        has_certain_name=_is_name(name),
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
    if not equals or not (word.certain or {"$", "`", HOLE}.isdisjoint(name)):
        return None
    return Property(name, value, place(word), word.certain and not is_only_placeholder(value))


def _vcpus(call: _Call, verb: str) -> int | None:
    """Number of vCPUs; the client's default for a new flavor is 1."""
    vcpus = call.last("--vcpus")
    if vcpus is None:
        return 1 if verb == "create" and not call.open_ended else None
    return whole_number(vcpus.text) if vcpus.certain else None


def _openstack_format(call: _Call, verb: str) -> str | None:
    """The disk format; the client's default for a new image is raw."""
    if verb == "create" and not call.open_ended and call.last("--disk-format") is None:
        return "raw"
    return call.certain("--disk-format")


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
    yield from records(_statements(text, Location(target, file)), target)


def _statements(text: str, where: Location) -> Iterator[Statement]:
    """The image and flavor statements of the commands in a text."""
    lines = LineIndex(text)

    def place(word: Word) -> Location:
        line, column = lines.line_column(word.start)
        return Location(where.target, where.file, line, where.xpath, column)

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
