"""A NIC as it is compared by MAC address with all others of a run.

This comparison needs identity, so the record has what :class:`~vnicaudit.model.nic.NicConfig`
leaves out.
"""

from __future__ import annotations

import msgspec

from vnicaudit.model.finding import Location, Owner

ATTACHMENT = "NetworkAttachmentDefinition "
"""Begins ``NicSeen.network`` of a NIC on a secondary network of KubeVirt, before its name."""


class NicSeen(msgspec.Struct, frozen=True, array_like=True):
    """One NIC with a MAC address, from one reading of a guest."""

    mac: str
    """Lower case, six pairs of digits."""
    domain: str
    uuid: str | None
    """Without hyphens."""
    reading: str
    """The reading of the guest that it is from: target, file and place in it."""
    target: str
    location: Location
    index: int
    kind: str
    """Interface type."""
    owner: Owner = "libvirt"
    target_dev: str | None = None
    network: str = ""
    """Type and name of the network it is connected to; empty: unknown, or a pod's."""
    host: str = ""
    """Identifies the host, to see whether two guests are on the same one: a live target, or
    libvirt's own folder of definitions; empty: unknown."""
    active: bool | None = None
    teaming: bool = False
    alone: bool = False
    """It is compared only with NICs of its own guest."""
    identity: tuple[str, str] = ("", "")
    """The parts, besides the rule, of the fingerprint of a finding on it."""
    has_name: bool = True
    """False: its guest has no name, and ``domain`` is a placeholder."""

    @property
    def label(self) -> str:
        """Name of the NIC in messages."""
        return f"NIC {self.index} of {self.domain[:60]}"
