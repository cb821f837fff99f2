"""The transaction of one server, image or flavor: everything recorded about it before its
change."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from vnicaudit.base.shell import word
from vnicaudit.model.plan import CloudObject
from vnicaudit.remedy.applying.domains.definition_transactions import GuestBefore
from vnicaudit.remedy.applying.journal.events import Properties
from vnicaudit.remedy.applying.journal.transaction import Transaction
from vnicaudit.text.cloud_names import client


class ServerBefore(msgspec.Struct, frozen=True):
    """The state of a running server before its change. ``ports``: ids of its ACTIVE ports;
    ``sent``: MAC -> True if Nova counted packets from it; ``domain``: the state reported by its
    hypervisor and its guest's agent, where they could be asked."""

    ports: tuple[str, ...] = ()
    sent: dict[str, bool] = {}
    domain: GuestBefore | None = None


class CloudTransaction(Transaction, frozen=True, kw_only=True):
    """The change of one object. ``before``: the properties before it; ``goal``: the properties
    after it; ``back``: the properties after a rollback, not always the same as ``before``, as a
    property that Nova stores cannot be unset. ``nic_changes``: the expected changes of its NICs in
    the domain's definition, where that can be read. ``shared``: volumes that other servers have
    attached too."""

    object: CloudObject
    id: str
    before: Properties
    goal: Properties
    back: Properties
    state: str = ""
    """Of a server: its status before the change."""
    server_before: ServerBefore = ServerBefore()
    again: bool = False
    """Of a server: an earlier run may have half set the properties that it shows, so they are set
    once more."""
    copy: str = ""
    """Of a flavor: the id of the copy that is made."""
    copy_name: str = ""
    removes: bool = False
    """Of a flavor: the copy is to be deleted, in a rollback."""
    caution: str = ""
    """A caution to show after the change."""

    def inverse(self) -> CloudTransaction:
        """The transaction that undoes this one."""
        return replace(
            self,
            before=self.goal,
            goal=self.back,
            back=self.goal,
            nic_changes=tuple(one.inverse() for one in reversed(self.nic_changes)),
            removes=not self.removes,
        )

    def command(self, words: str) -> str:
        """The client command for doing something to the object by hand: ``words``, then its id."""
        return f"{client(self.target)} {words} {word(self.id)}"
