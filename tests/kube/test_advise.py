"""The facts of a scenario, from the objects of a real API server: what it tells, what it does not,
and what this user may not read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.cli.inside import inside
from tests.kube.objects import attachment, instance_of, kubevirt, virtual_machine
from tests.kube.server import Server
from tests.kube.test_rights import ROLE
from tests.rows import rows
from vnicaudit.errors import UsageError
from vnicaudit.model.fleet import LiveOptions
from vnicaudit.model.scenario import FlowNetwork, Scenario, ScenarioPlatform, TrafficFlow
from vnicaudit.platforms.kubevirt.live import lists as live
from vnicaudit.platforms.kubevirt.live.scenario import scenario_of_cluster

pytestmark = pytest.mark.kube

Object = dict[str, Any]
RULES: list[Object] = YAML(typ="safe", pure=True).load(ROLE.with_name("advisor-role.yaml"))["rules"]
WORKER = {"node-role.kubernetes.io/worker": ""}
INFRA = WORKER | {"node-role.kubernetes.io/infra": ""}
ON_Z = "feature.node.kubernetes.io/cpu-model.hypervisor"
OVN = {"k8s.ovn.org/node-subnets": '{"default":["10.128.0.0/23"]}'}


def node(
    name: str, arch: str = "amd64", labels: Mapping[str, str] = WORKER,
    annotations: Mapping[str, str] = {}, offered: Mapping[str, str] = {},
) -> Object:  # fmt: skip
    status = {"nodeInfo": {"architecture": arch}, "allocatable": {"cpu": "8", **offered}}
    info = dict.fromkeys(
        ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion",
         "kubeletVersion", "machineID", "operatingSystem", "osImage", "systemUUID"), "x",
    )  # fmt: skip
    status["nodeInfo"] |= info
    metadata = {"name": name, "labels": dict(labels), "annotations": dict(annotations)}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def pod(
    name: str, on: str, *, of: str = "", namespace: str = "shop", networks: str = "",
    labels: Mapping[str, str] = {}, **spec: object,
) -> Object:  # fmt: skip
    """A pod; ``of``: of the Deployment of that name."""
    metadata: Object = {"name": name, "namespace": namespace, "labels": dict(labels)}
    if of:
        metadata["labels"]["pod-template-hash"] = "5d6f"
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{of}-5d6f", "uid": "r"}
        metadata["ownerReferences"] = [owner | {"controller": True}]
    if networks:
        metadata["annotations"] = {"k8s.v1.cni.cncf.io/networks": networks}
    containers = [{"name": "main", "image": "none"}]
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata,
        "spec": {"containers": containers} | ({"nodeName": on} if on else {}) | spec,
        "status": {"phase": "Running"},
    }  # fmt: skip


def single(group: str, kind: str, name: str, **parts: object) -> Object:
    return {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, **parts}


def openshift(plugin: str = "OVNKubernetes", version: str = "4.16.21") -> list[Object]:
    history = [
        {"state": "Partial", "version": "4.17.1"}, {"state": "Completed", "version": version}
    ]  # fmt: skip
    return [
        single("config.openshift.io", "Network", "cluster", status={"networkType": plugin}),
        single("config.openshift.io", "ClusterVersion", "version", status={"history": history}),
        single("operator.openshift.io", "Network", "cluster", spec={"useMultiNetworkPolicy": True}),
    ]


def nics(name: str, *interfaces: Object) -> Object:
    """What nmstate shows of a node: a bridge of Open vSwitch with eth0, and these."""
    own = [
        {"name": "br-ex", "type": "ovs-bridge", "bridge": {"port": [{"name": "eth0"}]}},
        nic("eth0"),
    ]
    state = {"currentState": {"interfaces": [*own, *interfaces]}}
    return {
        "apiVersion": "nmstate.io/v1beta1", "kind": "NodeNetworkState",
        "metadata": {"name": name}, "status": state,
    }  # fmt: skip


def nic(name: str, *, speed: int | None = 25000, **fields: object) -> Object:
    ethernet = {"ethernet": {"speed": speed}} if speed else {}
    return {"name": name, "type": "ethernet", "state": "up"} | ethernet | fields


def flow(**fields: Any) -> TrafficFlow:
    return TrafficFlow(**{"name": "f", "source": "pod", "to": "pod"} | fields)


BETWEEN = flow(source_is="shop/web", target_is="shop/db")


def advised(
    cluster: Server, *flows: TrafficFlow, name: str = "", **platform: Any
) -> tuple[Scenario, str]:
    """The scenario, and the notes as one text."""
    given = Scenario(platform=ScenarioPlatform(**platform), flows=flows or (BETWEEN,))
    name = name or f"kube:admin?kubeconfig={cluster.admin}"
    scenario, notes = scenario_of_cluster(name, LiveOptions(), given)
    return scenario, "\n".join(notes)


def account(cluster: Server, name: str, rules: list[Object]) -> str:
    file = cluster.kubeconfig(name, {"token": cluster.account(name, rules)})
    return f"kube:{name}?kubeconfig={file}"


# Clusters.


def test_openshift_on_x86_fills_in_platform_and_placement(cluster: Server) -> None:
    cluster.load(
        *openshift(), kubevirt("v1.8.2"), node("n1"), node("n2"), node("i1", labels=INFRA),
        nics("n1", nic("eth1"), nic("eth2")), nics("n2", nic("eth1")),
        pod("web-1", "n1", of="web"), pod("web-2", "n1", of="web"), pod("db-0", "n2", of="db"),
        pod("other", "i1", of="other"),
    )  # fmt: skip
    scenario, notes = advised(cluster)
    assert scenario.platform == ScenarioPlatform(
        kind="x86", sdn="ovn-kubernetes", openshift="4.16.21", kubevirt="1.8.2", spare_nics=1,
        nic_gbit=25, multus=True, may_create_nads=True, ovs="kernel",
    )  # fmt: skip
    (found,) = scenario.flows
    network = FlowNetwork(namespace="shop", workload="Deployment/web")
    assert found == flow(
        source_is="shop/web", target_is="shop/db", nodes="cross", pods_per_node=2,
        present="default", network=network,
    )  # fmt: skip
    assert "MultiNetworkPolicy is on" in notes
    assert 'sdn = "ovn-kubernetes" (Network cluster of config.openshift.io: OVNKubernetes)' in notes
    assert "spare_nics = 1 (nmstate: n1: eth1, eth2; n2: eth1)" in notes


@pytest.mark.parametrize(
    ("label", "kind"),
    [("z_VM_7.3.0", "z-vm"), ("KVM_Linux", "z-kvm"), ("none", "z-lpar"), ("PowerVM", None)],
)
def test_what_z_runs_on_is_told_by_a_label_or_asked_for(
    cluster: Server, label: str, kind: str | None
) -> None:
    cluster.load(*openshift("OpenShiftSDN", "4.14.9"), node("n1", "s390x", {ON_Z: label}))
    scenario, notes = advised(cluster, flow())
    assert (scenario.platform.kind, scenario.platform.sdn) == (kind, "openshift-sdn")
    assert ("platform.kind: the nodes are of s390x" in notes) is (kind is None)
    assert scenario.flows == (flow(),)


def test_plain_kubernetes_says_its_plugin_by_the_annotations_of_all_nodes(cluster: Server) -> None:
    cluster.load(node("n1", annotations=OVN), pod("web", "n1"), pod("db", "n1"))
    scenario, notes = advised(cluster)
    assert (scenario.platform.sdn, scenario.platform.openshift) == ("ovn-kubernetes", None)
    assert scenario.flows[0].nodes == "same"
    assert "platform.spare_nics: NodeNetworkState of nmstate was not read" in notes
    cluster.load(node("n2"), pod("web-2", "n2", labels={"a": "b"}))
    spread = flow(source_is="shop/a=b", target_is="shop/db")
    scenario, notes = advised(cluster, spread)
    assert (scenario.platform.sdn, scenario.flows[0].nodes) == (None, "cross")
    assert "platform.sdn: nothing in the cluster says for certain" in notes


def test_of_pods_that_share_some_of_their_nodes_placement_is_asked_for(cluster: Server) -> None:
    cluster.load(
        node("n1"), node("n2"), pod("web-1", "n1", of="web"), pod("web-2", "n2", of="web"),
        pod("db-0", "n2", of="db"),
    )  # fmt: skip
    scenario, notes = advised(cluster)
    assert (scenario.flows[0].nodes, scenario.flows[0].pods_per_node) == (None, 2)
    told = 'flow f.nodes: now on n1, n2 and on n2: say "same", "cross" or "either"'
    assert told in notes
    for said in ("same", "cross", "either"):
        found = advised(cluster, flow(nodes=said, source_is="shop/web", target_is="shop/db"))
        assert found[0].flows[0].nodes == said
        assert "f.nodes" not in found[1]


def test_a_virtual_machine_tells_its_vcpus_queues_and_binding(cluster: Server) -> None:
    vm = virtual_machine("db")
    cluster.load(vm, instance_of(vm), node("n1"), pod("web-1", "n1", of="web"))
    to_vm = flow(to="vm", source_is="shop/web", target_is="vm/shop/db")
    scenario, _notes = advised(cluster, to_vm)
    (found,) = scenario.flows
    assert (found.nodes, found.vcpus, found.queues) == ("same", 2, 1)
    assert found.present == "masquerade"
    assert found.network == FlowNetwork(namespace="shop", workload="VirtualMachine/db")


MACVLAN = '{"type": "macvlan", "master": "eth1"}'


def test_which_of_several_networks_a_flow_uses_is_asked_for(cluster: Server) -> None:
    cluster.load(
        attachment(config=MACVLAN), node("n1"), pod("web-1", "n1", of="web", networks="lan"),
        pod("db-0", "n1", of="db"), nics("n1", nic("eth1"), nic("eth2")),
    )  # fmt: skip
    scenario, notes = advised(cluster)
    assert scenario.flows[0].present is None
    assert "flow f.present: its ends have default, macvlan; say which of them the flow" in notes
    assert scenario.platform.spare_nics == 1, "eth1 is lent to pods"


@rows
def test_the_attachment_of_a_vm_is_that_of_its_network(
    cluster: Server, config: str, binding: str, present: str | None
) -> None:
    vm = virtual_machine("db", {"name": "lan", binding: {}})
    vm["spec"]["template"]["spec"]["networks"] = [{"name": "lan", "multus": {"networkName": "lan"}}]
    lan, policy = (
        attachment(config=config),
        single("sriovnetwork.openshift.io", "SriovNetworkNodePolicy", "p"),
    )
    lan["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/resourceName": "openshift.io/fast"}
    policy["metadata"]["namespace"] = "sriov"
    policy["spec"] = {"resourceName": "fast", "deviceType": "vfio-pci"}
    offers = {"openshift.io/fast": "4"}
    cluster.load(vm, instance_of(vm), lan, policy, node("n1", offered=offers))
    scenario, _notes = advised(cluster, flow(to="vm", target_is="vm/shop/db"))
    assert scenario.flows[0].present == present
    assert scenario.platform.sriov is True


def test_a_primary_network_of_its_own_is_the_network_of_pods(cluster: Server) -> None:
    config = {"type": "ovn-k8s-cni-overlay", "topology": "layer2", "role": "primary"}
    cluster.load(
        attachment(config=json.dumps(config)), pod("web", "n1"), pod("db", "n1"), node("n1"),
        pod("bare", "n1", namespace="mail", hostNetwork=True),
    )  # fmt: skip
    bare = flow(name="g", to="external", source_is="mail/bare")
    scenario, _notes = advised(cluster, BETWEEN, bare)
    assert [one.present for one in scenario.flows] == ["primary-udn", "host-network"]
    assert scenario.flows[1].nodes is None


def test_a_nic_without_a_sign_of_a_link_is_named_and_not_counted(cluster: Server) -> None:
    linked = nic("eth1", ipv6={"address": [{"ip": "fe80::1"}]})
    used = nic("eth2", ipv4={"address": [{"ip": "192.0.2.1"}]})
    port = nic("eth3")
    bond = {"name": "bond0", "type": "bond", "link-aggregation": {"port": ["eth3"]}}
    cluster.load(node("n1"), nics("n1", linked, used, port, bond, nic("eth4", speed=None)))
    assert advised(cluster)[0].platform.spare_nics == 1
    cluster.load(node("n2"), nics("n2", nic("virtio", speed=None)))
    scenario, notes = advised(cluster)
    assert scenario.platform.spare_nics is None
    assert "platform.spare_nics: nothing uses n1: eth4; n2: virtio, but whether" in notes


def test_router_pods_on_compute_nodes(cluster: Server) -> None:
    label = {"ingresscontroller.operator.openshift.io/deployment-ingresscontroller": "default"}
    cluster.load(
        node("n1"),
        pod("router", "n1", namespace="openshift-ingress", labels=label),
    )  # fmt: skip
    scenario, _notes = advised(cluster)
    assert scenario.platform.infra_pods_on_compute is True


# What does not fit, and what may not be read.


def test_where_file_and_cluster_differ_both_are_told(cluster: Server) -> None:
    cluster.load(*openshift(), node("n1"), node("n2"), pod("web", "n1"), pod("db", "n2"))
    said = flow(source="vm", nodes="same", source_is="shop/web", target_is="shop/db")
    none = flow(name="g", source_is="shop/gone", target_is="shop/db")
    scenario, notes = advised(cluster, said, none, openshift="4.16", sdn="other")
    assert (scenario.flows[0].nodes, scenario.platform.sdn) == ("same", "other")
    assert 'flow f.nodes: "same" is taken, as the file says; in the cluster it is "cross"' in notes
    assert 'platform.sdn: "other" is taken' in notes
    assert 'flow f: from = "vm" is taken, as the file says; shop/web selects pods' in notes
    assert "flow g: none of the running pods is shop/gone" in notes
    assert "platform.openshift" not in notes


NO_SELECTORS = [
    "web", "shop/", "vm/shop/db/more", "/web", "shop/=x", "shop/we b", "shop/app in (a,b)",
    "shop/app!=x", "shop/app==x", "shop/app=x,tier=y", "vm/shop/Db", "shop/web\n", "sh.op/web",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_SELECTORS)
def test_a_selector_of_no_known_form_is_refused(cluster: Server, text: str) -> None:
    with pytest.raises(UsageError, match=r"\[\[flow\]\] 1: source_is: .*NAMESPACE/NAME"):
        advised(cluster, flow(source_is=text))


def test_the_role_of_the_advisor_is_enough_and_nothing_else_is_asked_for(cluster: Server) -> None:
    vm = virtual_machine("db")
    cluster.load(
        *openshift(), kubevirt(), node("n1"), nics("n1", nic("eth1")), pod("web-1", "n1", of="web"),
        vm, instance_of(vm), attachment(),
    )  # fmt: skip
    to_vm = flow(to="vm", source_is="shop/web", target_is="vm/shop/db")
    scenario, notes = advised(cluster, to_vm, name=account(cluster, "advisor", RULES))
    assert "no right" not in notes
    assert scenario.platform.may_create_nads is False
    assert scenario.platform.spare_nics == 1
    asked = [each for each in cluster.requests("advisor") if "objectRef" in each]
    granted = {
        (group, resource, verb) for rule in RULES for group in rule["apiGroups"]
        for resource in rule["resources"] for verb in rule["verbs"]
    }  # fmt: skip
    done = {
        (each["objectRef"].get("apiGroup", ""), each["objectRef"]["resource"], each["verb"])
        for each in asked
    }
    assert done - granted == {("authorization.k8s.io", "selfsubjectaccessreviews", "create")}
    assert granted <= done


def test_each_right_that_is_missing_is_named_and_its_facts_are_asked_for(cluster: Server) -> None:
    cluster.load(*openshift(), node("n1"), nics("n1", nic("eth1")), pod("web", "n1"))
    scenario, notes = advised(cluster, name=account(cluster, "nobody", []))
    assert scenario.platform == ScenarioPlatform(multus=True, may_create_nads=False)
    assert scenario.flows == (BETWEEN,)
    for name, fact in (
        ("list nodes", "platform.kind"), ("list pods", "flow.nodes"),
        ("list pods", "platform.infra_pods_on_compute"),
        ("list nodenetworkstates.nmstate.io", "platform.spare_nics"),
        ("list network-attachment-definitions.k8s.cni.cncf.io", "flow.present"),
        ("read networks.config.openshift.io/cluster", "platform.sdn"),
        ("read clusterversions.config.openshift.io/version", "platform.openshift"),
    ):  # fmt: skip
        lines = [each for each in notes.splitlines() if each.startswith(f"no right to {name}: ")]
        (told,) = (each for each in lines if fact in each)
        assert "docs/how-to/clusters/advisor-role.yaml" in told
    assert "none of the running" not in notes


def test_lists_are_read_page_by_page(cluster: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LIMITS", (2,))
    cluster.load(node("n1"), *(pod(f"web-{number}", "n1", of="web") for number in range(5)))
    scenario, _notes = advised(cluster, flow(to="external", source_is="shop/web"))
    assert scenario.flows[0].pods_per_node == 5


# The command.


def test_the_answer_from_a_cluster_writes_what_the_cluster_knows(
    cluster: Server, tmp_path: Path
) -> None:
    cluster.load(
        *openshift(version="4.18.3"), node("n1"), node("n2"), nics("n1", nic("eth1")),
        nics("n2", nic("eth1")), pod("web-1", "n1", of="web"), pod("db-0", "n2", of="db"),
    )  # fmt: skip
    (tmp_path / "flows.toml").write_text(
        "[platform]\nkernel_ipvlan = true\n[[flow]]\nname = 'web-db'\nfrom = 'pod'\nto = 'pod'\n"
        "source_is = 'shop/web'\ntarget_is = 'shop/db'\npattern = 'rr'\nconnections = 250\n"
        "[flow.network]\ndevice = 'eth1'\nvlan = 0\nrx_queues = 8\naddresses = ['192.0.2.10/24']\n"
    )
    target = f"kube:admin?kubeconfig={cluster.admin}"
    words = ("advise", "network", target, "--flows", "flows.toml", "--write", "out")
    done = inside(*words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr  # it has the default network today
    assert done.stdout.startswith("web-db  pod to pod  across nodes  request/response  250 conn")
    assert (
        "  Network   IPVLAN L2, as a further interface\n  Today     the default pod" in done.stdout
    )
    assert "not measured against OVN-Kubernetes" in done.stdout
    assert "Note: " in done.stderr
    written = {each.name: each.read_text() for each in (tmp_path / "out").iterdir()}
    assert written.keys() == {"nodes-rfs.yaml", "web-db-network.yaml", "web-db-pod.yaml"}
    assert 'namespace: "shop"' in written["web-db-network.yaml"]


FLOWS = """
[needs]
effort = "any"
[[flow]]
name = "web to db"
from = "pod"
to = "pod"
source_is = "shop/web"
target_is = "shop/db"
connections = 250
pattern = "rr"
request = 200
response = 1000
"""


def test_the_command_advises_a_flow_by_what_the_cluster_tells(
    cluster: Server, tmp_path: Path
) -> None:
    """Of the end, the attachment and the platform the file says nothing."""
    cluster.load(
        *openshift("OpenShiftSDN", "4.14.9"), node("n1", "s390x", WORKER | {ON_Z: "z_VM_7.3.0"}),
        node("n2", "s390x", WORKER | {ON_Z: "z_VM_7.3.0"}), pod("web-1", "n1", of="web"),
        pod("db-0", "n2", of="db"),
    )  # fmt: skip
    (tmp_path / "flows.toml").write_text(FLOWS)
    words = ["advise", "network", f"kube:admin?kubeconfig={cluster.admin}", "--flows", "flows.toml"]
    done = inside(*words, "--format", "json", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["flows"]
    assert (found["answer"], found["attachments"]) == ("advised", ["ipvlan-l2"])
    assert found["present_advised_against"] is True
    assert done.returncode == 1
    assert 'nodes = "cross" (now on n1 and on n2' in " ".join(done.stderr.split())
