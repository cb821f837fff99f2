"""Reads Ansible's INI inventories without Ansible."""

from __future__ import annotations

import ast
import re
import shlex

from vnicaudit.base.wording import shortened
from vnicaudit.errors import UsageError
from vnicaudit.fleet.inventory.ansible_groups import UNGROUPED, AnsibleGroups
from vnicaudit.fleet.inventory.ranges import RangeError

_SECTION = re.compile(r"\[\s*([^:\]\s]+)(?::(\w+))?\s*\]\s*(?:#.*)?")
_PORT = re.compile(r"(.*[^:]|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})")
_KINDS = ("hosts", "children", "vars")
_VALUE_MAX = 4096
_COMMENTS = ("#", ";")


def read_ini(file: str, text: str) -> AnsibleGroups:
    """The inventory in such a file. Raises UsageError if it is invalid."""
    reader = _IniReader(file)
    for number, line in enumerate(text.split("\n"), 1):
        reader.take(number, line.strip())
    reader.end()
    return reader.groups


class _IniReader:
    """Reader of one file."""

    def __init__(self, file: str) -> None:
        self.groups = AnsibleGroups(file)
        self._file = file
        self._section = (UNGROUPED, "hosts")
        self._declared: set[str] = {"all", UNGROUPED}
        self._named: dict[str, int] = {}
        """Groups that are used as children or have variables -> line number of that use."""

    def take(self, number: int, line: str) -> None:
        """Read one line."""
        if not line or line.startswith(_COMMENTS):
            return
        if line.startswith("["):
            self._begin(number, line)
            return
        name, kind = self._section
        if kind == "children":
            self._child(number, name, line)
        elif kind == "vars":
            key, value = self._assignment(number, line)
            self.groups.set_variables(name, {key: value})
        else:
            self._host(number, name, line)

    def end(self) -> None:
        """Finish reading. Raises UsageError for a group that is used but never declared."""
        for name, number in self._named.items():
            if name not in self._declared:
                raise self._error(number, f"there is no group {shortened(name)!r}")
        self.groups.finish()

    def _begin(self, number: int, line: str) -> None:
        found = _SECTION.fullmatch(line)
        kind = found[2] or "hosts" if found else ""
        if found is None or kind not in _KINDS:
            raise self._error(number, (
                "write a section as [group], [group:children] or [group:vars]"
            ))  # fmt: skip
        self._section = (found[1], kind)
        self.groups.add_group(found[1])
        if kind == "vars":
            self._named.setdefault(found[1], number)
        else:
            self._declared.add(found[1])

    def _child(self, number: int, parent: str, line: str) -> None:
        words = self._words(number, line)
        if len(words) != 1:
            raise self._error(number, "[group:children] needs one group per line")
        self._named.setdefault(words[0], number)
        self.groups.add_child(parent, words[0])

    def _host(self, number: int, group: str, line: str) -> None:
        words = self._words(number, line)
        if not words:
            return
        variables = dict(self._assignment(number, word, of_host=True) for word in words[1:])
        name = words[0]
        if (found := _PORT.fullmatch(name)) and not _is_bare_ipv6(name):
            name = found[1]
            variables.setdefault("ansible_port", int(found[2]))
        try:
            self.groups.add_hosts(name, group, f"{self._file}:{number}", variables)
        except RangeError as error:
            raise self._error(number, str(error)) from None

    def _words(self, number: int, line: str) -> list[str]:
        try:
            return shlex.split(line, comments=True)
        except ValueError as error:
            raise self._error(number, f"{error}") from None

    def _assignment(self, number: int, text: str, *, of_host: bool = False) -> tuple[str, object]:
        key, equals, value = text.partition("=")
        if not equals:
            what = "write a host's variables as" if of_host else "write a variable as"
            raise self._error(number, f"{what} NAME=VALUE, not {shortened(key)!r}")
        return key.strip(), _literal(value.strip())

    def _error(self, number: int, message: str) -> UsageError:
        return UsageError(f"{self._file}:{number}: {message}")


def _is_bare_ipv6(name: str) -> bool:
    return name.count(":") > 1 and not name.startswith("[") and "[" not in name


def _literal(text: str) -> object:
    """A number, a boolean or a quoted string in Python's notation; anything else is returned as
    text, since other types are not needed here."""
    if len(text) > _VALUE_MAX or not re.fullmatch(r"""[-+.\w]+|"[^"\\]*"|'[^'\\]*'""", text):
        return text
    try:
        value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return value
