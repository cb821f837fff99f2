"""Many host names in one: ``kvm[01:20]``, ``rack[a:f]-[1:4]``, ``n[0:9:3]``, as in Ansible. The end
is included; leading zeros set the number of digits."""

from __future__ import annotations

import re
from collections.abc import Collection

from vnicaudit.base.wording import shortened

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
