"""A change in model terms -> a sentence for the one who keeps the definition.

A Nova, KubeVirt or oVirt guest is never told to edit XML: its owner would write it anew.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from vnicaudit.audit.fixes_nova import grows, nova_text
from vnicaudit.model.finding import Change

COMMANDLINE = "qemu:commandline"
"""Stands for the owner of a NIC that ``<qemu:commandline>`` adds behind libvirt's back."""

_CYCLE = "then power the guest off and on."

_XML = {
    "model": "<model type='{new}'/>",
    "address_type": "<address type='{new}'/>",
    "backend_vhost": "vhost='{new}' in <backend>",
    "driver_name": "<driver name='{new}'/>",
}
"""Field -> its markup; anything else is an attribute of ``<driver>``."""

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

_KUBEVIRT_HOOK = frozenset({"rx_queue_size", "tx_queue_size", "driver_name", "packed"})
"""Settings that no field of KubeVirt's API reaches: they come from a hook sidecar alone."""

_QEMU_DEVICE = {
    "rx_queue_size": "rx_queue_size={new} in -device",
    "tx_queue_size": "tx_queue_size={new} in -device",
    "packed": "packed={new} in -device",
    "iommu": "iommu_platform={new} in -device",
    "driver_name": "vhost=on in -netdev",
}
_QEMU_GONE = {
    "host_off": "the offloads that are switched off (csum=off, host_tso4=off …)",
    "guest_off": "the offloads that are switched off (guest_csum=off, guest_tso4=off …)",
    "txmode": "tx=",
    "rx_queue_size": "rx_queue_size=",
    "tx_queue_size": "tx_queue_size=",
}
_QEMU_DRIVER = {"virtio": "virtio-net-pci (virtio-net-ccw on s390x)"}


_BEHIND = {
    "nova": "Nova never writes QEMU arguments: this NIC was put there behind Nova's back. The next "
    "hard reboot (openstack server reboot --hard) writes the definition anew.",
    "kubevirt": "The definition is KubeVirt's, which has no field for QEMU arguments: change the "
    "hook sidecar (onDefineDomain) that adds this NIC, and run virtctl restart.",
    "ovirt": "The definition is oVirt's: change what adds these QEMU arguments to it, with the VM "
    "down.",
}
"""Owner -> what to do about a NIC in QEMU arguments that somebody put into its definition."""


@lru_cache(maxsize=4096)
def fix_text(change: Change | None, owner: str, hint: str) -> str:
    """What to do, in a few sentences, ending with why the change is unsafe where it is.

    ``hint`` is the rule's own words to this owner: the whole text where no change can be made in
    model terms, added to it where one can.
    """
    if change is None:
        return hint
    parts = [_OWNERS.get(owner, _libvirt)(change), hint]
    if not change.safe and change.reason:
        parts.append(f"Unsafe: {change.reason}.")
    return " ".join(part for part in parts if part)


def commandline_text(change: Change, owner: str, hint: str) -> str:
    """As :func:`fix_text`, for a NIC that ``<qemu:commandline>`` adds: an owner that keeps the
    definition did not write that, and has no setting for it."""
    where = _BEHIND.get(owner)
    return fix_text(change, COMMANDLINE, hint) if where is None else where


def _libvirt(change: Change) -> str:
    if change.new is None:
        gone = _XML_GONE.get(change.field, f"{change.field}= from <driver>")
        return f"Remove {gone} (virsh edit), {_CYCLE}"
    markup = _XML.get(change.field, "{field}='{new}' in <driver>")
    return f"Set {markup.format(field=change.field, new=change.new)} (virsh edit), {_CYCLE}"


_MANIFESTS = {
    "VirtualMachineInstance": ("spec.domain", "create it anew"),
    "VirtualMachineInstanceReplicaSet": ("spec.template.spec.domain", "replace its instances"),
    "VirtualMachinePool": (
        "spec.virtualMachineTemplate.spec.template.spec.domain",
        "let the pool replace its VMs",
    ),
}
"""Kind -> where its domain is, and how a change of it takes effect."""


def manifest_text(text: str, kind: str) -> str:
    """What :func:`fix_text` says to KubeVirt's owner of a VirtualMachine, for another kind."""
    way, restart = _MANIFESTS.get(kind, ("spec.template.spec.domain", "run virtctl restart"))
    return text.replace("spec.template.spec.domain", way).replace("run virtctl restart", restart)


def _kubevirt(change: Change) -> str:
    devices = "spec.template.spec.domain.devices"
    if change.field == "model" and change.new == "virtio-transitional":
        return f"Set {devices}.useVirtioTransitional: true and run virtctl restart."
    if change.field == "model" and change.new is not None:
        return f"Set {devices}.interfaces[].model: {change.new} and run virtctl restart."
    if change.field == "queues" and grows(change):
        return f"Set {devices}.networkInterfaceMultiqueue: true and run virtctl restart."
    if change.field == "multiqueue":
        return f"Set {devices}.networkInterfaceMultiqueue: {change.new} and run virtctl restart."
    if change.field in _KUBEVIRT_HOOK:
        return (
            "The definition is KubeVirt's, which has no field for this: change the hook sidecar "
            "(onDefineDomain) that sets it, and run virtctl restart."
        )
    return (
        "The definition is KubeVirt's: change the VirtualMachine, its instance type or "
        "preference, or the hook sidecar (onDefineDomain) that sets it, and run virtctl restart."
    )


def _ovirt(change: Change) -> str:
    what = "the NIC's type" if change.field == "model" else "the NIC's vNIC profile"
    return f"The definition is oVirt's: change {what} in the engine with the VM down."


def _qemu(change: Change) -> str:
    return f"{_argument(change)} on QEMU's command line, then start it anew."


def _commandline(change: Change) -> str:
    return f"{_argument(change)} in <qemu:commandline> (virsh edit), {_CYCLE}"


def _argument(change: Change) -> str:
    if change.new is None:
        what = _QEMU_GONE.get(change.field, change.field)
        return f"Remove {what} of this NIC"
    if change.field == "queues":
        vectors = 2 * int(change.new) + 2
        return f"Set queues={change.new} in -netdev and mq=on,vectors={vectors} in -device"
    if change.field == "model":
        return f"Use -device {_QEMU_DRIVER.get(change.new, change.new)}"
    pattern = _QEMU_DEVICE.get(change.field, "{field}={new}")
    return f"Set {pattern.format(field=change.field, new=change.new)}"


def _terraform(change: Change) -> str:
    if change.field == "model" and change.new is not None:
        return (
            f'Set model = {{ type = "{change.new}" }} of this interface, run terraform apply, '
            f"{_CYCLE}"
        )
    return (
        "The definition is Terraform's: change the libvirt_domain resource, run terraform apply, "
        f"{_CYCLE}"
    )


_OWNERS: dict[str, Callable[[Change], str]] = {
    "nova": nova_text,
    "kubevirt": _kubevirt,
    "ovirt": _ovirt,
    "qemu": _qemu,
    "terraform": _terraform,
    COMMANDLINE: _commandline,
}
