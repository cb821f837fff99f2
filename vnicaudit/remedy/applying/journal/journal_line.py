"""One line of a journal: written with its length, its number and a checksum, and read strictly.

``{"sum":"…","length":57,"line":3,"at":…,"event":…,"unit":…,"data":{…}}``. ``length`` is that of the
object without these three, ``sum`` the first 16 digits of the SHA-256 of ``length``, ``line`` and
that object.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from vnicaudit.base.clock import moment
from vnicaudit.model.decoding import json_as
from vnicaudit.remedy.applying.journal.events import Begin, Event, name_of
from vnicaudit.remedy.applying.journal.transaction import common_part
from vnicaudit.remedy.digests import short_digest

_LINE = re.compile(
    rb'\{"sum":"([0-9a-f]{16})","length":(\d{1,9}),"line":(\d{1,9}),(.*\})', re.DOTALL
)
_DIGITS = 16
_NO_LINE = "not a line of a journal"
_NOT_WHOLE = "its checksum does not match"


class Entry(msgspec.Struct, frozen=True):
    """One line. ``unit`` is the key of the unit it is about; empty: the run itself."""

    at: str
    event: Event
    unit: str = ""


class JournalLine(NamedTuple):
    """A line that was read. ``number`` is None if ``wrong`` says why the line cannot be trusted."""

    entry: Entry | None
    number: int | None = None
    wrong: str = ""


class _Written(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line in its written form: the data of the event beside its name."""

    at: str
    event: str
    unit: str = ""
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def encoded(entry: Entry, number: int) -> bytes:
    """The line, including its end."""
    name = name_of(entry.event)
    tag = b'{"event":' + msgspec.json.encode(name)
    said = msgspec.json.encode(entry.event)[len(tag) :].removeprefix(b",")
    data = msgspec.UNSET if said == b"}" else msgspec.Raw(b"{" + said)
    body = msgspec.json.encode(_Written(entry.at, name, entry.unit, data))
    head = f'{{"sum":"{_sum(body, number)}","length":{len(body)},"line":{number},'
    return head.encode() + body[1:] + b"\n"


def decoded(line: bytes) -> JournalLine:
    """Decode a line, given without its end. Never raises, whatever the line holds."""
    found = _LINE.fullmatch(line)
    if found is None:
        return JournalLine(None, wrong=_NO_LINE)
    if not _is_whole(found):
        return JournalLine(None, wrong=_NOT_WHOLE)
    body = b"{" + found[4]
    try:
        body.decode()  # an intact event is decoded later
        entry = _entry(json_as(body, _Written))
        _check(entry)
    except (ValueError, RecursionError):  # msgspec's errors and UnicodeDecodeError are ValueErrors
        return JournalLine(None, wrong=_NO_LINE)
    return JournalLine(entry, int(found[3]))


def damage_of(line: bytes) -> str:
    """Why a line cannot be trusted; empty: it is as it was written."""
    found = _LINE.fullmatch(line)
    if found is None:
        return _NO_LINE
    return "" if _is_whole(found) else _NOT_WHOLE


def _is_whole(found: re.Match[bytes]) -> bool:
    body = b"{" + found[4]
    return (len(body), _sum(body, int(found[3]))) == (int(found[2]), found[1].decode())


def _entry(line: _Written) -> Entry:
    said = b"" if isinstance(line.data, msgspec.UnsetType) else bytes(line.data)[1:-1]
    fields = [b'"event":' + msgspec.json.encode(line.event), *filter(None, [said])]
    return Entry(line.at, json_as(b"{" + b",".join(fields) + b"}", Event), line.unit)


def begin_of(entries: Iterable[Entry]) -> Begin | None:
    """The line that started a unit; None: the unit was not started."""
    return next((one.event for one in entries if isinstance(one.event, Begin)), None)


def _check(entry: Entry) -> None:
    """Raises ValueError for data that cannot be relied on."""
    if moment(entry.at).tzinfo is None:
        raise ValueError(entry.at)  # the age of the line would be unknown
    if isinstance(entry.event, Begin):
        common_part(entry.event)


def _sum(body: bytes, number: int) -> str:
    head = f"{len(body)} {number} ".encode()
    return short_digest(head + body, _DIGITS)
