"""Parse the value of one QEMU option, ``tap,id=n0,vhost=on`` or ``{"type": "tap", …}``, into a
mapping.

Source: QEMU 7.2 ``util/keyval.c``, ``util/qemu-option.c`` and qemu(1): a comma in a value is
doubled, the first word may omit its key, the last of several equal keys wins, a bare key is *on*.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator

Options = dict[str, str]
"""Flat: nested JSON is keyed ``addr.type``, as ``k=v`` syntax writes it."""

MAX_LENGTH = 1 << 20
"""Longer values are not parsed; QEMU's own are a few kilobytes."""

_MAX_KEYS = 4096
_MAX_NUMBER = 1 << 32
_NUMBER = re.compile(
    r"[ \t\n\r\f\v]{0,8}\+?(?:0[xX](?P<hex>[0-9a-fA-F]{1,16})|(?P<plain>[0-9]{1,22}))"
)
_STRING = re.compile(
    r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|\'(?P<single>(?:[^\'\\]|\\.)*)(?:\'|\\?\Z)', re.DOTALL
)
"""A string that is not closed extends to the end, so that nothing is scanned twice."""
_ITEM = re.compile(r"((?:[^,]|,,)*)(?:,|\Z)")
_TRUE = frozenset({"on", "yes", "true", "y"})
_FALSE = frozenset({"off", "no", "false", "n"})


class BrokenOption(ValueError):
    """JSON that is truncated or invalid: the command line is incomplete here."""


def options(text: str, first: str = "") -> Options:
    """The value as a mapping. ``first`` is the key that the first word may omit.

    Raises BrokenOption for invalid JSON; ``k=v`` text always has a result.
    """
    if len(text) > MAX_LENGTH:
        raise BrokenOption("an option's value of more than a mebibyte")
    if text.lstrip()[:1] == "{":
        return _from_json(text)
    return _from_pairs(text, first)


def lenient(text: str | None, first: str = "") -> Options:
    """Like :func:`options`, but empty if the value is missing or broken: for options that do not
    matter, or whose faults are reported elsewhere."""
    try:
        return options(text, first) if text else {}
    except BrokenOption:
        return {}


def truth(text: str | None) -> bool | None:
    """``on``, ``yes``, ``true`` -> True; ``off`` and the like -> False; None for anything else,
    including ``ON`` (``qapi_bool_parse``)."""
    word = text or ""
    return True if word in _TRUE else False if word in _FALSE else None


def number(text: str | None) -> int | None:
    """A number below 2**32 as C reads it (``strtoull``): ``010`` is eight; None for anything
    else."""
    match = _NUMBER.fullmatch(text or "")
    if match is None:
        return None
    try:
        value = int(match["hex"], 16) if match["hex"] else _decimal_or_octal(match["plain"])
    except ValueError:
        return None
    return value if value < _MAX_NUMBER else None


def _decimal_or_octal(digits: str) -> int:
    return int(digits, 8 if digits[0] == "0" else 10)


def json_of(text: str) -> object:
    """JSON as QEMU reads it: a string may be in single quotes, and no key may occur twice.

    Raises ValueError or RecursionError for anything else.
    """
    if "'" in text:
        text = _STRING.sub(_in_double_quotes, text)
    return json.loads(text, object_pairs_hook=_without_repeats)


def wrong_types(
    text: str, switches: Container[str], numbers: Container[str], words: Container[str] = ()
) -> Iterator[tuple[str, str, str]]:
    """Values of JSON with another type than QEMU requires: name, required type, and the value as
    JSON. Empty for a text that is not a JSON object."""
    try:
        given = json_of(text)
    except (ValueError, RecursionError):
        return
    for name, value in given.items() if isinstance(given, dict) else ():
        if name in switches and not isinstance(value, bool):
            yield name, "true or false", json.dumps(value)
        elif name in numbers and (isinstance(value, bool) or not isinstance(value, int)):
            yield name, "a number", json.dumps(value)
        elif name in words and value is not None and not isinstance(value, str):
            yield name, "text", json.dumps(value)


def _in_double_quotes(match: re.Match[str]) -> str:
    inside = match["single"]
    if inside is None:
        return match.group()
    return '"' + inside.replace("\\'", "'").replace('"', '\\"') + '"'


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key appears twice")
    return found


def _from_pairs(text: str, first: str) -> Options:
    found: Options = {}
    for position, item in enumerate(_items(text)):
        key, equals, value = item.partition("=")
        if equals:
            found[key] = value
        elif position == 0 and first:
            found[first] = item
        elif item:
            found[item] = "on"
            if item.startswith("no") and len(item) > 2:
                found[item[2:]] = "off"  # nowait, noserver: qemu-option.c, deprecated since 6.0
        if len(found) >= _MAX_KEYS:
            break
    return found


def _items(text: str) -> list[str]:
    return [match.group(1).replace(",,", ",") for match in _ITEM.finditer(text)][:_MAX_KEYS]


def _from_json(text: str) -> Options:
    try:
        data = json_of(text)
    except (ValueError, RecursionError):
        raise BrokenOption("JSON that is cut off or malformed") from None
    if not isinstance(data, dict):
        raise BrokenOption("JSON that is not an object")
    found: Options = {}
    _flatten(data, "", found)
    addr = data.get("addr")
    if type(addr) is int:  # slot and function in one number; negative: any
        found["addr"] = f"{addr >> 3:x}.{addr & 7}"
        if addr < 0:
            del found["addr"]
    return found


def _flatten(data: object, prefix: str, found: Options) -> None:
    """Add nested values to ``found``. Depth is limited by the parser, breadth by _MAX_KEYS."""
    pending: list[tuple[str, object]] = [(prefix, data)]
    while pending and len(found) < _MAX_KEYS:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending.extend((f"{name}.{key}" if name else key, part) for key, part in value.items())
        elif isinstance(value, list):
            pending.extend((f"{name}.{place}", part) for place, part in enumerate(value))
        elif value is not None:
            found[name] = _text(value)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)
