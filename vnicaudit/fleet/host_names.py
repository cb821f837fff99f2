"""Hosts of an inventory: ranges of names, groups, checks of names, addresses, users and URIs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from vnicaudit.base.wording import shortened
from vnicaudit.errors import UsageError
from vnicaudit.text.secrets import is_secret_name

# Many host names in one: ``kvm[01:20]``, ``rack[a:f]-[1:4]``, ``n[0:9:3]``, as in Ansible. The end
# is included; leading zeros set the number of digits.

_RANGE = re.compile(r"\[([0-9]{1,9}|[A-Za-z]):([0-9]{1,9}|[A-Za-z])(?::([0-9]{1,9}))?\]")
MOST_HOSTS = 200_000
"""Maximum hosts in one such name, and in an inventory."""
MOST_NAMED = 1_000_000
"""Maximum hosts that all names of a source stand for: a host may be named in several groups."""
MOST_GROUPS = 5_000_000
"""Maximum groups of all hosts of a source, host by host, with the parents of their groups."""
LONGEST = 253
"""Characters of a host name."""


class RangeError(ValueError):
    """An invalid range."""


class NamedHosts:
    """Expands all names of one source. Hosts and namings are counted before they are kept."""

    def __init__(self) -> None:
        self._named = 0

    def expanded(self, name: str, known: Collection[object]) -> list[str]:
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


# Groups.


def with_parents(
    file: str,
    direct: Mapping[str, Iterable[str]],
    parents: Mapping[str, Iterable[str]],
    order: Iterable[str],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each host with its groups and all their parents. ``direct``: host -> the groups that name it.
    ``parents``: group -> its own parents. ``order``: all groups, as they are to be listed. Raises
    UsageError if there are too many."""
    rank = {name: number for number, name in enumerate(order)}
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    counted = 0
    for host, names in direct.items():
        key = tuple(names)
        if key not in known:
            every, pending = set(key), list(key)
            while pending:
                more = set(parents.get(pending.pop(), ())) - every
                every |= more
                pending += more
            known[key] = tuple(sorted(every, key=rank.__getitem__))
        counted += len(known[key])
        if counted > MOST_GROUPS:
            raise UsageError(
                f"{file}: its hosts are in more than {MOST_GROUPS:,} groups, counted host by host"
            )
        yield host, known[key]


# Checks.


_NAME = re.compile(r"[^\s\x00-\x1f\x7f,!&~*?\[\]\"'`;|<>\\{}]{1,253}")
_ADDRESS = re.compile(r"(?!-)[A-Za-z0-9._:%\[\]-]{1,253}")
_USER = re.compile(r"(?!-)[A-Za-z0-9._@+$-]{1,64}")
_PASSWORD = re.compile(r"(?i):|%3a")
"""Before the last ``@``, wherever the slashes are: a password may contain one that should have been
encoded."""
_PLACEHOLDER = re.compile(r"\{(?!name\}|host\})[^{}]*\}?|\}(?<!name\})(?<!host\})")
INSTEAD = (
    "an inventory holds no secrets; use an ssh key or agent (~/.ssh/config), libvirt's auth.conf "
    "for SASL, or client certificates for TLS, and remove it here"
)


def fault_of_name(name: str) -> str:
    """Why this is not a host name; empty: it is one."""
    if _NAME.fullmatch(name) and not name.startswith("-"):
        return ""
    return f"{shortened(name)!r} is not a host name"


def fault_of_address(address: str) -> str:
    """Why this is not a host address; empty: it is one."""
    return "" if _ADDRESS.fullmatch(address) else f"{shortened(address)!r} is not a host address"


def fault_of_user(user: str) -> str:
    """Why this is not a user name; empty: it is one."""
    return "" if _USER.fullmatch(user) else f"{shortened(user)!r} is not a user name"


def fault_of_uri(uri: str) -> str:
    """Why this URI is not allowed in an inventory; empty: it is allowed. It may contain ``{name}``
    and ``{host}``."""
    if len(uri) > 2000 or any(not letter.isprintable() or letter.isspace() for letter in uri):
        return "a URI with blanks or control characters"
    if _PLACEHOLDER.search(uri):
        return "a URI with a placeholder that is neither {name} nor {host}"
    login = uri.partition("?")[0].rpartition("@")[0].partition(":")[2]  # behind the scheme
    if _PASSWORD.search(login):
        return f"a URI with a password; {INSTEAD}"
    try:
        parts = urlsplit(uri)
        _port = parts.port
        hidden = [key for key, value in parse_qsl(parts.query) if value and is_secret_name(key)]
        host = parts.hostname or ""
    except ValueError:  # whose text may quote a password
        return "not a URI: write it as qemu+ssh://USER@HOST:PORT/system"
    if hidden:
        return f"a URI with a password; {INSTEAD}"
    if unquote(host).startswith("-") or unquote(parts.username or "").startswith("-"):
        return "a URI whose host or user begins with a dash"
    return ""
