"""The facts of a cluster that rules of scopes ``cluster`` and ``guest`` need, with the right that
would tell each; and words for VMs and their commands.

A list that may not be read leaves what depends on it unknown: its rules are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vnicaudit.base.wording import kubernetes_word, path_word, plain, word
from vnicaudit.knowledge.kube_changes import restart_words
from vnicaudit.knowledge.kube_owners import route
from vnicaudit.knowledge.kubevirt_versions import default_rollout, is_known
from vnicaudit.model.cluster import (
    ClusterFacts,
    ClusterGuest,
    ClusterNic,
    KubeVirtSettings,
    LaunchedDomain,
    NicSpec,
    Topology,
)
from vnicaudit.model.finding import VIRTIO
from vnicaudit.model.kubevirt import MAX_QUEUES
from vnicaudit.model.nic import Nic
from vnicaudit.model.rule import Fact, Problem
from vnicaudit.text.targets import IN_CLUSTER, cluster_parts

ATTACHMENTS = "network-attachment-definitions"
KUBEVIRTS = "kubevirts.kubevirt.io"
_KUBEVIRT = "the KubeVirt object"
_NODES = "the nodes"
_ATTACHMENTS, _NADS = "the networks", f"{ATTACHMENTS}.k8s.cni.cncf.io"


def cluster_fact(
    known: Callable[[ClusterFacts], bool], tell: str, *resources: str
) -> Fact[ClusterFacts]:
    """A fact of a cluster, for a rule on all of it. ``resources``: plurals of what tells it."""
    reason = _reason(tell, resources)
    return Fact(known, tell, reason=lambda cluster: reason(cluster, ""))


def guest_fact(
    known: Callable[[ClusterGuest], bool], tell: str, *resources: str
) -> Fact[ClusterGuest]:
    """A fact for a rule on one VM. ``resources``: plurals of what tells it."""
    reason = _reason(tell, resources)
    return Fact(known, tell, reason=lambda guest: reason(guest.cluster, guest.namespace))


def _reason(tell: str, resources: tuple[str, ...]) -> Callable[[ClusterFacts, str], str]:
    """A function that completes "needs …" with why it is not known: it is not in the file, there is
    none, or it may not be listed."""

    def reason(cluster: ClusterFacts, namespace: str) -> str:
        plurals = [each.partition(".")[0] for each in resources]
        if not resources or (plurals == ["kubevirts"] and cluster.kubevirt is not None):
            return tell
        if not cluster.complete:
            return f"{tell} (not in this file)"
        # networks may be in another namespace than the VM
        spaces = ["" if plural == ATTACHMENTS else namespace for plural in plurals]
        if all(map(cluster.has_all, plurals, spaces)):
            return f"{tell} (the cluster has none)"
        if {each for each, _space in cluster.complete}.issuperset(plurals):
            return f"{tell} (of one namespace only: audit the other one, too, or kube:CONTEXT)"
        return f"{tell} (right: list {' and '.join(resources)})"

    return reason


KUBEVIRT = cluster_fact(lambda cluster: cluster.kubevirt is not None, _KUBEVIRT, KUBEVIRTS)
NODES = cluster_fact(lambda cluster: cluster.nodes is not None, _NODES, "nodes")
NETWORKS = cluster_fact(lambda cluster: cluster.attachments is not None, _ATTACHMENTS, _NADS)

KUBEVIRT_OF_VM = guest_fact(lambda guest: guest.cluster.kubevirt is not None, _KUBEVIRT, KUBEVIRTS)
VERSION_OF_VM = guest_fact(
    lambda guest: is_known(guest.cluster.version),
    "the version of KubeVirt in the KubeVirt object",
    KUBEVIRTS,
)
NODES_OF_VM = guest_fact(lambda guest: guest.cluster.nodes is not None, _NODES, "nodes")


def rollout(cluster: ClusterFacts) -> str | None:
    """The cluster's rollout strategy; None: unknown."""
    named = None if cluster.kubevirt is None else cluster.kubevirt.rollout
    return named or default_rollout(cluster.version)


def is_running(guest: ClusterGuest) -> bool:
    """True for a VM whose instance runs, and that nobody is deleting."""
    return guest.runs and not guest.deleting


def spec_of(nic: ClusterNic) -> NicSpec:
    """An interface as its instance has it, or else as the VM has it."""
    return nic.has or nic.template or NicSpec()


def present(guest: ClusterGuest) -> list[tuple[ClusterNic, NicSpec]]:
    """The interfaces of a VM that is not being deleted, except those that are being unplugged."""
    found = [(nic, spec_of(nic)) for nic in guest.nics]
    return [] if guest.deleting else [(n, spec) for n, spec in found if spec.state != "absent"]


def bridged(guest: ClusterGuest) -> list[tuple[ClusterNic, NicSpec]]:
    """The interfaces of a VM that are bridged to a network of their own."""
    return [
        (nic, spec) for nic, spec in present(guest)
        if spec.binding == "bridge" and not spec.is_plugin and "/" in (spec.network or "")
    ]  # fmt: skip


def may_have_networks(cluster: ClusterFacts) -> bool:
    """True for a cluster with networks, or of which that is not known."""
    return cluster.attachments is None or bool(cluster.attachments)


def networks_read(
    used: Callable[[ClusterGuest], Iterable[tuple[str, str]]],
    check: Callable[[ClusterGuest], Iterable[Problem]],
) -> Fact[ClusterGuest]:
    """That each network was read, or does not exist, on which a VM has an interface that a rule
    looks at (``used``: names of both); or that those that were read are enough for a problem."""

    def known(guest: ClusterGuest) -> bool:
        cluster, networks = guest.cluster, [network for _name, network in used(guest)]
        return all(
            each in cluster.attachments_by_path
            or cluster.has_all(ATTACHMENTS, each.partition("/")[0])
            for each in networks
        ) or any(True for _problem in check(guest))

    return guest_fact(known, _ATTACHMENTS, _NADS)


def is_virtio(spec: NicSpec) -> bool:
    """True for a virtio NIC that KubeVirt itself connects by a tap device."""
    return spec.model in VIRTIO and spec.binding in ("bridge", "masquerade")


def topology(guest: ClusterGuest) -> Topology | None:
    """The vCPUs that a running VM has."""
    return guest.current or (None if guest.has is None else guest.has.cpu)


def launched_differences(guest: ClusterGuest) -> Iterator[tuple[str, str]]:
    """Each interface of a running VM that its domain has otherwise than its specification gives,
    and how, where the launcher was read."""
    launched = guest.launched or LaunchedDomain()
    has = {nic.alias: nic for nic in launched.nics}
    for nic, spec in present(guest):
        domain_nic = has.get(nic.name)
        if domain_nic is not None and nic.has is not None and not spec.is_plugin:
            differs = list(_differences(spec, domain_nic, guest, kvm=launched.kvm))
            if differs:
                yield nic.name, "; ".join(differs)


def _differences(spec: NicSpec, has: Nic, guest: ClusterGuest, *, kvm: bool) -> Iterator[str]:
    declared, qemu, wanted = has.declared, has.running, spec.model or "virtio"
    models = filter(None, (declared.model, None if qemu is None else qemu.model))
    other = next((each for each in models if _family(each) != _family(wanted)), None)
    if other is not None:
        yield f"model {other}, and its specification gives {wanted}"
        return
    if not is_virtio(spec):
        return
    queues = max(declared.queues or 1, (qemu.queues or 1) if qemu is not None else 1)
    most = _most_queues(guest)
    if most is not None and queues > most:
        yield f"{queues} queues, and its specification gives {most} at most"
    settings = guest.cluster.kubevirt
    has_vhost = declared.driver_name != "qemu" and (qemu is None or qemu.vhost is not False)
    if kvm and settings is not None and not settings.emulation and not has_vhost:
        yield "no vhost, which KubeVirt gives every virtio NIC"


def _family(model: str) -> str:
    return "virtio" if model in VIRTIO else model


def _most_queues(guest: ClusterGuest) -> int | None:
    """As many queues as a NIC may have; None: unknown."""
    if guest.has is None or not guest.has.multiqueue:
        return 1
    known = topology(guest)
    return None if known is None else min(known.count, MAX_QUEUES)


def restart(guest: ClusterGuest, when: str = "at a convenient time") -> str:
    """A sentence that restarts a VM."""
    if not guest.has_vm:
        name = kubernetes_word(guest.name, "NAME")
        return f"Replace instance {name} {when}: it has no VirtualMachine that could be restarted."
    words = restart_words(guest.run_strategy, lambda verb: f"virtctl {verb} {machine(guest)}")
    return f"Restart it {when}: {words}."


def machine(guest: ClusterGuest) -> str:
    """A VM in a command: ``web -n demo --context prod``."""
    return f"{kubernetes_word(guest.name, 'NAME')} {namespace(guest)}"


def namespace(guest: ClusterGuest) -> str:
    """The namespace of a VM in a command, and its cluster."""
    return f"-n {kubernetes_word(guest.namespace, 'NAMESPACE')}{_selected(guest.cluster)}"


def _selected(cluster: ClusterFacts) -> str:
    """Options of kubectl and virtctl that select a live cluster, as another one may be current and
    have a VM of the same name."""
    if not cluster.is_live:
        return ""
    file, name = cluster_parts(cluster.target)[1], plain(cluster.name)
    sign = "=" if name.startswith("-") else " "
    context = "" if name == IN_CLUSTER else f" --context{sign}{word(name)}"
    return f"{context} --kubeconfig {path_word(plain(file))}" if file else context


def patch_kubevirt(cluster: ClusterFacts, settings: KubeVirtSettings, operation: str) -> str:
    """The command that changes the KubeVirt object by one operation of a JSON patch."""
    name, space = kubernetes_word(settings.name, "NAME"), settings.namespace
    where = f"{name} -n {kubernetes_word(space, 'NAMESPACE')}{_selected(cluster)}"
    return f"kubectl patch kubevirt {where} --type json -p '[{operation}]'"


def with_owner(guest: ClusterGuest, fix: str) -> str:
    """A fix that changes the VM, with where its owner wants the change."""
    return f"{fix} {route(guest.owner)}".strip()
