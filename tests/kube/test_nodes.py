"""The testbed of two nodes: pods come and go as they do in a cluster."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.advise.manifests import written
from tests.kube.kubelet import NETWORKS, STATUS
from tests.kube.nodes import Nodes, Step
from tests.kube.server import Refused, Server
from tests.rig.process import run, wait_for

pytestmark = pytest.mark.kube
SPACE = "bench"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
RESTRICTED = {
    "runAsNonRoot": True, "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"},
}  # fmt: skip


@pytest.fixture
def space(nodes: Nodes, cluster: Server) -> Iterator[None]:
    """A namespace that only takes restricted pods; after the test it goes."""
    del nodes
    metadata = {"name": SPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}
    cluster.ask("POST", "/api/v1/namespaces", {"metadata": metadata})
    yield
    cluster.ask("DELETE", f"/api/v1/namespaces/{SPACE}")
    wait_for(lambda: not exists(cluster, f"/api/v1/namespaces/{SPACE}"), "the namespace goes")


def create(server: Server, name: str, *, networks: str = "", **spec: object) -> None:
    container = {"name": "c", "image": "tools", "securityContext": RESTRICTED}
    annotations = {NETWORKS: networks} if networks else {}
    server.ask("POST", PODS, {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"containers": [container], **spec},
    })  # fmt: skip


def running(server: Server, name: str) -> Any:
    def pod() -> Any:
        found = server.ask("GET", f"{PODS}/{name}")
        return found if found.get("status", {}).get("phase") == "Running" else None

    return wait_for(pod, f"{name} runs", seconds=60)


def exists(server: Server, path: str) -> bool:
    try:
        server.ask("GET", path)
    except Refused as error:
        if error.status != 404:
            raise
        return False
    return True


def executed(server: Server, name: str, *command: str) -> str:
    file = f"--kubeconfig={server.admin}"
    return run("kubectl", file, "exec", "-n", SPACE, name, "-c", "c", "--", *command)


@pytest.mark.usefixtures("space")
def test_pods_are_joined_by_what_an_advice_writes(cluster: Server) -> None:
    """Network and annotation fit together: each pod has the address that is written for it."""
    addresses = {"one": "192.0.2.10", "two": "192.0.2.11"}
    for (name, address), node in zip(addresses.items(), ("node-a", "node-b"), strict=True):
        made = written("macvlan", namespace=SPACE, device="eno2", addresses=(f"{address}/24",))
        network, pod = (YAML(typ="safe").load(one.text) for one in made.files)
        if name == "one":
            cluster.load(network)
        annotations = pod["spec"]["template"]["metadata"]["annotations"]
        create(cluster, name, nodeName=node, networks=annotations[NETWORKS])
        status = json.loads(running(cluster, name)["metadata"]["annotations"][STATUS])
        assert status[1]["name"] == f"{SPACE}/orders"
        assert status[1]["ips"] == [address]
    executed(cluster, "two", "iperf3", "-s", "-D")
    executed(cluster, "one", "iperf3", "-n1M", "-B", addresses["one"], "-c", addresses["two"])


@pytest.mark.usefixtures("space")
def test_a_deleted_pod_leaves_nothing(nodes: Nodes, cluster: Server) -> None:
    create(cluster, "short", nodeName="node-a")
    running(cluster, "short")
    executed(cluster, "short", "iperf3", "-s", "-D")
    machine = nodes.machines[0].space
    before = machine.run("ip", "-br", "link"), machine.run("pgrep", "-f", "iperf3")
    assert "pod" in before[0]
    cluster.ask("DELETE", f"{PODS}/short")
    wait_for(lambda: not exists(cluster, f"{PODS}/short"), "the pod goes")
    assert "pod" not in machine.run("ip", "-br", "link")
    assert "iperf3" not in machine.run("ps", "ax")
    if machine.cgroup:
        assert not list(machine.cgroup.glob("*/"))


@pytest.mark.usefixtures("space")
@pytest.mark.parametrize(
    ("step", "slow"),
    [
        ("wire", {"nodes", "pods"}), ("overlay", {"pods"}), ("pods", {"node and pod", "pods"}),
        ("vms", {"node and VM"}),
    ],
)  # fmt: skip
def test_a_limit_is_where_it_was_planted(
    nodes: Nodes, cluster: Server, step: Step, slow: set[str]
) -> None:
    """Before or after a pod comes."""
    here, there = nodes.machines
    create(cluster, "old", nodeName="node-a")
    old = running(cluster, "old")["status"]["podIP"]
    with nodes.virtual_machine() as vm, nodes.limited(step, "100mbit"):
        create(cluster, "new", nodeName="node-b")
        new = running(cluster, "new")["status"]["podIP"]
        for where in (vm, there.space):
            where.run("iperf3", "-s", "-D")
        executed(cluster, "new", "iperf3", "-s", "-D")
        executed(cluster, "old", "iperf3", "-s", "-D")
        send = ("iperf3", "-J", "-n10M", "-c")
        told = {
            "nodes": here.space.run(*send, there.address),
            "node and pod": here.space.run(*send, old),
            "node and VM": here.space.run(*send, vm_address(vm)),
            "pods": executed(cluster, "old", *send, new),
        }
        there.space.run("pkill", "iperf3")
    assert {name for name, text in told.items() if _rate(text) < 2e8} == slow


def vm_address(vm: Any) -> str:
    return str(json.loads(vm.run("ip", "-j", "addr", "show", "eth0"))[0]["addr_info"][0]["local"])


def _rate(told: str) -> float:
    return float(json.loads(told)["end"]["sum_received"]["bits_per_second"])
