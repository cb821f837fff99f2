"""An interface is on a network that does not exist.

## What is wrong

`multus.networkName` of a VM names a NetworkAttachmentDefinition that is not in its namespace, or
not in the one written before the slash.

## Why it matters

Multus cannot set up the pod: the VM does not start, or, if it runs from an earlier time, does not
come back from its next start or migration.

## Bad

```yaml
networks:
- name: db
  multus: {networkName: db-lan}   # kubectl get network-attachment-definitions: database-lan
```

## Good

```yaml
networks:
- name: db
  multus: {networkName: database-lan}
```

## Fix

Correct the name, or create the network. A name without a slash is one of the VM's own namespace.

## Fix safety

A running VM keeps its NIC until it is started again or migrated.

## When it does not fire

* On the pod network, on interfaces that are being unplugged, and while the VM is being deleted.
* Only *low* while a UserDefinedNetwork of that name is not ready, as OVN-Kubernetes creates the
  network then, or while UserDefinedNetworks or ClusterUserDefinedNetworks may not be listed.
* Skipped when the networks of that namespace may not be listed, or a file holds the VM: it does not
  show what else the cluster has.
"""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterGuest
from vnicaudit.model.finding import Severity
from vnicaudit.model.rule import Judge, Problem, Rule

_POD = "pod"


def _attached(guest: ClusterGuest) -> Iterator[tuple[str, str]]:
    """Each interface on a secondary network, and that network's namespace and name."""
    for nic, spec in kube_needs.present(guest):
        network = spec.network or ""
        if network != _POD and not network.startswith("/") and "/" in network:
            yield nic.name, network


_LISTED = kube_needs.guest_fact(
    lambda guest: all(
        guest.cluster.has_all(kube_needs.ATTACHMENTS, network.partition("/")[0])
        for _name, network in _attached(guest)
    ),
    "all networks of the namespace, from the cluster itself",
    f"{kube_needs.ATTACHMENTS}.k8s.cni.cncf.io",
)


def applies(guest: ClusterGuest) -> bool:
    """A VM with an interface on a network that was not found."""
    return bool(_missing(guest))


def check(guest: ClusterGuest) -> Iterator[Problem]:
    """One problem for each interface."""
    for name, network in _missing(guest):
        namespace, _slash, own = network.partition("/")
        yield Problem(
            f"interface {name} is on network {network[:120]}, which does not exist",
            field=f"{name}/network",
            severity=_severity(guest, namespace, own),
            fix=kube_needs.with_owner(
                guest,
                f"Create that NetworkAttachmentDefinition in namespace {namespace}, or correct "
                "multus.networkName.",
            ),
        )


def _missing(guest: ClusterGuest) -> list[tuple[str, str]]:
    if not any(_attached(guest)):
        return []
    known = guest.cluster.attachments_by_path
    return [each for each in _attached(guest) if each[1] not in known]


def _severity(guest: ClusterGuest, namespace: str, name: str) -> Severity:
    """Low while OVN-Kubernetes is about to create the network, or nobody knows."""
    networks = guest.cluster.user_networks
    coming = networks is None or any(
        one.name == name and one.namespace in ("", namespace) and one.ready is not True
        for one in networks
    )
    return "low" if coming else "error"


RULE = Rule(
    name="kube-network-missing",
    severity="error",
    groups=("kubevirt", "cluster"),
    judges=(Judge("guest", needs=(_LISTED,), applies=applies, check=check),),
)
