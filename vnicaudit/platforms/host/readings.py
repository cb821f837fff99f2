"""Everything that one visit to a host brings, for the parsers of facts: files and outputs by name.

A live host answers one script, which prints all of it in sections; a recording has the same
sections; a sosreport has files, some of which hold what a command printed. A parser sees only
:class:`HostReadings`, so that it gives the same record for all of them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from vnicaudit.model.host import Section
from vnicaudit.model.host_facts import CpuFacts, HostFacts

_T = TypeVar("_T")


class HostReadings(Protocol):
    """Everything that was read of one host. None: not read, missing, or failed; never *empty*."""

    window: float | None
    """Seconds until the second reading of counters; None: there is none."""

    def text(self, path: str) -> str | None:
        """The content of a file, by its absolute path on the host."""

    def texts(self, pattern: str) -> Mapping[str, str]:
        """Path -> content of the files that match a pattern (``*`` does not match ``/``)."""

    def output(self, command: str) -> str | None:
        """The output of a command, by the name under which its fact has it, if it succeeded."""

    def outputs(self, command: str) -> Mapping[str, str]:
        """Device -> the output of a command that was run for each device."""

    def later(self) -> HostReadings:
        """The second reading of counters; itself where there was only one."""


class HostCommand(NamedTuple):
    """A command that a fact reads. ``sos``: names of files in which a sosreport has what it prints,
    as patterns below its root; of several devices, the device is what the last ``*`` stands for."""

    name: str
    """As it is typed in a shell (``ethtool -k '*'``); in recordings it names the section."""
    sos: tuple[str, ...] = ()
    is_counter: bool = False
    """It is run a second time after the window."""
    is_run: bool = True
    """False: a live host is not asked for it, as its files tell the same; a sosreport has it."""


class Excerpt(NamedTuple):
    """Files of which only what matches an extended regular expression is read, each match as a line
    of its own: they may hold passwords. In a sosreport they are whole."""

    expression: str
    files: tuple[str, ...]


class HostFact(NamedTuple):
    """One fact: what is read for it, and the parser that makes fields of it."""

    name: str
    read: Callable[[HostReadings], dict[str, object]] = lambda _readings: {}
    """Fields of :class:`~vnicaudit.model.host_facts.HostFacts`, or of its ``cpus``; those that
    nothing tells are None, or left out. Never raises: its input is whatever a host prints."""
    files: tuple[str, ...] = ()
    """Patterns of files that are read, as absolute paths."""
    counters: tuple[str, ...] = ()
    """Patterns of files that are read a second time after the window."""
    commands: tuple[HostCommand, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()
    present: tuple[str, ...] = ()
    """Patterns of files and folders of which only the names are read; each has an empty text."""
    script: str = ""
    """Lines of shell of its own, before those of commands, for what has no command: they print
    sections with ``part`` and ``fact`` (:mod:`vnicaudit.reaching.sections`)."""
    counter_script: str = ""
    """The same for counters: it is run a second time after the window."""
    of_cpus: bool = False
    """The fields are those of ``HostFacts.cpus``."""
    in_container: bool = True
    """False: a container tells its own, or its host's without the names it has there; it is not
    asked."""

    def patterns(self) -> Iterator[str]:
        """Patterns of all files that it is read from, also in a sosreport."""
        yield from (*self.files, *self.counters, *self.present)
        yield from (path for excerpt in self.excerpts for path in excerpt.files)
        yield from (path for command in self.commands for path in command.sos)


TIME = "/proc/uptime"
LATER = "later"
"""The section behind which the second reading of counters begins."""
_FILES = "files"
"""Name of the sections with files: their contents, excerpts of them, or only their names."""
_COMMAND_SECONDS = 10
_DIGITS = 20


_CONTENTS = r"""
if printf x | grep -qZ x 2>/dev/null; then
    contents() { printf '%s\0' "$@" | limited xargs -0 grep -asHZ ''; true; }
else # BusyBox
    contents() {
        for path; do
            # by cat: a shell reads bytes one by one, and /proc/sys gives the first one alone then
            [ ! -f "$path" ] || cat "$path" | while IFS= read -r line || [ -n "$line" ]; do
                printf '%s\0%s\n' "$path" "$line"
            done
        done 2>/dev/null
        true
    }
fi
""".strip()
"""Prints each line of files behind the file's name and a NUL."""


_WAIT = """
part waiting
seconds=${window%.*} rest=
case $window in *.*) rest=.${window#*.} ;; esac
while [ "${seconds:=0}" -gt 1 ]; do sleep 1; seconds=$((seconds - 1)); echo; done
sleep "$seconds$rest"
""".strip()
"""Waits for the window; the line of each second ends the script where nobody reads it any more."""


def script_for(facts: Iterable[HostFact]) -> str:
    """The script that reads these facts in one go; its argument is the window in seconds, 0 for
    none. Files are handed to grep by xargs, as their names may be more than one program takes."""
    facts = tuple(facts)
    files = _unique(pattern for fact in facts for pattern in (*fact.files, *fact.counters))
    counters = _unique((TIME, *(pattern for fact in facts for pattern in fact.counters)))
    present = _unique(pattern for fact in facts for pattern in fact.present)
    excerpts = _unique(excerpt for fact in facts for excerpt in fact.excerpts)
    commands = _unique(command for fact in facts for command in fact.commands if command.is_run)
    scripts = [fact.counter_script for fact in facts if fact.counter_script]
    again = [command for command in commands if command.is_counter]
    return "\n".join([
        "window=$1",
        f"limited() {{ if command -v timeout >/dev/null; then timeout {_COMMAND_SECONDS} \"$@\"; "
        'else "$@"; fi; }',
        _CONTENTS,
        "excerpt() { expression=$1; shift; "
        "printf '%s\\0' \"$@\" | limited xargs -0 grep -aosHZE \"$expression\"; true; }",
        "present() { for each; do [ ! -e \"$each\" ] || printf '%s\\0\\n' \"$each\"; done; }",
        f"fact {_FILES} contents {' '.join((TIME, *files))}",
        *([f"fact {_FILES} present {' '.join(present)}"] if present else []),
        *(
            f"fact {_FILES} excerpt {shlex.quote(each.expression)} {' '.join(each.files)}"
            for each in excerpts
        ),
        *(fact.script for fact in facts if fact.script),
        *scripts,
        *(_line(command) for command in commands),
        'if [ "$window" != 0 ]; then',
        _WAIT,
        f"part {LATER}",
        f"fact {_FILES} contents {' '.join(counters)}",
        *(_line(command) for command in again),
        *scripts,
        "fi",
    ])  # fmt: skip


def _line(command: HostCommand) -> str:
    return f"fact {shlex.quote(command.name)} limited {command.name}"


def _unique(items: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(items))


class SectionReadings:
    """The answer of a host to the script, or a recording of it."""

    def __init__(self, sections: Sequence[Section]) -> None:
        names = [section.name for section in sections]
        end = names.index(LATER) if LATER in names else len(names)
        self._outputs = {
            each.name: each.text for each in sections[:end] if not each.code and each.name != _FILES
        }
        self._files = files_in("\n".join(s.text for s in sections[:end] if s.name == _FILES))
        self._later: SectionReadings | None = None
        self.window: float | None = None
        if end < len(names):
            self._later = SectionReadings(sections[end + 1 :])
            self.window = _seconds_between(self, self._later)

    def text(self, path: str) -> str | None:
        """The content of a file."""
        return self._files.get(path)

    def texts(self, pattern: str) -> Mapping[str, str]:
        """The files that match a pattern."""
        return matching(self._files, pattern)

    def output(self, command: str) -> str | None:
        """The output of a command."""
        return self._outputs.get(command)

    def outputs(self, command: str) -> Mapping[str, str]:
        """The outputs of a command for each device."""
        start = f"{command} "
        return {
            name[len(start) :]: text
            for name, text in self._outputs.items()
            if name.startswith(start)
        }

    def later(self) -> HostReadings:
        """The second reading of counters."""
        return self._later or self


def files_in(text: str) -> dict[str, str]:
    """Path -> content, from the lines of ``grep -HZ``: path, a NUL, and a line of the file."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        path, end, content = line.partition("\0")
        if end:
            found.setdefault(path, []).append(content)
    return {path: "\n".join(lines) for path, lines in found.items()}


def matching(files: Mapping[str, str], pattern: str) -> dict[str, str]:
    """Those of the files whose paths match a pattern, part by part."""
    matches = re.compile(expression_of(pattern)).fullmatch
    return {path: text for path, text in files.items() if matches(path)}


def expression_of(pattern: str) -> str:
    """The regular expression for the paths of a shell pattern."""
    signs = {"*": "[^/]*", "?": "[^/]"}
    return "".join(
        signs.get(part) or (part.replace("[!", "[^", 1) if part[0] == "[" else re.escape(part))
        for part in re.findall(r"\[[^]]+\]|[*?]|[^*?\[]+", pattern)
    )


def number_in(text: str) -> int | None:
    """A count in decimal digits; None: it is none, or longer than a counter of the kernel."""
    return int(text) if len(text) <= _DIGITS and text.isascii() and text.isdigit() else None


def _seconds_between(first: HostReadings, second: HostReadings) -> float | None:
    times = [_uptime(each.text(TIME)) for each in (first, second)]
    start, end = times
    return end - start if start is not None and end is not None and end > start else None


def _uptime(text: str | None) -> float | None:
    word = (text or "").partition(" ")[0]
    return float(word) if re.fullmatch(r"\d{1,10}\.\d\d", word) else None


def facts_from(readings: HostReadings, facts: Iterable[HostFact]) -> HostFacts:
    """The record of everything that these facts tell."""
    fields: dict[str, object] = {"window": readings.window}
    of_cpus: dict[str, object] = {}
    for fact in facts:
        if fields.get("container") and not fact.in_container:
            continue
        (of_cpus if fact.of_cpus else fields).update(fact.read(readings))
    empty = HostFacts(cpus=msgspec.structs.replace(CpuFacts(), **of_cpus))
    return msgspec.structs.replace(empty, **fields)
