"""Read a host in a sosreport or must-gather: its files, and what commands printed, by name.

sos names a file after its command: ``/`` becomes ``.``, a blank ``_``, and programs of a snap keep
its prefix (sos 4.2 ``_mangle_command`` in sos/report/plugins/__init__.py). A command that failed
has left its message there: that is unknown, and nothing else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase

from vnicaudit.platforms.host.copied_tree import CopiedTree
from vnicaudit.platforms.host.readings import HostCommand, HostFact, HostReadings

_HEAD = 2000
"""Characters of the first two lines, in which a message of failure is looked for."""
_FAILED = re.compile(
    r"^(?:timeout: (?:failed to run command|sending signal)|usage: |netlink error: |Object \""
    r"|(?:\S{1,80}: ){0,2}(?:unrecognized|unknown|invalid) (?:option|command|argument)"
    r"|Option \"[^\"\n]{0,80}\" is unknown|Command line is not complete"
    r"|(?:\S{1,80}: ){1,2}command not found|\S{1,80}: (?:[^\n]{0,120}: (?:server returned an error"
    r"|database connection failed|No such file or directory|Permission denied"
    r"|Connection refused|cannot connect to))|Device \"[^\"\n]{0,80}\" does not exist)",
    re.IGNORECASE | re.MULTILINE,
)


class TreeReadings:
    """The readings in a tree. Counters were read once."""

    window: float | None = None

    def __init__(self, tree: CopiedTree, facts: Iterable[HostFact]) -> None:
        self._tree = tree
        self._commands = {command.name: command for fact in facts for command in fact.commands}

    def text(self, path: str) -> str | None:
        """The content of a file."""
        return self._tree.text(path)

    def texts(self, pattern: str) -> Mapping[str, str]:
        """The files that match a pattern."""
        found = ((path, self._tree.text(path)) for path in self._tree.matching(pattern))
        return {path: text for path, text in found if text is not None}

    def output(self, command: str) -> str | None:
        """The output of a command: the first that succeeded. Of one for all devices at once, the
        outputs for each of them, as they stand in it behind one another."""
        known = self._commands.get(command)
        if known is None:
            return None
        if "'*'" in command:
            return "\n".join(text for _path, text in self._printed(known, "*")) or None
        return next((text for _path, text in self._printed(known, "")), None)

    def outputs(self, command: str) -> Mapping[str, str]:
        """The outputs of a command for each device."""
        known = self._commands.get(command)
        if known is None:
            return {}
        found: dict[str, str] = {}
        for pattern in known.sos:
            for path, text in self._printed(known._replace(sos=(pattern,)), "*"):
                found.setdefault(_device(os.path.basename(path), os.path.basename(pattern)), text)
        return found

    def later(self) -> HostReadings:
        """There is no second reading."""
        return self

    def _printed(self, command: HostCommand, ending: str) -> Iterator[tuple[str, str]]:
        """Path and text of the files of a command, by its patterns with that ending (``*``: one
        file for each device), in which it did not fail."""
        for pattern in command.sos:
            if pattern.endswith("*") != (ending == "*"):
                continue
            for path in self._tree.matching(pattern):
                text = self._tree.text(path)
                if text and (pattern.startswith("var/log") or not is_failure(text)):
                    yield path, text


def is_failure(text: str) -> bool:
    """True for what a command prints that cannot be run, or does not know its arguments."""
    return _FAILED.search("\n".join(text[:_HEAD].split("\n", 2)[:2])) is not None


def _device(name: str, pattern: str) -> str:
    """The part of a name for which the last ``*`` of a pattern stands, with a class before it."""
    before = re.sub(r"\[[^\]]*\]\*\Z|\*\Z", "", pattern)
    ends = (end for end in range(len(name) + 1) if fnmatchcase(name[:end], before))
    return name[next(ends, 0) :]
