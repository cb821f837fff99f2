"""Inventories of Ansible: groups, ranges, INI files, and the output of ``ansible-inventory``."""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping

import msgspec

from vnicaudit.base.wording import shortened
from vnicaudit.bench.endpoints.reach.process import run_here
from vnicaudit.errors import EndpointError, UsageError
from vnicaudit.model.decoding import json_as
from vnicaudit.text.secrets import masked_message

# Many host names in one: ``kvm[01:20]``, ``rack[a:f]-[1:4]``, ``n[0:9:3]``, as in Ansible. The end
# is included; leading zeros set the number of digits.


_RANGE = re.compile(r"\[([0-9]{1,9}|[A-Za-z]):([0-9]{1,9}|[A-Za-z])(?::([0-9]{1,9}))?\]")
MOST_HOSTS = 200_000
"""Maximum hosts in one such name, and in an inventory."""
MOST_NAMED = 1_000_000
"""Maximum hosts that all names of a source stand for: a host may be named in several groups."""
MOST_GROUPS = 5_000_000
"""Maximum groups of all hosts of a source, host by host, with the parents of their groups."""
TOO_MANY_GROUPS = f"its hosts are in more than {MOST_GROUPS:,} groups, counted host by host"
LONGEST = 253
"""Characters of a host name."""


class RangeError(ValueError):
    """An invalid range."""


class NamedHosts:
    """Expands all names of one source. Hosts and namings are counted before they are kept."""

    def __init__(self) -> None:
        self._named = 0

    def expanded(self, name: str, known: Collection[str]) -> list[str]:
        """The names of a range, in order; ``known``: the hosts so far. Raises RangeError."""
        names = expanded(name)
        self._named += len(names)
        if self._named > MOST_NAMED or len(known) > MOST_HOSTS:
            raise RangeError(
                f"{shortened(name)}: the inventory names more than {MOST_HOSTS:,} hosts, or hosts "
                f"more than {MOST_NAMED:,} times"
            )
        return names


def expanded(name: str) -> list[str]:
    """The names of a range, in order. Raises RangeError, also for more than ``MOST_HOSTS``."""
    if len(_RANGE.sub("", name)) > LONGEST:
        raise RangeError(f"{shortened(name)}: longer than a host name")
    names = [""]
    position = 0
    for found in _RANGE.finditer(name):
        before = name[position : found.start()]
        values = _values(found)
        if len(names) * len(values) > MOST_HOSTS:
            raise RangeError(f"{shortened(name)}: expands to more than {MOST_HOSTS:,} hosts")
        names = [f"{one}{before}{value}" for one in names for value in values]
        position = found.end()
    rest = name[position:]
    if any(bracket in text for bracket in "[]" for text in (rest, names[0])):
        raise RangeError(f"{shortened(name)}: not a range of hosts; write it as [01:20] or [a:f]")
    return [f"{one}{rest}" for one in names]


def _values(found: re.Match[str]) -> list[str]:
    first, last, step = found[1], found[2], int(found[3] or 1)
    if not step:
        raise RangeError(f"{found[0]}: steps of 0")
    values = _numbers(first, last, step) if first.isdigit() else _letters(first, last, step)
    if not values:
        raise RangeError(f"{found[0]}: ends before it begins")
    return values


def _numbers(first: str, last: str, step: int) -> list[str]:
    if not last.isdigit():
        raise RangeError(f"[{first}:{last}]: from a number to a letter")
    if first[0] == "0" and len(first) > 1 and len(first) != len(last):
        raise RangeError(
            f"[{first}:{last}]: both ends need the same number of digits if one begins with 0"
        )
    numbers = range(int(first), int(last) + 1, step)
    if len(numbers) > MOST_HOSTS:
        raise RangeError(f"[{first}:{last}]: expands to more than {MOST_HOSTS:,} hosts")
    width = len(first) if first[0] == "0" else 0
    return [f"{number:0{width}d}" for number in numbers]


def _letters(first: str, last: str, step: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    if not last.isalpha():
        raise RangeError(f"[{first}:{last}]: from a letter to a number")
    return list(letters[letters.index(first) : letters.index(last) + 1 : step])


# Groups, hosts and variables of an Ansible inventory, and the resulting variables of each host.
#
# Variables of a deeper group override those of its parents. Among groups of the same depth, the one
# with the higher ``ansible_group_priority`` wins, then the one whose name is later in the alphabet;
# a host's own variables override all. The depth of a group is its longest path from ``all``.
# (Documented under "How variables are merged"; tests compare with the real ``ansible-inventory``.)


ALL, UNGROUPED = "all", "ungrouped"
Variables = dict[str, object]

_PRIORITY = "ansible_group_priority"
USED = frozenset({
    _PRIORITY, "ansible_connection", "ansible_host", "ansible_ssh_host", "ansible_user",
    "ansible_ssh_user", "ansible_port", "ansible_ssh_port", "ansible_ssh_private_key_file",
    "vnicaudit_uri", "vnicaudit_site", "vnicaudit_deadline", "vnicaudit_agent",
})  # fmt: skip
"""Variables that are used. No other is kept: it may be a secret, and there may be any number."""


class AnsibleGroups:
    """An inventory being put together. ``file``: used in messages."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.groups: dict[str, Variables] = {ALL: {}, UNGROUPED: {}}
        self._names = NamedHosts()
        self._by_groups: dict[tuple[str, ...], tuple[tuple[str, ...], Variables]] = {}
        self.own: dict[str, Variables] = {}
        """Each host's own variables."""
        self.places: dict[str, str] = {}
        """First place in the file that names each host."""
        self._members: dict[str, dict[str, None]] = {}
        self._children: dict[str, dict[str, None]] = {}
        self._parents: dict[str, list[str]] = {}
        self._depths: dict[str, int] = {}
        self._ranks: dict[str, tuple[int, int, str]] = {}
        self._groups_with: dict[str, list[str]] = {}

    def add_group(self, name: str) -> None:
        """Add a group, unless it exists."""
        self.groups.setdefault(name, {})

    def add_child(self, parent: str, child: str) -> None:
        """Make a group the child of another."""
        self.add_group(parent)
        self.add_group(child)
        self._children.setdefault(parent, {})[child] = None

    def set_variables(self, group: str, variables: Mapping[str, object]) -> None:
        """Give a group variables; later ones override earlier ones."""
        self.add_group(group)
        self.groups[group].update(_used(variables))

    def add_hosts(self, name: str, group: str, place: str, variables: Mapping[str, object]) -> None:
        """Add the hosts of a range to a group, as :meth:`add_host`. Raises RangeError."""
        used = _used(variables)
        for each in self._names.expanded(name, self.own):
            self.add_host(each, group, place, used)

    def add_host(self, name: str, group: str, place: str, variables: Mapping[str, object]) -> None:
        """Add a host to a group; later variables override earlier ones."""
        self.add_group(group)
        if name not in self._members.setdefault(group, {}):
            self._members[group][name] = None
            self._groups_with.setdefault(name, []).append(group)
        self.own.setdefault(name, {}).update(_used(variables))
        self.places.setdefault(name, place)

    def finish(self) -> None:
        """Put groups without parents below ``all``. Raises UsageError for a cycle of groups."""
        below = {child for children in self._children.values() for child in children}
        for name in self.groups:
            if name != ALL and name not in below:
                self._children.setdefault(ALL, {})[name] = None
        self._measure()
        self._ranks = {name: self._rank(name) for name in self.groups}

    def hosts(self) -> list[str]:
        """All hosts: those of a group, then those of its children in alphabetical order. Ansible
        does not keep the order between groups."""
        found: dict[str, None] = {}
        done: set[str] = set()
        pending = [ALL]
        while pending:
            group = pending.pop()
            if group in done:
                continue
            done.add(group)
            found.update(self._members.get(group, {}))
            pending += sorted(self._children.get(group, {}), reverse=True)
        return list(found)

    def settled(self) -> Iterator[tuple[str, tuple[str, ...], Variables]]:
        """Each host in order, with its groups and its variables. The groups include parents of its
        groups, but not ``all`` and ``ungrouped``; settings of later ones override those of earlier
        ones. Raises UsageError if there are too many."""
        counted = 0
        for host in self.hosts():
            groups, inherited = self._inherited(tuple(self._groups_with[host]))
            counted += len(groups)
            if counted > MOST_GROUPS:
                raise UsageError(f"{self.file}: {TOO_MANY_GROUPS}")
            yield host, groups, {**inherited, **self.own[host]}

    def _inherited(self, direct: tuple[str, ...]) -> tuple[tuple[str, ...], Variables]:
        """The groups of a host, and their variables. Hosts of the same groups share the answer."""
        known = self._by_groups.get(direct)
        if known is None:
            every = sorted(self._reached(direct), key=self._ranks.__getitem__)
            merged: Variables = {}
            for name in every:
                merged.update(self.groups[name])
            groups = tuple(name for name in every if name not in (ALL, UNGROUPED))
            known = self._by_groups[direct] = groups, merged
        return known

    def _reached(self, groups: Iterable[str]) -> set[str]:
        found = {ALL, *groups}
        pending = list(found)
        while pending:
            name = pending.pop()
            for parent in self._parents.get(name, ()):
                if parent not in found:
                    found.add(parent)
                    pending.append(parent)
        return found

    def _rank(self, name: str) -> tuple[int, int, str]:
        priority = self.groups[name].get(_PRIORITY, 1)
        try:
            number = int(str(priority))
        except ValueError:
            number = 1
        return self._depths[name], number, name

    def _measure(self) -> None:
        """Set the depth of each group: its longest path from ``all``."""
        for parent, children in self._children.items():
            for child in children:
                self._parents.setdefault(child, []).append(parent)
        waiting = {name: len(self._parents.get(name, ())) for name in self.groups}
        ready = [name for name, number in waiting.items() if not number]
        self._depths = dict.fromkeys(ready, 0)
        while ready:
            name = ready.pop()
            for child in self._children.get(name, {}):
                depth = self._depths[name] + 1
                self._depths[child] = max(self._depths.get(child, 0), depth)
                waiting[child] -= 1
                if not waiting[child]:
                    ready.append(child)
        circle = sorted(name for name, number in waiting.items() if number)
        if circle:
            raise UsageError(f"{self.file}: groups in a circle: {', '.join(circle[:5])}")


def _used(variables: Mapping[str, object]) -> Variables:
    return {name: variables[name] for name in USED.intersection(variables)}


# Reads Ansible's INI inventories without Ansible.


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


# Uses Ansible itself if installed: ``ansible-inventory --list`` reads everything that Ansible can
# read (folders, programs, plug-ins, ``group_vars``).


PROGRAM = "ansible-inventory"
_SECONDS = 120.0
_MOST = 256 << 20
_SAID_MAX = 600


class _Meta(msgspec.Struct):
    hostvars: dict[str, dict[str, object]] = {}


class _AnsibleGroup(msgspec.Struct):
    hosts: list[str] = []
    children: list[str] = []


def is_installed() -> bool:
    """True if the program is on the PATH."""
    return shutil.which(PROGRAM) is not None


def ask_ansible(path: str) -> AnsibleGroups:
    """The inventory that Ansible reads from a path. Raises UsageError if it cannot."""
    # an absolute path cannot be taken for an option or a list of hosts
    place = os.path.abspath(path)
    try:
        answer = run_here((PROGRAM, "--list", "-i", place), _SECONDS, _MOST)
    except EndpointError as error:
        raise UsageError(f"{path}: {error}") from None
    said = masked_message(answer.stderr.decode("utf-8", "replace").strip())
    if answer.code:
        raise UsageError(f"{path}: {PROGRAM}: {said[-_SAID_MAX:] or 'failed'}")
    groups = _groups(path, answer.stdout)
    if not groups.own:
        why = f": {said[-_SAID_MAX:]}" if said else ""
        raise UsageError(f"{path}: {PROGRAM} found no host in it{why}")
    return groups


def _groups(path: str, data: bytes) -> AnsibleGroups:
    try:
        parts = json_as(data, dict[str, msgspec.Raw])
        meta = json_as(bytes(parts.pop("_meta", msgspec.Raw(b"{}"))), _Meta)
        groups = {name: json_as(bytes(raw), _AnsibleGroup) for name, raw in parts.items()}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {PROGRAM} did not print an inventory: {error}") from None
    found = AnsibleGroups(path)
    for name, group in groups.items():
        found.add_group(name)
        for child in group.children:
            found.add_child(name, child)
        for host in group.hosts:
            found.add_host(host, name, f"{path} (by {PROGRAM})", meta.hostvars.get(host, {}))
    found.finish()
    return found
