"""``--limit``: patterns of hosts and groups as in Ansible.

``a:b`` or ``a,b`` is the union; ``&b`` keeps only hosts that are also in b; ``!b`` removes hosts in
b. Whatever their position, ``&`` is applied after the union and ``!`` last. A pattern is the name
of a group or host, ``all``, ``ungrouped``, a glob, or ``~`` and a regular expression. ``web[0]``,
``web[1:3]`` and ``web[-1]`` are positions among the hosts of a pattern. ``@FILE`` has one pattern
per line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import translate

from vnicaudit.base.opening import as_usage_error, read_regular
from vnicaudit.base.wording import close_to, shortened
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import InventoryHost

_FILE_MAX = 16 << 20
_SPLIT = re.compile(r"(?:[^\s:\[\]]|\[[^\[\]]*\])+")
_IPV6 = re.compile(r"[0-9A-Fa-f]*:[0-9A-Fa-f:.]*")
_PLACE = re.compile(r"(.+)\[(-?[0-9]{1,9})(?:(:)([0-9]{0,9}))?\]")
_GLOB = frozenset("*?[")
_ALL, _UNGROUPED = "all", "ungrouped"


class LimitedHosts:
    """Selects hosts by a limit, in the order of the inventory. ``unmatched``: patterns that matched
    nothing."""

    def __init__(self, hosts: Sequence[InventoryHost], groups: Iterable[str]) -> None:
        self._names = [host.name for host in hosts]
        self._hosts = {host.name: host for host in hosts}
        self._groups: dict[str, list[str]] = {name: [] for name in groups}
        for host in hosts:
            for group in host.groups:
                self._groups.setdefault(group, []).append(host.name)
        self._groups[_ALL] = self._names
        self._groups[_UNGROUPED] = [host.name for host in hosts if not host.groups]
        self.unmatched: list[str] = []

    def limited(self, limit: str) -> tuple[InventoryHost, ...]:
        """The hosts selected by a limit. Raises UsageError if it selects none, and for an invalid
        pattern."""
        # the exact name of a host takes precedence over colons and commas in it, as in a URI
        patterns = [limit] if limit in self._hosts else list(_patterns(limit))
        chosen = self._union([one for one in patterns if one[0] not in "&!"] or [_ALL])
        for pattern in patterns:
            if pattern[0] == "&":
                chosen &= set(self._matches(pattern[1:]))
        for pattern in patterns:
            if pattern[0] == "!":
                chosen -= set(self._matches(pattern[1:]))
        if not chosen:
            raise UsageError(f"--limit {shortened(limit)!r} leaves no host{self._hint()}")
        return tuple(self._hosts[name] for name in self._names if name in chosen)

    def _hint(self) -> str:
        known = [*self._groups, *self._names]
        return next((hint for one in self.unmatched if (hint := close_to(one, known))), "")

    def _union(self, patterns: Iterable[str]) -> set[str]:
        return {name for pattern in patterns for name in self._matches(pattern)}

    def _matches(self, pattern: str) -> list[str]:
        """The hosts of one pattern, in order."""
        if pattern.startswith("~"):
            found = self._by_expression(pattern[1:])
        elif pattern in self._hosts:
            # the exact name of a host takes precedence over brackets in it
            found = [pattern]
        else:
            found = self._at_places(pattern)
        if not found:
            self.unmatched.append(pattern)
        return found

    def _by_expression(self, text: str) -> list[str]:
        try:
            expression = re.compile(text)
        except (re.error, OverflowError, RecursionError) as error:
            raise UsageError(
                f"--limit: ~{shortened(text)}: not a regular expression: {error}"
            ) from None
        return self._of_groups_and_hosts(lambda name: expression.match(name) is not None)

    def _at_places(self, pattern: str) -> list[str]:
        """The hosts at the positions in a pattern; all its hosts if it has no positions."""
        place = _PLACE.fullmatch(pattern)
        if place is None:
            return self._by_name(pattern)
        hosts = self._by_name(place[1])
        first = int(place[2])
        if place[3] is None:
            return hosts[first:][:1] if first >= -len(hosts) else []
        if first < 0:
            raise UsageError(f"--limit: {shortened(pattern)}: [FIRST:LAST] counts from 0")
        last = int(place[4] or -1)
        return hosts[first : last + 1 if last != -1 else None]

    def _by_name(self, pattern: str) -> list[str]:
        """The hosts of the group or host with that name, or of all that match a glob."""
        if not _GLOB.intersection(pattern):
            if pattern in self._groups and "." not in pattern:
                return self._groups[pattern]
            return self._of_groups_and_hosts(lambda name: name == pattern)
        expression = re.compile(translate(pattern))
        return self._of_groups_and_hosts(lambda name: expression.match(name) is not None)

    def _of_groups_and_hosts(self, matches: Callable[[str], bool]) -> list[str]:
        """The hosts of all matching groups, and matching hosts, in order."""
        found = {name for group in filter(matches, self._groups) for name in self._groups[group]}
        return [name for name in self._names if name in found or matches(name)]


def _patterns(limit: str) -> Iterable[str]:
    """The patterns of a limit, including those in files."""
    for pattern in _split(limit):
        if pattern.startswith("@"):
            with as_usage_error(pattern[1:]):
                text = read_regular(pattern[1:], _FILE_MAX).decode("utf-8", "replace")
            yield from filter(None, map(str.strip, text.split("\n")))
        else:
            yield pattern


def _split(limit: str) -> list[str]:
    """Split at commas. Without commas, split at colons, except inside brackets or if all of it is
    an IPv6 address."""
    if "," in limit:
        parts = limit.split(",")
    elif _IPV6.fullmatch(limit) and limit.count(":") > 1:
        parts = [limit]
    else:
        parts = _SPLIT.findall(limit)
    return [part.strip() for part in parts if part.strip()]
