"""Who owns an object of Kubernetes, by its marks, and where a change of it then belongs: a change
made behind an owner's back is reverted at its next turn.

Sources: Argo CD's docs/user-guide/resource_tracking.md; Flux's kustomize-controller and
helm-controller (labels ``…/name`` and ``…/namespace``); Helm's pkg/action/validate.go; OLM's
``olm.owner``; virt-operator's ``app.kubernetes.io/managed-by`` (KubeVirt,
pkg/virt-operator/resource/apply); Open Cluster Management's AppliedManifestWork; KubeVirt's
VirtualMachinePool; Cluster API's ``cluster.x-k8s.io/cluster-name``; Forklift's labels of VMs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Literal, NamedTuple

from vnicaudit.model.cluster import ObjectOwner, OwnedObject

_MANAGED = "app.kubernetes.io/managed-by"
_INSTANCE = "app.kubernetes.io/instance"
_HELM = "meta.helm.sh/release-name"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""An annotation with the whole object, as somebody wrote it."""

GIT = "make the change in its source, or it will be reverted"


class OwnerReference(NamedTuple):
    """One of ``metadata.ownerReferences``."""

    kind: str
    name: str
    uid: str = ""
    controls: bool = False


class Marks(NamedTuple):
    """The part of an object's metadata that tells its owner."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    references: tuple[OwnerReference, ...] = ()


_BY_ANNOTATION = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "apps.open-cluster-management.io/hosting-subscription": "Open Cluster Management",
}
_BY_LABEL = {
    "argocd.argoproj.io/instance": "Argo CD",
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "olm.owner": "OLM",
    "cluster.x-k8s.io/cluster-name": "Cluster API",
}
_BY_REFERENCE = {
    "HyperConverged": "HyperConverged",
    "ClusterServiceVersion": "OLM",
    "AppliedManifestWork": "Open Cluster Management",
    "VirtualMachinePool": "VirtualMachinePool",
    "KubevirtMachine": "Cluster API",
}
_BY_MANAGER = {
    "hco-operator": "HyperConverged",
    "virt-operator": "virt-operator",
    "ssp-operator": "SSP",
}

_ROUTES = {
    "GitOps": f"a repository keeps it: {GIT}",
    "Argo CD": f"Argo CD manages it: {GIT}",
    "Flux": f"Flux manages it: {GIT}",
    "Helm": "Helm manages it: change the values of release {name}, and helm upgrade",
    "Open Cluster Management": f"Open Cluster Management manages it: {GIT} (on the hub)",
    "OLM": "OLM manages it: change the operator's own custom resource",
    "HyperConverged": "HyperConverged manages it: change the HyperConverged object",
    "virt-operator": "virt-operator manages it: change the KubeVirt object",
    "SSP": "the SSP operator manages it: use a copy of your own",
    "VirtualMachinePool": "VirtualMachinePool {name} manages it: change its virtualMachineTemplate",
    "Cluster API": "Cluster API manages it: change the machine template",
    "kubectl apply": "it was applied from a file: change that too, or the next apply reverts it",
    "app.kubernetes.io/instance": (
        "the label app.kubernetes.io/instance may stand for Argo CD or Helm: if so, make the "
        "change in its source"
    ),
}


Way = Literal["live", "apply", "file", "pool", "refuse"]
"""How a change is made that an owner would see: ``live``, with a note, and for ``apply`` with a
patch in a file as well; only by such a ``file`` for its repository, of the object or of the
``pool`` that made it; or not here at all (``refuse``)."""

GITOPS = "GitOps"
"""A repository, by a mark that the settings name (``treat-as-gitops``)."""
_WAYS: dict[str, Way] = {
    _INSTANCE: "live",
    "kubectl apply": "apply",
    **dict.fromkeys((GITOPS, "Argo CD", "Flux", "Helm", "Open Cluster Management"), "file"),
    "VirtualMachinePool": "pool",
}


def owner_to_ask(
    found: OwnedObject, gitops: Collection[str], owned: Collection[str]
) -> ObjectOwner | None:
    """The owner that decides on a change of an object; None: nobody. ``gitops``: labels and
    annotations of objects that a repository keeps; ``owned``: marks that do not count here."""
    mark = next((each for each in found.marks if each in gitops), None)
    if mark is not None:
        return ObjectOwner(name=GITOPS, mark=mark)
    return next((each for each in found.owners if each.mark not in owned), None)


def way_of(owner: ObjectOwner | None) -> Way:
    """How a change is made; not at all under an owner that is not known."""
    return "live" if owner is None else _WAYS.get(owner.name, "refuse")


def owners_of(marks: Marks) -> tuple[ObjectOwner, ...]:
    """All owners that the marks name, the strongest first."""
    return tuple(_owners(marks))


def route(owner: ObjectOwner | None) -> str:
    """A sentence on where a change belongs; empty: nowhere else."""
    if owner is None:
        return ""
    words = _ROUTES.get(owner.name, "its controller {kind} {name} manages it: change it there")
    text = words.format(kind=owner.name, name=owner.of or "NAME")
    return f"{text[:1].upper()}{text[1:]}."


def _owners(marks: Marks) -> Iterator[ObjectOwner]:
    # who made the object first: a pool gives its virtual machines the labels of its template
    for each in marks.references:
        if each.controls or each.kind in _BY_REFERENCE:
            name = _BY_REFERENCE.get(each.kind, each.kind)
            yield ObjectOwner(name=name, mark=f"owner {each.kind}", of=each.name)
    yield from _by_keys(marks)
    manager = marks.labels.get(_MANAGED, "")
    if manager == "Helm" and _HELM in marks.annotations:
        yield ObjectOwner(name="Helm", mark=_HELM, of=marks.annotations[_HELM])
    if manager in _BY_MANAGER:
        yield ObjectOwner(name=_BY_MANAGER[manager], mark=f"{_MANAGED}: {manager}")
    for key in (APPLIED, "config.kubernetes.io/origin"):
        if key in marks.annotations:
            yield ObjectOwner(name="kubectl apply", mark=key)
    if _INSTANCE in marks.labels:
        yield ObjectOwner(name=_INSTANCE, mark=_INSTANCE, of=marks.labels[_INSTANCE])


def _by_keys(marks: Marks) -> Iterator[ObjectOwner]:
    """The owners that a label or an annotation names by its key."""
    for key, name in _BY_ANNOTATION.items():
        if key in marks.annotations:
            yield ObjectOwner(name=name, mark=key, of=marks.annotations[key])
    for key, name in _BY_LABEL.items():
        if key in marks.labels:
            yield ObjectOwner(name=name, mark=key, of=marks.labels[key])
    if any(key.startswith("operators.coreos.com/") for key in marks.labels):
        yield ObjectOwner(name="OLM", mark="operators.coreos.com/")
