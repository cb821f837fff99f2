"""The transaction of a unit: everything recorded about the unit before its change starts."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec.structs import replace

from vnicaudit.errors import KeptError
from vnicaudit.model.decoding import json_as
from vnicaudit.model.finding import Change
from vnicaudit.model.plan import Mode
from vnicaudit.remedy.applying.journal.events import Begin

T = TypeVar("T")


class NicChanges(msgspec.Struct, frozen=True):
    """The changes of one NIC. ``index`` is its place among the domain's NICs, ``number`` its place
    among the ``<interface>`` elements, from 1."""

    index: int
    number: int
    mac: str
    changes: tuple[Change, ...]

    def inverse(self) -> NicChanges:
        """The changes that undo these."""
        back = tuple(
            replace(change, old=change.new, new=change.old) for change in reversed(self.changes)
        )
        return replace(self, changes=back)


class Transaction(msgspec.Struct, frozen=True):
    """The fields that the transactions of all kinds of units share; the record of each driver adds
    its own. ``active``: the guest ran when the unit was started, and is to run when it ends;
    ``shared``: resources of the unit whose users are changed one at a time; ``start``: the command
    that starts the guest by hand, if a run may leave it off."""

    key: str
    name: str
    target: str
    steps: tuple[str, ...]
    mode: Mode
    nic_changes: tuple[NicChanges, ...] = ()
    active: bool = False
    shared: tuple[str, ...] = ()
    start: str = ""

    @property
    def macs(self) -> tuple[str, ...]:
        """MACs of the NICs that it changes."""
        return tuple(one.mac for one in self.nic_changes)


def common_part(begin: Begin) -> Transaction:
    """The part of a unit's transaction that all drivers share, from the line that started it.
    Raises ValidationError if the line has other data."""
    return json_as(begin.transaction, Transaction)


def transaction_of(begin: Begin, kind: type[T]) -> T:
    """The transaction that the driver of a unit recorded when it started. Raises KeptError if the
    line has other data."""
    try:
        return json_as(begin.transaction, kind)
    except msgspec.MsgspecError as error:
        raise KeptError(f"its first journal entry is damaged: {error}") from None
