"""A VM runs with another NIC than its VirtualMachine describes.

## What is wrong

The VirtualMachine was changed after its instance was created: an interface of the instance has
another model, binding, address or network, or the VM another multiqueue setting or CPU topology.

## Why it matters

KubeVirt copies the VM's template when it starts an instance, and changes little of it afterwards:
most fields of a NIC wait for a restart (`IsRestartRequired` in `pkg/network/vmliveupdate`). Who
reads the VirtualMachine takes the change as done. The next restart, whoever causes it, makes it.

## Bad

```console
$ kubectl get vm web -o jsonpath='{..interfaces[0].model}'
virtio
$ kubectl get vmi web -o jsonpath='{.spec.domain.devices.interfaces[0].model}'
e1000
```

## Good

```console
$ kubectl get vmi web -o jsonpath='{.spec.domain.devices.interfaces[0].model}'
virtio
```

## Fix

Restart the VM in a window, or take the change back.

## Fix safety

A restart interrupts the VM. Another model may need a driver, and moves the guest's interface name.

## When it does not fire

* When only `state` differs, or only settings that are not of NICs: another generation proves
  nothing.
* When an interface is only in one of the two and the VM does not say `RestartRequired`: it is being
  plugged or unplugged (VNIC203).
* On another network attachment from KubeVirt 1.9 on, which takes effect without a restart, and in
  1.8 with the gate LiveUpdateNADRef. If only that differs and the version is unknown: skipped.
* On values that KubeVirt would choose, or a preference that was not read would give: a VM does not
  say them.
* On the interface that KubeVirt adds to a VM that names none.
* On halted VMs, while one is being deleted, and on instances of another owner.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.knowledge.kubevirt_versions import changes_attachment_live
from vnicaudit.model.cluster import ClusterGuest, ClusterNic, NicSpec, VmSettings
from vnicaudit.model.finding import VIRTIO, Confidence
from vnicaudit.model.rule import Judge, Problem, Rule

_SRIOV = "sriov"
_GENERATED = "generated"
Difference = tuple[str, str, str]
"""Field, as it runs, and as the VM has it."""


def applies(guest: ClusterGuest) -> bool:
    """A running VM of which both objects were read."""
    return kube_needs.is_running(guest) and guest.has_vm and guest.has is not None


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each NIC that differs, and one for the settings of all NICs."""
    waits = _waits(guest)
    confidence: Confidence = "high" if waits else "medium"
    restart = kube_needs.restart(guest, "in a window")
    fix = f"{restart} Or take the change back."
    names_none = all(nic.template is None for nic in guest.nics)
    for nic in guest.nics:
        found = list(_of_nic(nic.template, nic.has, guest))
        text = _differing(f"interface {nic.name}", found) if found else ""
        if names_none and nic.has is not None and nic.has.network == "pod":
            continue  # KubeVirt adds it (SetDefaultNetworkInterface), and will again
        if waits and nic.template is None:
            text = f"interface {nic.name} runs, and is no longer in the VM: a restart removes it"
        elif waits and nic.has is None and kube_needs.spec_of(nic).state != "absent":
            text = f"the VM has an interface {nic.name} that does not run: a restart adds it"
        if text:
            field = f"{nic.name}/{found[0][0] if found else ''}"
            back = f"Take the change back: a restart makes the NIC slow. Or else: {restart}"
            own = back if _gets_slow(nic) else fix
            yield Problem(text, field=field, confidence=confidence, fix=own)
    found = list(_of_all(guest.template, guest.has, waits=waits))
    if found:
        text = _differing("it", found)
        yield Problem(text, field="multiqueue", confidence=confidence, fix=fix)


def _gets_slow(nic: ClusterNic) -> bool:
    """True if it runs with virtio, and the VM has an emulated model."""
    if nic.template is None or nic.has is None or nic.template.model is None:
        return False
    return nic.has.model in VIRTIO and nic.template.model not in VIRTIO


def _waits(guest: ClusterGuest) -> bool:
    """True if KubeVirt says that a change waits for a restart (since 1.2)."""
    condition = guest.condition("RestartRequired")
    return condition is not None and condition.on is True


def _of_nic(
    template: NicSpec | None, has: NicSpec | None, guest: ClusterGuest
) -> Iterator[Difference]:
    if template is None or has is None:
        return
    if _SRIOV not in (template.binding, has.binding):
        yield from _differs("model", has.model, template.model)
    yield from _differs("binding", has.binding, template.binding)
    if template.mac:
        yield from _differs("MAC address", has.mac or _GENERATED, template.mac)
    if template.pci != has.pci:
        yield "PCI address", has.pci or "any", template.pci or "any"
    if template.acpi_index != has.acpi_index:
        yield "ACPI index", str(has.acpi_index or "none"), str(template.acpi_index or "none")
    if _attachment_is_live(guest) is False:
        yield from _differs("network", has.network, template.network)


def _attachment_is_live(guest: ClusterGuest) -> bool | None:
    settings = guest.cluster.kubevirt
    gates = frozenset[str]() if settings is None else settings.gates
    return changes_attachment_live(guest.cluster.version, gates)


def _is_decided(guest: ClusterGuest) -> bool:
    """False if only networks differ, and it is unknown whether that waits for a restart."""
    moved = any(
        nic.template is not None
        and nic.has is not None
        and any(_differs("network", nic.has.network, nic.template.network))
        for nic in guest.nics
    )
    return not moved or _attachment_is_live(guest) is not None or any(check(guest))


_VERSION = kube_needs.guest_fact(_is_decided, kube_needs.VERSION_OF_VM.tell, kube_needs.KUBEVIRTS)


def _differs(field: str, has: str | None, template: str | None) -> Iterator[Difference]:
    """The difference, if both are known."""
    if has is not None and template is not None and has != template:
        yield field, has, template


def _of_all(
    template: VmSettings | None, has: VmSettings | None, *, waits: bool
) -> Iterator[Difference]:
    if template is None or has is None:
        return
    if template.multiqueue is not None and template.multiqueue != bool(has.multiqueue):
        yield "multiqueue", _on(bool(has.multiqueue)), _on(template.multiqueue)
    new, old = template.cpu, has.cpu
    if new is None or old is None:
        return
    for field in ("cores", "threads", "sockets"):
        # sockets are plugged in while it runs
        if getattr(new, field) != getattr(old, field) and (waits or field != "sockets"):
            yield field, str(getattr(old, field)), str(getattr(new, field))


def _on(value: bool) -> str:
    return "on" if value else "off"


def _differing(what: str, found: list[Difference]) -> str:
    has, template = (
        ", ".join(
            f"a {_GENERATED} {each[0]}" if each[part] == _GENERATED else f"{each[0]} {each[part]}"
            for each in found
        )
        for part in (1, 2)
    )
    return f"{what} runs with {has}, and the VM has {template}: a restart changes it"


RULE = Rule(
    name="kube-vm-runs-older-spec",
    severity="medium",
    groups=("kubevirt", "cluster", "drift"),
    judges=(Judge("guest", needs=(_VERSION,), applies=applies, check=check),),
)
