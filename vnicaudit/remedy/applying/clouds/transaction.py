"""One server, image or flavor on its way: all that is to be remembered of it before it begins."""

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
    ``sent``: MAC -> True where Nova counted packets from it; ``domain``: the state reported by its
    hypervisor and its guest's agent, where they could be asked."""

    ports: tuple[str, ...] = ()
    sent: dict[str, bool] = {}
    domain: GuestBefore | None = None


class CloudTransaction(Transaction, frozen=True, kw_only=True):
    """``before`` are the properties as they were when it began, ``goal`` as they are to be,
    ``back`` as the way back makes them: not always ``before``, for what Nova keeps cannot be unset.
    ``nic_changes``: what is to be of its NICs in the domain's definition, where that can be looked
    at. ``shared``: volumes that other servers have attached too."""

    object: CloudObject
    id: str
    before: Properties
    goal: Properties
    back: Properties
    state: str = ""
    """Of a server: what its status was."""
    server_before: ServerBefore = msgspec.field(default=ServerBefore(), name="shown")
    again: bool = False
    """Of a server: an earlier run may have set what it shows by half, so it is set once more."""
    copy: str = ""
    """Of a flavor: the id of the copy that is made."""
    copy_name: str = ""
    removes: bool = False
    """Of a flavor: the copy is to go; a way back."""
    caution: str = ""
    """What to know of it afterwards."""

    def inverse(self) -> CloudTransaction:
        """The way back."""
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
