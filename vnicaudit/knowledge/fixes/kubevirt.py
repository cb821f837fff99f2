"""Fixes for KubeVirt: the source of a definition is a manifest, or a hook sidecar.

Where the domain is in a manifest, and how a change of it takes effect, depends on the kind.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.base.wording import kubernetes_word, path_word
from vnicaudit.knowledge.fixes.wording import OwnedNic, Wording, grows, own_words
from vnicaudit.model.finding import Change
from vnicaudit.model.fix import Advice, ChangeHook, ChangeManifest, OwnersFix, SetInManifest
from vnicaudit.model.names import FixNames

_KINDS = {
    "VirtualMachineInstance": ("spec.domain", "create it again"),
    "VirtualMachineInstanceReplicaSet": ("spec.template.spec.domain", "replace its instances"),
    "VirtualMachinePool": (
        "spec.virtualMachineTemplate.spec.template.spec.domain",
        "let the pool replace its VMs",
    ),
}
"""Kind -> the path of its domain, and how a change of it takes effect."""
_VIRTUAL_MACHINE = ("spec.template.spec.domain", "run virtctl restart")

_BY_HOOK = frozenset({"rx_queue_size", "tx_queue_size", "driver_name", "packed"})
"""Settings without a field in KubeVirt's API: only a hook sidecar can set them."""

_HOOK = (
    "The definition is KubeVirt's, which has no field for this: change the hook sidecar "
    "(onDefineDomain) that sets it, and {restart}."
)
_HOOK_ADDS = (
    "The definition is KubeVirt's, which has no field for QEMU arguments: change the hook sidecar "
    "(onDefineDomain) that adds this NIC, and {restart}."
)
_MANIFEST = (
    "The definition is KubeVirt's: change the VirtualMachine, its instance type or preference, or "
    "the hook sidecar (onDefineDomain) that sets it, and {restart}."
)


def _edit(change: Change) -> OwnersFix:
    if change.field == "model" and change.new == "virtio-transitional":
        return SetInManifest("useVirtioTransitional", "true")
    if change.field == "model" and change.new is not None:
        return SetInManifest("interfaces[].model", change.new)
    if change.field == "queues" and grows(change):
        return SetInManifest("networkInterfaceMultiqueue", "true")
    if change.field == "multiqueue":
        return SetInManifest("networkInterfaceMultiqueue", str(change.new))
    return ChangeHook() if change.field in _BY_HOOK else ChangeManifest()


def _sentence(fix: OwnersFix, named: FixNames) -> str:
    domain, restart = _KINDS.get(named.manifest_kind, _VIRTUAL_MACHINE)
    if named.run_strategy and named.manifest_kind not in _KINDS:
        from vnicaudit.knowledge.kube_changes import restart_words  # no manifest needs it

        restart = restart_words(named.run_strategy, lambda verb: f"run virtctl {verb}")
    if isinstance(fix, SetInManifest):
        return f"Set {domain}.devices.{fix.path}: {fix.value} and {restart}."
    if isinstance(fix, ChangeHook):
        return (_HOOK_ADDS if fix.adds_nic else _HOOK).format(restart=restart)
    return _MANIFEST.format(restart=restart)


def _procedure(owned: OwnedNic) -> Iterator[str]:
    manifest = owned.domain.declared.manifest
    if manifest is not None and owned.file is not None:
        yield from _in_file(owned, owned.file, manifest.kind)
        return
    # a domain is named namespace_name (KubeVirt, pkg/virt-launcher/virtwrap/util)
    namespace, mark, name = owned.domain.name.partition("_")
    machine = _machine(name, namespace) if mark else "NAME -n NAMESPACE"
    yield f"kubectl edit virtualmachine {machine}"
    yield from own_words(owned.findings)
    yield f"virtctl restart {machine}"
    yield (
        "If the manifest is also stored elsewhere, for example in Git, make the same change there."
    )


def _in_file(owned: OwnedNic, file: str, kind: str) -> Iterator[str]:
    """For a NIC described in the owner's own file, which can be changed in place."""
    unsafe = any(one.change is not None and not one.change.safe for one in owned.findings)
    path = path_word(file)
    yield f"vnicaudit audit --fix{' --include-unsafe' if unsafe else ''} {path}"
    yield f"kubectl apply -f {path}"
    if kind == "VirtualMachine":
        namespace, mark, name = owned.domain.name.partition("/")
        alone = kubernetes_word(owned.domain.name, "NAME")
        yield f"virtctl restart {_machine(name, namespace) if mark else alone}"
    else:
        yield from own_words(owned.findings)  # each finding says how its change takes effect


def _machine(name: str, namespace: str) -> str:
    return f"{kubernetes_word(name, 'NAME')} -n {kubernetes_word(namespace, 'NAMESPACE')}"


KUBEVIRT = Wording(
    _edit,
    _sentence,
    {
        "one-model": Advice((
            "Give all spec.template.spec.domain.devices.interfaces[] one model, virtio if the "
            "guest has the driver, run virtctl restart, and tie interface names to MAC addresses "
            "in the guest.",
        )),
        "own-address": Advice((
            "Change or remove macAddress in the manifest of the copy, and restart the virtual "
            "machine.",
        )),
        "serve-vhostuser": Advice((
            "Use a dpdkvhostuserclient port in Open vSwitch, with QEMU as the server: the "
            "definition is KubeVirt's, change the network binding plugin or hook sidecar "
            "(onDefineDomain) that makes this NIC, and run virtctl restart.",
        )),
        "share-memory": Advice((
            "The definition is KubeVirt's: what makes this NIC vhost-user (a network binding "
            "plugin, or a hook sidecar with onDefineDomain) must make the guest's memory shared "
            "too; change that and run virtctl restart.",
        )),
        "use-kvm": Advice((
            "Run it with KVM: no useEmulation in the KubeVirt resource. The guest sees a "
            "different CPU: power it off and on, and check it.",
        )),
    },
    ChangeHook(adds_nic=True),
    _procedure,
    behind=lambda _field: ChangeHook(),
)  # fmt: skip
