"""References to the subject of a finding or a step, by name: a record for each kind of subject.

Each has a ``name`` and an ``id`` that distinguishes it from others of that name; for a NIC these
are its domain's. Files store all kinds in one flat record, whose null fields tell them apart
(:mod:`vnicaudit.reports.report_file`).
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec


class NicRef(msgspec.Struct, frozen=True, tag="nic"):
    """A NIC of a domain or server. ``index`` None: it is known only by its MAC address, as in a
    suppression."""

    kind: ClassVar[Literal["nic"]] = "nic"
    domain: str | None = None
    uuid: str | None = None
    mac: str | None = None
    index: int | None = None
    target_dev: str | None = None

    @property
    def name(self) -> str | None:
        """Name of the NIC's domain."""
        return self.domain

    @property
    def id(self) -> str | None:
        """The UUID of its domain."""
        return self.uuid


class DomainRef(msgspec.Struct, frozen=True, tag="domain"):
    """A whole domain. ``name`` None: it is known only by its UUID."""

    name: str | None
    uuid: str | None = None

    @property
    def id(self) -> str | None:
        """The UUID; for a server of a cloud it is the server's id."""
        return self.uuid


class ServerRef(msgspec.Struct, frozen=True, tag="server"):
    """A server of a cloud, as the cloud describes it, with all its NICs."""

    kind: ClassVar[Literal["server"]] = "server"
    name: str | None
    id: str | None


class ImageRef(msgspec.Struct, frozen=True, tag="image"):
    """An image. ``id`` None: it is described in a file."""

    kind: ClassVar[Literal["image"]] = "image"
    name: str | None
    id: str | None = None


class FlavorRef(msgspec.Struct, frozen=True, tag="flavor"):
    """A flavor. ``id``: a UUID, or one chosen by its creator; None: it is described in a file."""

    kind: ClassVar[Literal["flavor"]] = "flavor"
    name: str | None
    id: str | None = None


class PreferenceRef(msgspec.Struct, frozen=True, tag="preference"):
    """A KubeVirt preference."""

    name: str | None
    id: ClassVar[None] = None


class HostRef(msgspec.Struct, frozen=True, tag="host"):
    """The judged host, which the judgement names."""

    name: ClassVar[None] = None
    id: ClassVar[None] = None


class ConfigRef(msgspec.Struct, frozen=True, tag="config"):
    """A configuration file, which the location names."""

    name: ClassVar[None] = None
    id: ClassVar[None] = None


CloudRef = ServerRef | ImageRef | FlavorRef
"""Reference to an object of a cloud that can be changed."""

Ref = NicRef | DomainRef | CloudRef | PreferenceRef | HostRef | ConfigRef


def nic_index(ref: Ref) -> int | None:
    """The index of the referenced NIC; None if it is not a NIC, or is known only by its MAC
    address."""
    return ref.index if isinstance(ref, NicRef) else None


def mac_of(ref: Ref) -> str | None:
    """The MAC address of the referenced NIC; None if it is not a NIC, or has none."""
    return ref.mac if isinstance(ref, NicRef) else None
