"""Fixes of findings, as values: :mod:`vnicaudit.knowledge.fixes` puts them into words.

A rule gives advice, or a topic that is worded differently for each owner. A change in model terms
becomes an instruction for its owner: if the owner regenerates the definition, it does not say to
edit XML.
"""

from __future__ import annotations

from typing import Literal

import msgspec

Topic = Literal[
    "connect-network",
    "one-model",
    "own-address",
    "restart",
    "serve-vhostuser",
    "share-memory",
    "use-kvm",
]
"""A task that each owner does in its own way: connect a NIC of user-mode networking to a network,
give all NICs of a guest one model, give a copied NIC its own address, restart a guest, make QEMU
the server of a vhost-user socket, share the guest's memory, run the guest with KVM."""

FixRefusal = Literal[
    "cannot-be-written",
    "changed-meanwhile",
    "gave-up",
    "objection",
    "overlaps",
    "owner",
    "returns",
]
"""Reason why `audit --fix` did not fix a finding in place."""


class _Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind"):
    """A value whose ``kind`` distinguishes it from the others."""


class SetProperty(_Value, frozen=True, tag="set-property"):
    """Set a property: of an image, of what Nova keeps for a server, or of a server's image."""

    name: str
    value: str
    of: Literal["image", "server", "server-image"]


class OpenStack(_Value, frozen=True, tag="openstack"):
    """A command of the ``openstack`` client: ``server reboot --hard``. ``of``: the object whose id
    is appended."""

    command: str
    of: Literal["server", ""] = ""


Command = SetProperty | OpenStack


class Advice(_Value, frozen=True, tag="advice"):
    """A sentence of words and commands. The names in a command are filled in when it is
    rendered."""

    parts: tuple[str | Command, ...]


class OwnerAdvice(_Value, frozen=True, tag="owner-advice"):
    """A topic that is worded differently for each owner."""

    topic: Topic


class EditElement(_Value, frozen=True, tag="edit-element"):
    """Set a field of the NIC in the domain XML; ``value`` None: remove it."""

    field: str
    value: str | None


class EditArgument(_Value, frozen=True, tag="edit-argument"):
    """Set a field of the NIC in QEMU's arguments; ``value`` None: remove it. ``where``
    (``written_in`` in code): QEMU's own command line, or ``<qemu:commandline>`` of a definition."""

    field: str
    value: str | None
    written_in: Literal["command-line", "definition"] = msgspec.field(name="where")


class EditResource(_Value, frozen=True, tag="edit-resource"):
    """Set a field of the NIC in its Terraform resource; ``value`` None: remove it."""

    field: str
    value: str | None


class StopSetStart(_Value, frozen=True, tag="stop-set-start"):
    """Stop the server, set a property of what Nova keeps for it, and start it; the image is for new
    servers."""

    name: str
    value: str


class SetOption(_Value, frozen=True, tag="set-option"):
    """Set an option of ``[libvirt]`` in nova.conf of the compute nodes, then hard-reboot the
    server; ``value`` None: lower it."""

    name: str
    value: str | None


class NoSetting(_Value, frozen=True, tag="no-setting"):
    """Nova has no setting for it: change its source, then hard-reboot the server."""


class HardReboot(_Value, frozen=True, tag="hard-reboot"):
    """Hard-reboot the server, which removes settings made behind Nova's back. ``undoes``: the
    field, or ``setting`` for several or any other; empty: a NIC in QEMU's arguments."""

    undoes: str = ""


class SetInManifest(_Value, frozen=True, tag="set-in-manifest"):
    """Set ``path``, below ``devices`` of the domain, in the manifest of a virtual machine."""

    path: str
    value: str


class ChangeHook(_Value, frozen=True, tag="change-hook"):
    """Change the hook sidecar of a KubeVirt VM: it sets a value that the API has no field for, or
    adds the NIC in QEMU's arguments (``adds_nic``)."""

    adds_nic: bool = False


class ChangeManifest(_Value, frozen=True, tag="change-manifest"):
    """Change the source of a KubeVirt VM's definition."""


class EditInOvirt(_Value, frozen=True, tag="edit-in-engine"):
    """Change the NIC in oVirt's engine while the VM is down: its type, its vNIC profile, or the
    hook that adds QEMU's arguments."""

    part: Literal["type", "profile", "arguments"]


class SetField(_Value, frozen=True, tag="set-field"):
    """Set a field of the NIC where a third-party platform keeps it; ``value`` None: remove it."""

    field: str
    value: str | None


class SetHostSetting(_Value, frozen=True, tag="set-host-setting"):
    """Set a setting of a host; ``field`` names it
    (:func:`vnicaudit.knowledge.host_settings.field_of`)."""

    field: str
    value: str


class AlreadyStaged(_Value, frozen=True, tag="already-staged"):
    """Power the guest off and on: the persistent definition has ``value`` of the field already
    (None: it does not have the field)."""

    field: str
    value: str | None


class BehindSetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A field that is set behind libvirt's settings; ``by``: the element that sets it
    (``<qemu:override>``)."""

    field: str
    by: str


class RemoveBehind(_Value, frozen=True, tag="remove-behind"):
    """Remove settings made behind libvirt's back, in a definition that its user maintains. Empty
    ``settings``: correct or remove the one that the problem names. ``instead``: values that would
    also work."""

    settings: tuple[BehindSetting, ...] = ()
    instead: str = ""
    before_virtio: bool = False
    """The NIC becomes virtio afterwards, and would not start with these settings."""


class NothingToEdit(_Value, frozen=True, tag="nothing-to-edit"):
    """The NIC is not in the persistent definition."""


OwnersFix = (
    EditElement
    | EditArgument
    | EditResource
    | StopSetStart
    | SetOption
    | NoSetting
    | HardReboot
    | SetInManifest
    | ChangeHook
    | ChangeManifest
    | EditInOvirt
    | SetField
    | SetHostSetting
)
"""A change in model terms, translated for the owner of the definition."""

Fix = Advice | OwnerAdvice | OwnersFix | RemoveBehind | AlreadyStaged | NothingToEdit
