"""The words of fixes for a user of libvirt, who edits domain XML; for oVirt, whose engine rewrites
the definition and is the place to change it (*Virtual Machine Management Guide*, "Edit Network
Interface"); and for somebody who starts QEMU by its command line, or adds its arguments to a
definition.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, OwnedNic, Wording, own_words
from vnicaudit.model.finding import Finding
from vnicaudit.model.fix import Advice, EditArgument, EditElement, EditInOvirt, OwnersFix
from vnicaudit.model.names import FixNames

_XML = {
    "model": "<model type='{new}'/>",
    "address_type": "<address type='{new}'/>",
    "backend_vhost": "vhost='{new}' in <backend>",
    "driver_name": "<driver name='{new}'/>",
}
"""Field -> its markup; any other field is an attribute of ``<driver>``."""
_XML_GONE = {
    "model": "<model>",
    "address_type": "<address>",
    "rom": "<rom>",
    "acpi": "<acpi>",
    "backend_vhost": "vhost= from <backend>",
    "driver_name": "name= from <driver>",
    "host_off": "the off switches from <driver><host>",
    "guest_off": "the off switches from <driver><guest>",
}


def by_plan(finding: Finding, command: str = "vnicaudit plan") -> str:
    """The fix of a finding for those who have many to make: the command that plans edits of
    definitions in place of the editor."""
    if any(isinstance(one, EditElement) for one in finding.fixes):
        return finding.fix.replace("(virsh edit)", f"({command})")
    return finding.fix


def _element_text(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, EditElement):
        raise TypeError(fix)
    if fix.value is None:
        gone = _XML_GONE.get(fix.field, f"{fix.field}= from <driver>")
        return f"Remove {gone} (virsh edit), {POWER_CYCLE}"
    markup = _XML.get(fix.field, "{field}='{new}' in <driver>")
    return f"Set {markup.format(field=fix.field, new=fix.value)} (virsh edit), {POWER_CYCLE}"


LIBVIRT = Wording(lambda change: EditElement(change.field, change.new), _element_text)


_CHANGES = {
    "type": "change the NIC's type in the engine with the VM down.",
    "profile": "change the NIC's vNIC profile in the engine with the VM down.",
    "arguments": "change what adds these QEMU arguments to it, with the VM down.",
}


def _ovirt_text(fix: OwnersFix, _named: FixNames) -> str:
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
    lambda change: EditInOvirt("type" if change.field == "model" else "profile"),
    _ovirt_text,
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
            "machine is down.",
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
    behind=lambda _field: EditInOvirt("arguments"),
)  # fmt: skip


_DEVICE = {
    "rx_queue_size": "rx_queue_size={new} in -device",
    "tx_queue_size": "tx_queue_size={new} in -device",
    "packed": "packed={new} in -device",
    "iommu": "iommu_platform={new} in -device",
    "driver_name": "vhost=on in -netdev",
}
_GONE = {
    "host_off": "the offloads that are switched off (csum=off, host_tso4=off …)",
    "guest_off": "the offloads that are switched off (guest_csum=off, guest_tso4=off …)",
    "txmode": "tx=",
    "rx_queue_size": "rx_queue_size=",
    "tx_queue_size": "tx_queue_size=",
}
_DRIVER = {"virtio": "virtio-net-pci (virtio-net-ccw on s390x)"}
_PLACES = {
    "command-line": "on QEMU's command line, then restart it.",
    "definition": f"in <qemu:commandline> (virsh edit), {POWER_CYCLE}",
}
_SERVE = Advice((
    "Use a dpdkvhostuserclient port in Open vSwitch and server=on in QEMU's -chardev.",
))  # fmt: skip
_SHARE = Advice((
    "Share the guest's memory on QEMU's command line (share=on of its memory backend), then "
    "restart it.",
))  # fmt: skip
_KVM = Advice((
    "Run it with KVM: -accel kvm on QEMU's command line. The guest sees a different CPU: power it "
    "off and on, and check it.",
))  # fmt: skip

_CONNECT = Advice((
    "Connect it to a bridge: -netdev tap with vhost=on in place of -netdev user on QEMU's command "
    "line; if it has to run without privileges, use passt with -netdev stream.",
))  # fmt: skip


def _command_text(fix: OwnersFix, _named: FixNames) -> str:
    if not isinstance(fix, EditArgument):
        raise TypeError(fix)
    return f"{_argument(fix.field, fix.value)} {_PLACES[fix.written_in]}"


def _argument(field: str, new: str | None) -> str:
    if new is None:
        return f"Remove {_GONE.get(field, field)} of this NIC"
    if field == "queues":
        vectors = 2 * int(new) + 2
        return f"Set queues={new} in -netdev and mq=on,vectors={vectors} in -device"
    if field == "model":
        return f"Use -device {_DRIVER.get(new, new)}"
    pattern = _DEVICE.get(field, "{field}={new}")
    return f"Set {pattern.format(field=field, new=new)}"


QEMU = Wording(
    lambda change: EditArgument(change.field, change.new, "command-line"),
    _command_text,
    {
        "connect-network": _CONNECT,
        "serve-vhostuser": _SERVE,
        "share-memory": _SHARE,
        "use-kvm": _KVM,
    },
)
ARGUMENTS = Wording(
    lambda change: EditArgument(change.field, change.new, "definition"),
    _command_text,
    {"serve-vhostuser": _SERVE},
)
"""For a NIC that ``<qemu:commandline>`` adds to a definition."""
