"""Fixes for somebody who starts QEMU by its command line, or adds its arguments to a definition."""

from __future__ import annotations

from vnicaudit.knowledge.fixes.wording import POWER_CYCLE, Wording
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, EditArgument, OwnersFix
from vnicaudit.model.names import FixNames

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
    "off "
    "and on, and check it.",
))  # fmt: skip

_CONNECT = Advice((
    "Connect it to a bridge: -netdev tap with vhost=on in place of -netdev user on QEMU's command "
    "line; if it has to run without privileges, use passt with -netdev stream.",
))  # fmt: skip


def _sentence(fix: OwnersFix, _named: FixNames) -> str:
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


def _edit(change: Change) -> EditArgument:
    return EditArgument(change.field, change.new, "command-line")


def _edit_definition(change: Change) -> EditArgument:
    return EditArgument(change.field, change.new, "definition")


QEMU = Wording(
    _edit,
    _sentence,
    {
        "connect-network": _CONNECT,
        "serve-vhostuser": _SERVE,
        "share-memory": _SHARE,
        "use-kvm": _KVM,
    },
)
ARGUMENTS = Wording(_edit_definition, _sentence, {"serve-vhostuser": _SERVE})
"""For a NIC that ``<qemu:commandline>`` adds to a definition."""
