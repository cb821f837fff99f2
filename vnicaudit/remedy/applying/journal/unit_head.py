"""The head of a line that starts a unit: the unit's identity, and the part of its transaction that
all drivers share.

The line itself has the identity, for every kind of unit. Lines of older versions have it only in
their transaction: the names of kinds here are guesses for such lines, and for no others.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.base.shell import word
from vnicaudit.errors import KeptError
from vnicaudit.model.decoding import json_as
from vnicaudit.remedy.applying.journal.events import Begin
from vnicaudit.remedy.applying.journal.run_request import UnitIdentity
from vnicaudit.remedy.applying.journal.transaction import Transaction
from vnicaudit.text.cloud_names import client

T = TypeVar("T")


class Head(NamedTuple):
    """``identity`` equals that of the unit's :class:`UnitRequest`."""

    identity: UnitIdentity
    transaction: Transaction


class _Old(Transaction, frozen=True, kw_only=True):
    """The identity as transactions of older versions have it: for clouds the kind is ``object``,
    and ``id`` is what ``uuid`` is for others."""

    kind: str = ""
    uuid: str | None = None
    file: str | None = None
    object: str | None = None
    id: str = ""


def head_of(begin: Begin) -> Head:
    """The unit's identity and the common part of its transaction, from the line that started it.
    Raises ValidationError if the line has other data."""
    if begin.of is not None:
        return Head(begin.of, json_as(begin.transaction, Transaction))
    return _guessed(json_as(begin.transaction, _Old))


def _guessed(old: _Old) -> Head:
    key, target = old.key, old.target
    if old.kind:
        return Head(UnitIdentity(old.kind, key, target, old.uuid, old.file), old)
    if old.object is not None:
        start = f"{client(target)} server start {word(old.id)}" if old.object == "server" else ""
        return Head(UnitIdentity(old.object, key, target, old.id), replace(old, start=start))
    if old.file is not None:
        return Head(UnitIdentity("file", key, target, file=old.file), old)
    return Head(UnitIdentity("domain", key, target, old.uuid), old)


def transaction_of(begin: Begin, kind: type[T]) -> T:
    """The transaction that the driver of a unit recorded when it started. Raises KeptError if the
    line has other data."""
    try:
        return json_as(begin.transaction, kind)
    except msgspec.MsgspecError as error:
        raise KeptError(f"its first journal entry is damaged: {error}") from None
