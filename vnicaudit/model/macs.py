"""A NIC as it is compared with all others of a run by its MAC address.

Here it is identity that counts, and so this record has what :class:`~vnicaudit.model.nic.NicConfig`
leaves out.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.accepting import AcceptingComment
from vnicaudit.model.location import Location
from vnicaudit.model.owner import Owner


class NicSeen(msgspec.Struct, frozen=True, array_like=True):
    """One NIC with a MAC address, of one reading of a guest."""

    mac: str
    """Lower case, six pairs of digits."""
    domain: str
    uuid: str | None
    """Without hyphens."""
    reading: str
    """Of which reading of the guest it is: target, file and place in it."""
    target: str
    location: Location
    index: int
    kind: str
    """Interface type."""
    owner: Owner = "libvirt"
    target_dev: str | None = None
    network: str = ""
    """Type and name of what it is connected to; empty: not known."""
    host: str = ""
    """What tells that two guests are on one host: a live target, or libvirt's own folder of
    definitions; empty: not known."""
    active: bool | None = None
    teaming: bool = False
    alone: bool = False
    """It is compared with NICs of its own guest only."""
    identity: tuple[str, str] = ("", "")
    """What the fingerprint of a finding on it is made of, beside the rule."""
    suppressions: tuple[str, ...] = ()
    """Entries of its domain's metadata that accept findings on it, as JSON; bounded as
    ``comments``."""
    has_name: bool = True
    """False: its guest has no name, and ``domain`` says so."""
    comments: tuple[AcceptingComment, ...] = ()
    """Comments of its file that accept findings on it: at most one for each rule that compares
    NICs."""

    @property
    def label(self) -> str:
        """Name of the NIC in messages."""
        return f"NIC {self.index} of {self.domain[:60]}"
