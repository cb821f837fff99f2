"""Why a fact of a cluster is not known."""

import pytest

from tests.rows import rows
from vnicaudit.knowledge import kube_needs
from vnicaudit.model.cluster import ClusterFacts, ClusterGuest
from vnicaudit.model.finding import Location

NODES = ("nodes", "")


@pytest.mark.parametrize(
    ("complete", "why"),
    [
        ((), "the KubeVirt object (not in this file)"),
        ((NODES,), "the KubeVirt object (right: list kubevirts.kubevirt.io)"),
        ((NODES, ("kubevirts", "")), "the KubeVirt object (the cluster has none)"),
    ],
)
def test_the_reason_why_an_object_is_not_known(
    complete: tuple[tuple[str, str], ...], why: str
) -> None:
    cluster = ClusterFacts("kube:lab", "lab", Location("kube:lab"), complete=frozenset(complete))
    guest = ClusterGuest(cluster=cluster, name="web", namespace="demo")
    assert kube_needs.KUBEVIRT.reason is not None
    assert kube_needs.KUBEVIRT.reason(cluster) == why
    assert kube_needs.KUBEVIRT_OF_VM.reason is not None
    assert kube_needs.KUBEVIRT_OF_VM.reason(guest) == why


def test_networks_may_be_in_another_namespace_than_the_one_that_was_listed() -> None:
    complete = frozenset({("network-attachment-definitions", "demo")})
    cluster = ClusterFacts("kube:lab", "lab", Location("kube:lab"), complete=complete)
    guest = ClusterGuest(cluster=cluster, name="web", namespace="demo")
    why = kube_needs.networks_read(lambda _guest: [("a", "other/lan")], lambda _guest: ()).reason
    assert why is not None
    assert why(guest) == (
        "the networks (of one namespace only: audit the other one, too, or kube:CONTEXT)"
    )


@rows
def test_a_command_selects_the_cluster_that_was_read(target: str, name: str, options: str) -> None:
    cluster = ClusterFacts(target, name, Location(target), complete=frozenset({NODES}))
    guest = ClusterGuest(cluster=cluster, name="web", namespace="demo")
    assert kube_needs.machine(guest) == f"web -n demo{options}"
