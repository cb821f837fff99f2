"""A change in model terms -> a sentence for the one who keeps the definition.

A Nova or KubeVirt guest is never told to edit XML: its owner would write it anew.
"""

from __future__ import annotations

from collections.abc import Callable

from vnicaudit.model.finding import Change

_XML = {
    "model": "<model type='{new}'/>",
    "driver_name": "<driver name='{new}'/>",
    "packed": "packed='{new}' in <driver>",
}
_NOVA_PROPERTY = {
    "model": "hw_vif_model",
    "queues": "hw_vif_multiqueue_enabled",
    "packed": "hw_virtio_packed_ring",
}


def fix_text(change: Change | None, owner: str, hint: str) -> str:
    """What to do, in one or two sentences. ``hint`` is the rule's own words, used where no
    change can be made in model terms, and added where one can."""
    if change is None:
        return hint
    text = _OWNERS.get(owner, _libvirt)(change)
    return f"{text} {hint}".strip()


def _libvirt(change: Change) -> str:
    if change.new is None:
        return f"Remove {_attribute(change.field)} (virsh edit), then power the guest off and on."
    return f"Set {_markup(change)} (virsh edit), then power the guest off and on."


def _nova(change: Change) -> str:
    name = _NOVA_PROPERTY.get(change.field)
    if name is None:
        return (
            "The definition is Nova's: change the image, flavor or nova.conf it comes from, "
            "then hard-reboot the server."
        )
    value = "true" if change.field == "queues" else change.new
    if change.new is None:
        return f"Remove {name} from the image; the definition is Nova's and is written anew."
    return (
        f"openstack image set --property {name}={value} IMAGE for new servers; for this one: "
        f"stop it, nova-manage image_property set UUID --property {name}={value}, start it."
    )


def _kubevirt(change: Change) -> str:
    devices = "spec.template.spec.domain.devices"
    if change.field == "model":
        return f"Set {devices}.interfaces[].model: {change.new} and run virtctl restart."
    if change.field == "queues":
        return f"Set {devices}.networkInterfaceMultiqueue: true and run virtctl restart."
    return (
        "The definition is KubeVirt's: change the VirtualMachine, its instance type or "
        "preference, and run virtctl restart."
    )


def _ovirt(change: Change) -> str:
    what = "the NIC's type" if change.field == "model" else "the NIC's vNIC profile"
    return f"The definition is oVirt's: change {what} in the engine with the VM down."


def _attribute(field: str) -> str:
    return f"{field}= from <driver>" if field not in ("model", "address_type") else f"<{field}>"


def _markup(change: Change) -> str:
    pattern = _XML.get(change.field, "{field}='{new}' in <driver>")
    return pattern.format(field=change.field, new=change.new)


_OWNERS: dict[str, Callable[[Change], str]] = {
    "nova": _nova,
    "kubevirt": _kubevirt,
    "ovirt": _ovirt,
}
