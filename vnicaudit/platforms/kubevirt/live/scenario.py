"""The scenario of ``advise network``, with what a cluster tells of it."""

from __future__ import annotations

from collections.abc import Iterator

from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.scenario import Scenario
from vnicaudit.platforms.kubevirt.cluster_scenario import ROUTER, ROUTER_SPACE, ScenarioReading
from vnicaudit.platforms.kubevirt.live.client import ApiCall, ApiError, Cluster
from vnicaudit.platforms.kubevirt.live.lists import (
    BY_KIND,
    ClusterList,
    Lists,
    ListSet,
    access_review,
    is_allowed,
)
from vnicaudit.platforms.kubevirt.objects import decoded_object

_ROLE = "docs/how-to/clusters/advisor-role.yaml"
_OPENSHIFT = "config.openshift.io"
_SINGLE = (
    (_OPENSHIFT, "networks", "cluster", "platform.sdn"),
    (_OPENSHIFT, "clusterversions", "version", "platform.openshift"),
    ("operator.openshift.io", "networks", "cluster", "whether MultiNetworkPolicy is on"),
)
"""Group, plural and name of objects of which a cluster has one, and what they tell. They are asked
for by name, so that a right to others is not needed."""
_LISTED = ("KubeVirt", "Node", "NetworkAttachmentDefinition")
_BY_HAND = "say by hand what the file leaves out:"
_WITHOUT = {
    "Node": f"{_BY_HAND} platform.kind, platform.sdn, platform.spare_nics",
    "NodeNetworkState": f"{_BY_HAND} platform.spare_nics, platform.ovs, platform.nic_gbit",
    "KubeVirt": f"{_BY_HAND} platform.kubevirt",
    "NetworkAttachmentDefinition": f"{_BY_HAND} platform.spare_nics, flow.present",
    "SriovNetworkNodePolicy": f"{_BY_HAND} platform.sriov",
    f"{ROUTER_SPACE}/pods": f"{_BY_HAND} platform.infra_pods_on_compute",
    "Pod": f"{_BY_HAND} flow.nodes, flow.pods_per_node, flow.present",
    "VirtualMachineInstance": f"{_BY_HAND} flow.nodes, flow.vcpus, flow.queues, flow.present",
}
_MOST_NOTES = 60


def scenario_of_cluster(
    target: str, live: LiveOptions, given: Scenario
) -> tuple[Scenario, tuple[str, ...]]:
    """The scenario in the file, with what the cluster tells beyond it, and notes: what was read,
    what was not, and where the two differ. Raises TargetError if the cluster does not answer, and
    UsageError for a flow whose ends are not written as selectors."""
    reading = ScenarioReading(given)
    cluster = Cluster(target, live)
    if cluster.namespace:
        raise UsageError(f"{target}: write kube:CONTEXT; flows say their own namespaces")
    served = cluster.groups()
    reading.has_multus = _NADS.group in served
    asked = [
        (single, cluster.ask(ApiCall(f"/apis/{single[0]}/v1/{single[1]}/{single[2]}")))
        for single in _SINGLE if single[0] in served
    ]  # fmt: skip
    openshift = _OPENSHIFT in served
    lists = Lists(cluster, ListSet([*_lists(reading, openshift)], _ROLE, _WITHOUT, _BY_HAND))
    for _kind, page in lists.pages:
        for item in page:
            reading.take(decoded_object(item, target), target)
    for (group, plural, name, fact), request in asked:
        try:
            reading.take(decoded_object(request.result(), target), target)
        except ApiError as error:
            if error.status is None:
                raise
            if error.status != 404:
                reading.notes.append(_not_read(cluster, f"{plural}.{group}/{name}", fact, error))
    spaces = dict.fromkeys(one.namespace for one in reading.selectors)
    for space in spaces if reading.has_multus else ():
        allowed = is_allowed(cluster.ask(access_review("create", _NADS, space)))
        reading.rights |= {} if allowed is None else {space: allowed}
    reading.unread |= lists.unread.keys()
    scenario = reading.scenario()
    notes = [*lists.unread.values(), *lists.notes, *reading.notes]
    more = len(notes) - _MOST_NOTES
    return scenario, (*notes[:_MOST_NOTES], *([f"and {more} more notes"] if more > 0 else []))


_NADS = BY_KIND["NetworkAttachmentDefinition"]


def _lists(reading: ScenarioReading, openshift: bool) -> Iterator[ClusterList]:
    yield from map(BY_KIND.__getitem__, _LISTED)
    yield ClusterList("NodeNetworkState", "nmstate.io", "nodenetworkstates", namespaced=False)
    yield ClusterList(
        "SriovNetworkNodePolicy", "sriovnetwork.openshift.io", "sriovnetworknodepolicies"
    )
    ends = {(one.is_vm, one.namespace) for one in reading.selectors}
    for is_vm, space in sorted(ends):
        if is_vm:
            yield ClusterList(
                "VirtualMachineInstance", "kubevirt.io", "virtualmachineinstances", namespace=space
            )
        else:
            yield ClusterList("Pod", "", "pods", namespace=space)
    if openshift:
        yield ClusterList("Pod", "", "pods", selector=ROUTER, namespace=ROUTER_SPACE)


def _not_read(cluster: Cluster, name: str, fact: str, error: ApiError) -> str:
    if error.status != 403:
        return f"{name}: {error.message}"
    return (
        f"no right to read {name}: {_BY_HAND} {fact}. Grant it ({_ROLE}), then check it: "
        f"{cluster.kubectl} auth can-i get {name}"
    )
