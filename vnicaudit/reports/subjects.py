"""Subjects of findings by kind, name and id, for programs."""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Finding
from vnicaudit.model.refs import (
    ConfigRef,
    DomainRef,
    FlavorRef,
    HostRef,
    ImageRef,
    NicRef,
    PreferenceRef,
    Ref,
    ServerRef,
)

SubjectKind = Literal["nic", "domain", "server", "image", "flavor", "preference", "host", "config"]
_KINDS: dict[type[Ref], SubjectKind] = {
    NicRef: "nic",
    DomainRef: "domain",
    ServerRef: "server",
    ImageRef: "image",
    FlavorRef: "flavor",
    PreferenceRef: "preference",
    HostRef: "host",
    ConfigRef: "config",
}
Fixable = Literal["safe", "unsafe", "by-hand"]


class FileSubject(msgspec.Struct, frozen=True):
    """A NIC, guest, image, host… by ``kind``, ``name`` and ``id``.

    The name of a NIC is ``web-01/NIC 0``; its ``id`` is the UUID of its domain and its MAC address,
    ``UUID/MAC``, which stays the same when NICs before it are removed. ``id`` null: only the name
    is known.
    """

    kind: SubjectKind
    name: str
    id: str | None = None


def kind_of(ref: Ref) -> SubjectKind:
    """The kind of subject that a reference refers to."""
    return _KINDS[type(ref)]


def subject_of(ref: Ref, judged: str) -> FileSubject:
    """The subject of a reference. ``judged``: name of the judged subject, for a reference without a
    name (a host, a configuration file)."""
    kind, name = kind_of(ref), ref.name or judged
    if not isinstance(ref, NicRef):
        return FileSubject(kind, name, ref.id)
    nic = f"{name}/NIC {ref.index}" if ref.index is not None else f"{name}/{ref.mac or 'NIC'}"
    return FileSubject(kind, nic, f"{ref.uuid}/{ref.mac}" if ref.uuid and ref.mac else None)


def fixable(finding: Finding) -> Fixable:
    """``safe`` or ``unsafe`` if there is a change to make, else ``by-hand``."""
    if finding.change is None:
        return "by-hand"
    return "safe" if finding.change.safe else "unsafe"
