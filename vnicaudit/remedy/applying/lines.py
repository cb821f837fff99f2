"""One line of a journal: written with its length, its number and a checksum, and read strictly.

``{"sum":"…","length":57,"line":3,"at":…,"event":…,"unit":…,"data":{…}}``. ``length`` is that of the
object without these three, ``sum`` the first 16 digits of the SHA-256 of ``length``, ``line`` and
that object. Journals of runs before version 2 have lines without them, which are read as well: what
is wrong in such a line shows only where it cannot be understood.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from vnicaudit.model.decoding import converted, json_as
from vnicaudit.model.guest_network import GuestNetwork
from vnicaudit.model.runs import Check, Outcome
from vnicaudit.remedy.applying.clouds.task import CloudTask, Properties
from vnicaudit.remedy.applying.task import Task

_LINE = re.compile(
    rb'\{"sum":"([0-9a-f]{16})","length":(\d{1,9}),"line":(\d{1,9}),(.*\})', re.DOTALL
)
_OLD = b'{"at":'
_DIGITS = 16
_OLD_EVENTS = frozenset({
    "begin", "captured", "defining", "defined", "replacing", "stopping", "stopped", "stayed on",
    "starting", "started", "setting", "set", "not set", "copying", "removing", "detaching",
    "detached", "stayed", "attaching", "attached", "restoring", "restored", "undoing", "done",
    "end",
})  # fmt: skip
"""All that were written without a checksum."""


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line. ``unit`` is the domain (or file) it is about; empty: the run itself."""

    at: str
    event: str
    unit: str = ""
    data: dict[str, Any] = {}


class Line(NamedTuple):
    """A line that was read: its number, None where it has none (an old one); ``wrong``: why it is
    not to be believed, empty where it is."""

    entry: Entry | None
    number: int | None = None
    wrong: str = ""


class _Done(msgspec.Struct):
    outcome: Outcome
    message: str = ""
    checks: list[Check] = []
    downtime: float | None = None
    undone: bool = True
    waits: bool = True


class _Undoing(msgspec.Struct):
    reason: str
    outcome: Outcome


class _Defined(msgspec.Struct):
    settled: str


class _Captured(msgspec.Struct):
    mac: str
    network: GuestNetwork
    seconds: float


class _End(msgspec.Struct):
    stopped: str = ""


class _Begin(msgspec.Struct):
    task: dict[str, Any]


class _Setting(msgspec.Struct):
    properties: Properties


_DATA: dict[str, Any] = {
    "begin": _Begin, "undoing": _Undoing, "defined": _Defined, "captured": _Captured, "end": _End,
    "setting": _Setting,
}  # fmt: skip


def encoded(entry: Entry, number: int) -> bytes:
    """The line, with its end."""
    body = msgspec.json.encode(entry)
    head = f'{{"sum":"{_sum(body, number)}","length":{len(body)},"line":{number},'
    return head.encode() + body[1:] + b"\n"


def decoded(line: bytes) -> Line:
    """A line without its end. Raises nothing, whatever it holds."""
    found = _LINE.fullmatch(line)
    if found is None and not line.startswith(_OLD):
        return Line(None, wrong="not a line of a journal")
    body, number = line, None
    if found is not None:
        body, number = b"{" + found[4], int(found[3])
        if (len(body), _sum(body, number)) != (int(found[2]), found[1].decode()):
            return Line(None, wrong="its checksum is another one")
    try:
        entry = json_as(body, Entry)
        _check(entry, old=number is None)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are such
        return Line(None, wrong="not a line of a journal")
    return Line(entry, number)


def task_in(entry: Entry) -> Task | CloudTask:
    """The task of a line that begins a unit."""
    data: dict[str, Any] = entry.data["task"]
    if "object" in data:
        return converted(data, CloudTask)
    return converted(data, Task)


def task_of(entries: Iterable[Entry]) -> Task | CloudTask | None:
    """The task that a unit was begun with; None: it was not begun."""
    begin = next((entry for entry in entries if entry.event == "begin"), None)
    return None if begin is None else task_in(begin)


def _check(entry: Entry, *, old: bool) -> None:
    """Raises ValueError for what the rest could not go by."""
    if datetime.fromisoformat(entry.at.replace("Z", "+00:00")).tzinfo is None:
        raise ValueError(entry.at)  # nobody knows how long ago that was
    if old and entry.event not in _OLD_EVENTS:
        raise ValueError(entry.event)
    if entry.event == "done":
        rows = converted(entry.data.get("checks", []), list[list[str]])
        converted({**entry.data, "checks": list(_checks(rows))}, _Done)
    elif entry.event in _DATA:
        converted(entry.data, _DATA[entry.event])
    if entry.event == "begin":
        task_in(entry)


def _checks(rows: list[list[str]]) -> Iterator[dict[str, str]]:
    """Checks as they are written: three words each."""
    for name, verdict, detail in rows:
        yield {"name": name, "verdict": verdict, "detail": detail}


def _sum(body: bytes, number: int) -> str:
    head = f"{len(body)} {number} ".encode()
    return hashlib.sha256(head + body).hexdigest()[:_DIGITS]
