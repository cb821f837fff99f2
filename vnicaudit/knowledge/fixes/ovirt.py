"""oVirt: its engine writes the definition anew, and is the place to change it.

Source: oVirt's *Virtual Machine Management Guide*, "Edit Network Interface".
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.fixes.wording import OwnedNic, Wording, own_words
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, EditInOvirt, OwnersFix
from vnicaudit.model.names import FixNames

_CHANGES = {
    "type": "change the NIC's type in the engine with the VM down.",
    "profile": "change the NIC's vNIC profile in the engine with the VM down.",
    "arguments": "change what adds these QEMU arguments to it, with the VM down.",
}


def _edit(change: Change) -> EditInOvirt:
    return EditInOvirt("type" if change.field == "model" else "profile")


def _behind(_field: str) -> EditInOvirt:
    return EditInOvirt("arguments")


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, EditInOvirt):
        raise TypeError(fix)
    return f"The definition is oVirt's: {_CHANGES[fix.part]}"


def _procedure(owned: OwnedNic) -> Iterator[str]:
    if any(one.change and one.change.field == "model" for one in owned.findings):
        mac = owned.nic.mac
        yield f"In the engine, shut the virtual machine {owned.domain.name} down."
        where = f" with the MAC address {mac}" if mac else ""
        yield f"Network Interfaces: edit the one{where}, Type: VirtIO."
        yield "Start it in the engine."
    yield from own_words(
        one for one in owned.findings if one.change and one.change.field != "model"
    )


OVIRT = Wording(
    _edit,
    _sentence,
    {
        "connect-network": Advice((
            "The definition is oVirt's: give the NIC a vNIC profile of a network in the engine, "
            "with the VM down.",
        )),
        "one-model": Advice((
            "Use one type for all NICs in the engine, virtio if the guest has the driver, with the "
            "VM down, and tie interface names to MAC addresses in the guest.",
        )),
        "own-address": Advice((
            "Give the vNIC of the copy a different address in the engine, while the virtual "
            "machine is "
            "down.",
        )),
        "serve-vhostuser": Advice((
            "Use a dpdkvhostuserclient port in Open vSwitch, with QEMU as the server: the "
            "definition is oVirt's, change the network in the engine with the VM down.",
        )),
        "share-memory": Advice((
            "The definition is oVirt's: with the VM down, give it shared memory in the engine, or "
            "the NIC a vNIC profile of another kind of network.",
        )),
        "use-kvm": Advice((
            "Run it with KVM: the definition is oVirt's, change it in the engine. The guest sees "
            "a different CPU: power it off and on, and check it.",
        )),
    },
    EditInOvirt("arguments"),
    _procedure,
    behind=_behind,
)  # fmt: skip
