"""What a cluster tells of a scenario, in forms that the real API server of tests does not have."""

import json
from typing import Any

import pytest

from tests.platforms.kubevirt.live.api_server import FakeServer, Item, Reply
from tests.rows import rows
from vnicaudit.errors import TargetError, UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.scenario import Scenario, ScenarioPlatform, TrafficFlow
from vnicaudit.platforms.kubevirt.live.scenario import scenario_of_cluster

NODES, PODS, STATES = "v1/nodes", "v1/pods", "nmstate.io/v1beta1/nodenetworkstates"
NETWORK = "config.openshift.io/v1/networks"


def advised(name: str = "kube:prod", **ends: str) -> tuple[Scenario, list[str]]:
    flow = TrafficFlow(name="f", source="pod", to="pod", **ends)  # type: ignore[arg-type]
    scenario, notes = scenario_of_cluster(name, LiveOptions(), Scenario(flows=(flow,)))
    return scenario, [*notes]


def item(name: str, **parts: Any) -> Item:
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    return {"metadata": metadata | parts.pop("metadata", {})} | parts


def node(name: str, arch: str = "amd64") -> Item:
    return item(name, status={"nodeInfo": {"architecture": arch}})


def pods(*placed: str) -> list[Item]:
    """``web@n1``: a pod with that label on that node."""
    found = []
    for number, (app, _at, on) in enumerate(each.partition("@") for each in placed):
        spec = {"nodeName": on} if on else {}
        found.append(item(f"p{number}", metadata={"labels": {"app": app}}, spec=spec))
    return found


ENDS = {"source_is": "shop/app=web", "target_is": "shop/app=db"}


@rows
def test_placement_is_that_of_all_pods(
    cluster: FakeServer, placed: str, nodes: str | None, most: int | None
) -> None:
    cluster.lists[PODS] = pods(*placed.split())
    scenario, notes = advised(**ENDS)
    assert (scenario.flows[0].nodes, scenario.flows[0].pods_per_node) == (nodes, most)
    assert ("flow f.nodes: some of its pods are on no node yet" in notes) is ("web@ " in placed)
    missing = "flow f: none of the running pods is shop/app=web"
    assert (missing in notes) is ("web" not in placed)


def test_a_cluster_without_attachments_has_no_multus_and_nobody_is_asked_for_rights(
    cluster: FakeServer,
) -> None:
    cluster.lists |= {PODS: pods("web@n1", "db@n1"), NODES: [node("n1", "arm64")]}
    scenario, _notes = advised(**ENDS)
    assert scenario.platform == ScenarioPlatform(kind="other", multus=False)
    assert scenario.flows[0].present == "default"
    assert [one for one in cluster.asked if one.method != "GET"] == []


def test_the_right_to_attach_networks_is_asked_for_in_the_namespaces_of_the_flows(
    cluster: FakeServer,
) -> None:
    networks = "k8s.cni.cncf.io/v1/network-attachment-definitions"
    cluster.lists |= {PODS: pods("web@n1", "db@n1"), networks: []}
    scenario, _notes = advised(**ENDS)
    assert (scenario.platform.multus, scenario.platform.may_create_nads) == (True, True)
    (asked,) = (json.loads(one.body) for one in cluster.asked if one.method == "POST")
    assert asked["spec"]["resourceAttributes"] == {
        "group": "k8s.cni.cncf.io", "resource": "network-attachment-definitions",
        "verb": "create", "namespace": "shop",
    }  # fmt: skip


def test_a_namespace_in_the_target_is_refused(cluster: FakeServer) -> None:
    with pytest.raises(UsageError, match="kube:prod/shop: write kube:CONTEXT"):
        advised("kube:prod/shop", **ENDS)
    assert cluster.listed.keys() == set()


def test_settings_that_cannot_be_read_are_named_and_a_server_that_is_gone_ends_it(
    cluster: FakeServer,
) -> None:
    cluster.lists[NETWORK] = []
    _scenario, notes = advised()  # the group is served, the object is not there
    assert [each for each in notes if "networks.config" in each] == []
    cluster.intercept = lambda asked: (
        Reply(500, b'{"message": "etcd is away"}') if asked.path.endswith("/cluster") else None
    )
    _scenario, notes = advised()
    assert "networks.config.openshift.io/cluster: 500: etcd is away" in notes
    cluster.intercept = lambda asked: (
        Reply(200, b"<html>") if asked.path.endswith("/cluster") else None
    )
    with pytest.raises(TargetError, match="not a JSON object"):
        advised()


def test_words_of_a_cluster_stay_on_one_line(cluster: FakeServer) -> None:
    cluster.lists[NETWORK] = []
    body = (
        b'{"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "x"},'
        b' "status": {"networkType": "Mine\\u001b[2J\\nflow f.nodes: forged"}}'
    )
    cluster.intercept = lambda asked: Reply(200, body) if asked.path.endswith("/cluster") else None
    scenario, notes = advised()
    assert scenario.platform.sdn == "other"
    assert all(each.isprintable() for each in notes)


PRIMARY = {"type": "ovn-k8s-cni-overlay", "topology": "layer2", "role": "primary"}


@rows
def test_the_binding_is_the_attachment_of_a_vm_to_the_network_of_pods(
    cluster: FakeServer, binding: Item, own: bool, present: str | None
) -> None:
    devices = {"interfaces": [{"name": "default"} | binding]}
    spec = {"domain": {"devices": devices}, "networks": [{"name": "default", "pod": {}}]}
    running = item("db", spec=spec, status={"phase": "Running", "nodeName": "n1"})
    cluster.lists["kubevirt.io/v1/virtualmachineinstances"] = [running]
    networks = [item("udn", spec={"config": json.dumps(PRIMARY)})] if own else []
    cluster.lists["k8s.cni.cncf.io/v1/network-attachment-definitions"] = networks
    scenario, _notes = advised(target_is="vm/shop/db")
    assert scenario.flows[0].present == present


def state(*interfaces: Item) -> Item:
    return item("n1", status={"currentState": {"interfaces": [*interfaces]}})


def bridge(name: str, datapath: str, *ports: str) -> Item:
    ends = [{"name": each} for each in ports]
    return {
        "name": name, "type": "ovs-bridge",
        "bridge": {"options": {"datapath": datapath}, "port": ends},
    }  # fmt: skip


def nic(name: str, **ethernet: object) -> Item:
    return {"name": name, "type": "ethernet", "state": "up", "ethernet": ethernet}


@pytest.mark.parametrize(
    ("interfaces", "facts"),
    [
        ([bridge("br-ex", "", "e1"), nic("e1", speed=25000)],
         {"ovs": "kernel", "nic_gbit": 25, "spare_nics": 0}),
        ([bridge("br-ex", "system"), bridge("br-dpdk", "netdev")], {"ovs": None, "spare_nics": 0}),
        ([bridge("br-dpdk", "netdev"), {"name": "d0", "type": "ovs-interface", "dpdk": {}}],
         {"ovs": "dpdk"}),
        ([nic("e1", speed=25000), nic("e2", speed=1000)], {"nic_gbit": None, "spare_nics": 2}),
        ([nic("pf", speed=1000, **{"sr-iov": {"total-vfs": 4}}), nic("vf", speed=1000)],
         {"sriov": True, "spare_nics": None}),
        ([nic("e1", speed=1000) | {"state": "down"}], {"spare_nics": None}),
        ([nic("e1", speed=1000), {"name": "v", "type": "vlan", "vlan": {"base-iface": "e1"}}],
         {"spare_nics": 0}),
    ],
)  # fmt: skip
def test_nmstate_tells_of_nics_and_open_vswitch(
    cluster: FakeServer, interfaces: list[Item], facts: dict[str, object]
) -> None:
    cluster.lists |= {NODES: [node("n1")], STATES: [state(*interfaces)]}
    scenario, _notes = advised()
    assert {name: getattr(scenario.platform, name) for name in facts} == facts


def test_where_one_node_has_no_spare_nic_the_others_do_not_matter(cluster: FakeServer) -> None:
    cluster.lists |= {NODES: [node("n1"), node("n2")]}
    without = state(bridge("br-ex", "", "e1"), nic("e1", speed=1000)) | item("n2")
    cluster.lists[STATES] = [state(nic("e2")), without]
    assert advised()[0].platform.spare_nics == 0
    cluster.lists[STATES] = [state(nic("e2")), state(nic("e2")) | item("n2")]
    assert advised()[0].platform.spare_nics is None


def test_the_kind_of_a_spare_nic_on_z_is_not_told(cluster: FakeServer) -> None:
    cluster.lists |= {NODES: [node("n1", "s390x")], STATES: [state(nic("enc1", speed=10000))]}
    scenario, notes = advised()
    assert scenario.platform.spare_nics == 1
    assert "n1: enc1; whether OSA, RoCE or HiperSockets is not told" in "".join(notes)
