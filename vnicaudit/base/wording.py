"""Words for messages and commands, and the formats of identifiers."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from os.path import commonprefix

# Words for messages: counts, quoting, and "did you mean" suggestions for unknown names.


# Names of several things, each with what distinguishes it from others of the same name.


def disambiguated(named: Iterable[tuple[str, ...]]) -> list[str]:
    """Names, each followed by what distinguishes it from others of that name, simplest first:
    ``web``; ``web (kvm2)`` if several have that name; ``web (d.xml, line 9)`` if some of these are
    in one file."""
    named = list(named)
    groups: dict[str, set[tuple[str, ...]]] = {}
    for name, *rest in named:
        groups.setdefault(name, set()).add(tuple(rest))
    alike = {name: _Alike(group) for name, group in groups.items()}
    return [alike[name].disambiguated(name, rest) for name, *rest in named]


def shared_folder(paths: Iterable[str]) -> int:
    """Characters with which all of these paths begin, up to the last slash in them; 0 for URIs."""
    shared = commonprefix(list(paths))  # noqa: RUF071 - cut at a slash
    return 0 if "://" in shared else shared.rfind("/") + 1


class _Alike:
    """Things with the same name, the positions at which their values differ, and how many of them
    share the first of these values."""

    def __init__(self, group: set[tuple[str, ...]]) -> None:
        columns = enumerate(zip(*group, strict=True))
        self._places = [place for place, values in columns if len(set(values)) > 1]
        self._shared = Counter(
            self._own(values)[:number]
            for values in group
            for number in range(1, len(self._places) + 1)
        )

    def disambiguated(self, name: str, values: Sequence[str]) -> str:
        """The name, followed by as many of the values as are needed."""
        needed: list[str] = []
        own = self._own(values)
        for number, value in enumerate(own):
            if needed and self._shared[own[:number]] == 1:
                break
            needed.extend([value] if value and value != name else [])
        return f"{name} ({', '.join(needed)})" if needed else name

    def _own(self, values: Sequence[str]) -> tuple[str, ...]:
        return tuple([values[place] for place in self._places])


_SHOWN = 80
_LONGEST = 400
"""Maximum number of characters of a message from outside."""
_LINE_LONGEST = 200
_MOST_NAMES = 5
_USAGE = re.compile(r"usage:|busybox v\d", re.IGNORECASE)
"""The beginning of the usage page that a program prints for an unknown option."""


def count(number: int, word: str) -> str:
    """``1 domain``, ``12,345 domains``."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def first_names(names: Sequence[str]) -> str:
    """``a, b, c, d, e and 7 more``: the first names, and how many others there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def close_to(word: str, known: Sequence[str]) -> str:
    """``; did you mean '…'?``, or nothing if no known word is close."""
    close = closest(word, known)
    return f"; did you mean {close!r}?" if close else ""


def closest(word: str, known: Sequence[str]) -> str:
    """The known word that was probably meant; empty if none is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word, known, 1)), "")


def shortened(text: str) -> str:
    """A user's text, cut to fit into a message; at a colon, if the ``@`` that would show a password
    before it is cut off."""
    if len(text) <= _SHOWN:
        return text
    end = text.find(":", 0, _SHOWN) + 1 if "@" in text[_SHOWN:] else 0
    return f"{text[: end or _SHOWN]}…"


def plain(text: str) -> str:
    """Text from outside on one line: control characters become spaces, long text is cut."""
    words = "".join(letter if letter.isprintable() else " " for letter in text[:_LONGEST])
    return " ".join(words.split())


def one_line(text: str, *, last: bool = False) -> str:
    """The first or last line of a program's output, short enough for a sentence and without control
    characters; empty for a usage page."""
    lines = []
    for line in text.splitlines():
        shown = "".join(one if one.isprintable() else " " for one in line).strip()
        if _USAGE.match(shown):
            break
        if shown:
            lines.append(shown)
    said = lines[-1 if last else 0] if lines else ""
    return said if len(said) <= _LINE_LONGEST else f"{said[: _LINE_LONGEST - 1]}…"


# Words of commands that are shown for copying into a shell; this is the only place that quotes
# them.
#
# UUIDs and names come from definitions, which anybody may have written.


_UUID = r"[0-9a-fA-F]{8}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}"
_KUBERNETES = r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"
"""RFC 1123, as the API server accepts names."""


def word(text: str) -> str:
    """A text quoted as one word. If it begins with a dash, it may still be taken for an option:
    unless it is an id made by a service, use :func:`path_word` or a placeholder."""
    import shlex  # slow to load; most commands are fixed words

    return shlex.quote(text)


def path_word(path: str) -> str:
    """A path quoted as one word that cannot be taken for an option."""
    return word(f"./{path}" if path.startswith("-") else path)


def ascii_word(text: str) -> str:
    """A text, or a path with bytes that are not UTF-8, as one word of printable ASCII:
    ``$'a\\012b'``, as bash, ksh and zsh read it."""
    plain = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\")
    parts = (chr(byte) if byte in plain else f"\\{byte:03o}" for byte in os.fsencode(text))
    return f"$'{''.join(parts)}'"


def uuid_word(text: str | None) -> str:
    """A valid UUID as it is; the word ``UUID`` in place of anything else."""
    return text if text is not None and re.fullmatch(_UUID, text) else "UUID"


def kubernetes_word(text: str, placeholder: str) -> str:
    """The name of a Kubernetes object; the placeholder if it cannot be a valid name."""
    return text if re.fullmatch(_KUBERNETES, text) else placeholder


# Formats of identifiers: UUIDs, MAC addresses, and ids made from the time.


MAC = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.ASCII)
"""A MAC address in lower case, two digits per byte."""
UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""A UUID with hyphens."""
ANY_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
"""A UUID with or without hyphens."""
TIME_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{4}", re.ASCII)
"""An id as made by :func:`time_id`."""


def bare_uuid(uuid: str) -> str:
    """A UUID in lower case without hyphens: libvirt accepts both spellings (virUUIDParse)."""
    return uuid.replace("-", "").lower()


def mac_hint(word: str, known: Iterable[str]) -> str:
    """``; did you mean '…'?`` with the one known MAC address that differs in one digit, or in two
    neighbours that changed places; empty where there is none, or several."""
    near = {mac for mac in known if len(mac) == len(word) and _is_misspelt(word.lower(), mac)}
    return f"; did you mean {near.pop()!r}?" if len(near) == 1 else ""


def _is_misspelt(word: str, mac: str) -> bool:
    places = [place for place, (a, b) in enumerate(zip(word, mac, strict=True)) if a != b]
    if len(places) < 2:
        return len(places) == 1
    first, last = places[0], places[-1]
    swapped = word[first] == mac[last] and word[last] == mac[first]
    return len(places) == 2 and swapped and last - first <= 2


def time_id(moment: datetime) -> str:
    """An id that sorts by time: ``20261122-101530-8f3a``; the last part is the fraction of the
    second, in 1/65536."""
    part = moment.microsecond * 65536 // 1_000_000
    return f"{moment:%Y%m%d-%H%M%S}-{part:04x}"


# Mistakes in a table that somebody wrote (TOML, YAML), in place of the words of the decoder.


_KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_EXPECTED = re.compile(
    r"Expected `(?P<kinds>[^`]+)`(?:, got `(?P<got>\w+)`"
    r"| (?P<length>of length )?(?P<bound>[<>]=?) (?P<number>[\d.]+?)(?:\.0)?"
    r"| matching regex (?P<regex>.*))?",
    re.DOTALL,
)
_FIELD = re.compile("Object (?:contains unknown|missing required) field `(.*)`", re.DOTALL)


def operator_words(what: str) -> str:
    """A message of msgspec about a value that an operator wrote, in their words: ``expected a list,
    not text``, ``expected a whole number of at least 1``."""
    if missing := re.fullmatch(r"Object missing required field `(.*)`", what):
        return f"{missing[1]} is missing"
    if other := re.fullmatch(r"Invalid enum value (.*)", what, re.DOTALL):
        return f"{other[1]} is not one of its values"
    found = _EXPECTED.fullmatch(what)
    if found is None:
        return f"{what[:1].lower()}{what[1:]}"
    kinds = found["kinds"].removesuffix(" | null").split(" | ")  # TOML and YAML: or leave it out
    said = "expected " + " or ".join(_KINDS.get(one, one) for one in kinds)
    if found["got"]:
        return f"{said}, not {_KINDS.get(found['got'], found['got'])}"
    if found["bound"]:
        bound = f"{_BOUNDS[found['bound']]} {found['number']}"
        return f"{said} with {bound} in it" if found["length"] else f"{said} of {bound}"
    return f"{said} that matches {found['regex']}" if found["regex"] else said


_AT = re.compile(r"(?P<reason>.*) - at (?:`key` in )?`\$\.?(?P<path>.*)`", re.DOTALL)


def reason_at(error: Exception) -> tuple[str, str]:
    """The reason that a validation error of msgspec gives, and the path of the value:
    ``flow[1].nodes``."""
    found = _AT.fullmatch(str(error))
    return (found["reason"], found["path"]) if found else (str(error), "")


def mistake(error: Exception, known: Iterable[str] = ()) -> tuple[str, str]:
    """The key that a validation error of msgspec is about (empty: none), and what is wrong with it:
    ``expected a number, not text``. ``known``: the keys of the table."""
    reason, path = reason_at(error)
    key = path.partition("[")[0].partition(".")[0]
    if field := _FIELD.fullmatch(reason):
        name = shortened(field[1])
        if "missing" in reason:
            return key or field[1], f"{name!r} is missing"
        return key or field[1], f"unknown key {name!r}{close_to(field[1], list(known))}"
    reason = operator_words(reason)
    return key, f"{key}: {reason}" if key else reason
