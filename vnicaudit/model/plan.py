"""What would be changed on which NIC, written down to be reviewed before anything is done.

A plan is edited by hand, so a field that there is none of is an error, not passed over.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from vnicaudit.model.finding import Change, NicRef

Mode = Literal["next-boot", "restart", "hotswap"]
MODES: tuple[Mode, ...] = ("next-boot", "restart", "hotswap")
"""``next-boot``: define, and leave what runs alone. ``restart``: and shut the guest down and start
it. ``hotswap``: and exchange the device under the running guest."""

Goal = Literal["virtio", "vdpa", "vhostuser"]
GOALS: tuple[Goal, ...] = ("virtio", "vdpa", "vhostuser")

PLAN_SCHEMA: Literal["vnicaudit.plan/1"] = "vnicaudit.plan/1"


class ModeOption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether a step can take effect this way; ``reason`` says why not."""

    mode: Mode
    possible: bool
    reason: str = ""


class Loss(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A function of the NIC that the change takes away. It blocks the step unless ``accepted``.

    ``function`` is the name to accept it by: ``filterref``, ``isolation``, ``bandwidth``…
    """

    function: str
    detail: str
    accepted: bool = False


class Naming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The interface's name in the guest before and after; None where it cannot be told.
    ``reason`` says how it was found or predicted."""

    before: str | None = None
    after: str | None = None
    reason: str = ""

    @property
    def changes(self) -> bool | None:
        """Whether the name will be another; None where that cannot be told."""
        if self.before is None or self.after is None:
            return None
        return self.before != self.after


class Snippet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of the guest's configuration that keeps the interface's name (or its address).

    ``kind``: systemd-link, netplan, networkmanager, ifcfg, udev, netsh or powershell; ``path``:
    where it goes in the guest, empty for commands to be run there; ``text``: what goes there.
    """

    kind: str
    path: str
    text: str


class GuestView(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the guest will see: PCI ids as ``8086:100e``; slots as ``0000:00:03.0``, on s390x as
    ``0.0.0001`` (the ccw device number); None where it cannot be told or there is none."""

    id_before: str | None = None
    id_after: str | None = None
    slot_before: str | None = None
    slot_after: str | None = None
    name: Naming = Naming()
    drivers: tuple[str, ...] = ()
    """Drivers the guest needs, by what its system calls them: ``virtio_net``, ``NetKVM``."""
    notes: tuple[str, ...] = ()
    """What else will happen in the guest, one sentence each."""
    snippets: tuple[Snippet, ...] = ()


class CloudPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of an OpenStack cloud a step changes, and what bears on when it may be changed.

    ``properties`` are what is to be set, by the names that Nova and Glance have for them; None is
    what is to be removed. ``old`` are the same as they were when the step was made; None is what
    was not set.
    """

    object: Literal["server", "image", "flavor"]
    properties: dict[str, str | None]
    old: dict[str, str | None]
    project: str = ""
    host: str | None = None
    zone: str = ""
    groups: tuple[str, ...] = ()
    """Ids of the server groups it is a member of: one member at a time."""
    macs: tuple[str, ...] = ()
    """Of a server: the MAC addresses of the NICs that the change is about."""
    new_name: str = ""
    """Of a flavor: what the new one is called that is made like it. The old one stays."""
    project_name: str = ""
    """What ``project`` is called; empty: not known."""
    image: str = ""
    """Of a server: the id of the image it was made of; empty: not told, or it boots from a
    volume."""
    image_name: str = ""
    """What that is called; empty: not known."""
    flavor: str = ""
    """Of a server: what its flavor is called."""


class Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One change to one NIC.

    ``target`` is what was named to find it; ``file`` is set for a definition in a file. ``digest``
    is that of the definition the step was made from (:func:`vnicaudit.remedy.digests.digest`):
    the step is refused where that is another by then.
    """

    id: str
    platform: str
    """``libvirt``: a domain of a live host; ``file``: domain XML in a file; ``openstack``: a
    server (all its NICs), an image or a flavor, named by ``nic.domain`` and ``nic.uuid``."""
    target: str
    nic: NicRef
    owner: str
    to: Goal
    rules: tuple[str, ...]
    changes: tuple[Change, ...]
    readiness: str
    safe: bool
    reason: str
    """Why it is safe or unsafe."""
    running: bool
    """The guest runs: the step needs a restart or a hot swap to take effect."""
    modes: tuple[ModeOption, ...]
    digest: str
    diff: str
    guest: GuestView = GuestView()
    losses: tuple[Loss, ...] = ()
    blocked: tuple[str, ...] = ()
    """Why it cannot be applied as it is; empty: it can be."""
    route: tuple[str, ...] = ()
    """What to do where the owner keeps the definition: commands and sentences, in order."""
    notes: tuple[str, ...] = ()
    """What else to know: a managed save, a host that could not be looked at."""
    file: str | None = None
    place: str | None = None
    """XPath of the NIC in the file."""
    cloud: CloudPart | None = None
    """Of ``openstack`` alone."""

    @property
    def refused(self) -> tuple[str, ...]:
        """Everything because of which it is not applied; empty: it can be."""
        lost = tuple(
            f"{loss.detail} (accept it by name: {loss.function})"
            for loss in self.losses if not loss.accepted
        )  # fmt: skip
        return self.blocked + lost

    def mode(self, name: Mode) -> ModeOption:
        """Whether it can take effect that way."""
        for option in self.modes:
            if option.mode == name:
                return option
        return ModeOption(name, possible=False, reason="not foreseen")


class Left(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A NIC with findings that is not planned, and why; of a cloud a server, an image or a flavor,
    named by ``nic.domain`` and ``nic.uuid``."""

    nic: NicRef
    target: str
    rules: tuple[str, ...]
    reason: str
    object: Literal["nic", "server", "image", "flavor"] = "nic"
    project: str = ""
    """The id of the project it belongs to, of a cloud alone."""
    project_name: str = ""
    """What that is called; empty: not known."""


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reviewable file, ``vnicaudit.plan/1``."""

    tool: str
    version: str
    created: str
    to: Goal
    targets: tuple[str, ...]
    steps: tuple[Step, ...]
    left: tuple[Left, ...] = ()
    errors: tuple[str, ...] = ()
    """What could not be read."""
    notes: tuple[str, ...] = ()
    """What else to know of the targets: what this user of a cloud may not see."""
    schema: Literal["vnicaudit.plan/1"] = PLAN_SCHEMA
