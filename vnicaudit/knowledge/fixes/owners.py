"""Owner -> wording of its fixes. A new owner is a row of ``SHIPPED``, or is added by a platform."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from vnicaudit.knowledge.fixes.hypervisors import ARGUMENTS, LIBVIRT, OVIRT, QEMU
from vnicaudit.knowledge.fixes.kubevirt import KUBEVIRT
from vnicaudit.knowledge.fixes.nova import NOVA
from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording, advice_text, fixes_of, text_of
from vnicaudit.model.finding import Change, Finding, FindingOwner, Owner, name_of, rewritten_by
from vnicaudit.model.fix import (
    Advice,
    EditArgument,
    EditResource,
    Fix,
    OwnersFix,
    SetField,
    SetHostSetting,
)
from vnicaudit.model.names import NO_NAMES, FixNames

if TYPE_CHECKING:
    from vnicaudit.model.openstack import Image, ServerConfig

# Fixes for Terraform, whose libvirt provider keeps the definition.


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
    if isinstance(fix, EditResource) and fix.field == "model" and fix.value is not None:
        return (
            f'Set model = {{ type = "{fix.value}" }} of this interface, run terraform apply, '
            f"{POWER_CYCLE}"
        )
    return (
        "The definition is Terraform's: change the libvirt_domain resource, run terraform apply, "
        f"{POWER_CYCLE}"
    )


# Fixes for settings of a host.


def _setting(change: Change) -> OwnersFix:
    return SetHostSetting(change.field, change.new or "")


def _setting_words(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, SetHostSetting):
        return ""
    # imported here: definitions have no settings of hosts
    from vnicaudit.knowledge.host_settings import words_of

    return words_of(fix.field, fix.value)


SHIPPED: Mapping[str, Wording] = {
    "host": Wording(_setting, _setting_words),
    "kubevirt": KUBEVIRT,
    "libvirt": LIBVIRT,
    "nova": NOVA,
    "ovirt": OVIRT,
    "qemu": QEMU,
    "terraform": Wording(lambda change: EditResource(change.field, change.new), _sentence),
}
"""Owner -> its wording, whichever platform describes its guests."""


# Fixes for owners that rewrite definitions and have no wordings of their own.
#
# Sources: OpenNebula's *Virtual Machine Template*, section NIC (``MODEL``, ``VIRTIO_QUEUES``,
# written by src/vmm/LibVirtDriverKVM.cc; ``onevm updateconf`` takes no NIC, see UPDATECONF_ATTRS in
# src/vm/VirtualMachineTemplate.cc); Proxmox VE's qm.conf(5), ``net[n]``, and API2/Qemu.pm;
# CloudStack's VmDetailConstants.java and VifDriverBase.java; Ganeti c35736d8, gnt-instance(8) and
# hv_kvm/__init__.py; Incus be7afc5d, device/nic_bridged.go (a queue for each vCPU, without a
# setting: driver_qemu.go).

_ONE = (
    "in the NIC section of its template (onetemplate update; for a VM that exists onevm nic-detach,"
    " then nic-attach with it)"
)
_PVE = "in qm set VMID --netN (repeat its MAC address, bridge and other settings: all are replaced)"
_GNT = "in gnt-instance modify (it counts for all NICs of the instance)"
_PLACES = {
    "OpenNebula": {"model": f'MODEL = "{{}}" {_ONE}', "queues": f'VIRTIO_QUEUES = "{{}}" {_ONE}'},
    "Proxmox VE": {"model": f"model={{}} {_PVE}", "queues": f"queues={{}} {_PVE}"},
    "CloudStack": {
        "model": "nicAdapter={} in the settings of the VM (its details)",
        "queues": "nic.multiqueue.number={} in the settings of the VM (its details)",
    },
    "Ganeti": {
        "model": f"-H nic_type=paravirtual {_GNT}",
        "queues": f"-H vhost_net=True,virtio_net_queues={{}} {_GNT}",
    },
    "Incus or LXD": {"model": "io.bus={} in incus (or lxc) config device set INSTANCE NIC"},
}
"""Owner -> field -> how a value is given to it there."""


def kept_by(name: str) -> Wording:
    """The wording for an owner with that name."""
    places = _PLACES.get(name, {})

    def words(fix: OwnersFix, _named: FixNames) -> str:
        if not isinstance(fix, SetField):
            return f"The definition is {name}'s, which rewrites it: change it there."
        pattern = places.get(fix.field)
        if pattern is None or fix.value is None:
            return f"The definition is {name}'s, which rewrites it: change it there ({fix.field})."
        return (
            f"The definition is {name}'s, which rewrites it: give it {pattern.format(fix.value)}, "
            "then stop the guest there and start it."
        )

    return Wording(
        lambda change: SetField(change.field, change.new),
        words,
        in_arguments=SetField("arguments", None),
        behind=lambda field: SetField(field or "setting", None),
    )


class WordedFix(msgspec.Struct, frozen=True):
    """A fix of a finding, as values and in words."""

    values: tuple[Fix, ...]
    text: str
    """The values as sentences, followed by the reason if the change is unsafe."""


class Wordings:
    """Wordings of fixes, by the names of owners; an owner without an own wording gets libvirt's."""

    def __init__(self, own: Mapping[str, Wording] | None = None) -> None:
        """``own``: wordings of owners beside those that this program knows; they win."""
        self._own = own or {}
        self._remembered = lru_cache(maxsize=4096)(self._say)
        """Only fixes without names are cached: those that name a server do not repeat."""

    def of(self, owner: FindingOwner) -> Wording:
        """The wording for an owner; for one that rewrites definitions it never says to edit
        them."""
        name = name_of(owner)
        if (known := self._own.get(name) or SHIPPED.get(name)) is not None:
            return known
        rewriter = rewritten_by(owner)
        return kept_by(rewriter) if rewriter else LIBVIRT

    def worded(
        self,
        change: Change | None,
        advice: str | Fix,
        owner: FindingOwner,
        named: FixNames = NO_NAMES,
        *,
        in_arguments: bool = False,
    ) -> WordedFix:
        """Advice to an owner on a problem, as values and in words.

        ``advice`` is the rule's advice: the whole fix if there is no change in model terms,
        otherwise an addition to it. ``in_arguments``: the NIC is added by ``<qemu:commandline>``.
        """
        say = self._say if named.target else self._remembered
        return say(change, advice, owner, named, in_arguments)

    def said_for(self, finding: Finding, named: FixNames) -> str:
        """Fix of a finding on a server or an image, worded with these names."""
        edits = any(isinstance(fix, OwnersFix) for fix in finding.fixes)
        change = finding.change if edits else None  # otherwise its rule worded all of it
        behind = any(
            isinstance(fix, EditArgument) and fix.written_in == "definition"
            for fix in finding.fixes
        )
        wording = self._wording(finding.owner, in_arguments=behind)

        return text_of(finding.fixes, change, wording, named)

    def backend_procedure(self, owner: Owner, backend: str) -> str:
        """How to connect a NIC to another ``backend`` (``vdpa``, ``vhostuser``) if this owner
        rewrites the definition of its guest."""
        other = f"{rewritten_by(owner)} decides what its NICs are connected to: change it there."
        return self.of(owner).backends.get(backend, other)

    def _say(
        self,
        change: Change | None,
        advice: str | Fix,
        owner: FindingOwner,
        named: FixNames,
        in_arguments: bool,
    ) -> WordedFix:
        if change is None and isinstance(advice, (str, Advice)):
            return _advised(advice, named)

        wording = self._wording(owner, in_arguments=in_arguments)
        if change is not None and in_arguments and wording.in_arguments is not None:
            # the owner of the definition did not write this argument, and has no setting for it
            fixes: tuple[Fix, ...] = (wording.in_arguments,)
        else:
            fixes = tuple(fixes_of(change, advice, wording, rewrites=bool(rewritten_by(owner))))
        return WordedFix(fixes, text_of(fixes, change, wording, named))

    def _wording(self, owner: FindingOwner, *, in_arguments: bool) -> Wording:
        wording = self.of(owner)
        return ARGUMENTS if in_arguments and wording.in_arguments is None else wording


def of_server(target: str, server_id: str, server: ServerConfig | None) -> FixNames:
    """Names for a server whose cloud was read."""
    image = None if server is None else server.image
    return FixNames(target, server_id, (image and image.id) or "", server)


def of_image(target: str, image: Image) -> FixNames:
    """Names for an image."""
    return NO_NAMES if image.id is None else FixNames(target, image_id=image.id)


def _advised(advice: str | Advice, named: FixNames) -> WordedFix:
    """A rule's own words, which are the same for every owner."""
    if isinstance(advice, str):
        return WordedFix((Advice((advice,)),) if advice else (), advice)
    return WordedFix((advice,), advice_text(advice, named))
