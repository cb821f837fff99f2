"""The plan of generator pods, what is sent to the API server, and the paths that come of it."""

import shlex
import subprocess
from typing import Any

import pytest

from tests.bench.pods.canned import CannedCluster, asked_node, node
from tests.rows import rows_of_tuples
from vnicaudit.bench.endpoints.opening import parse_paths
from vnicaudit.bench.pods.plan import ClusterRequest, PodPlan, namespace_manifest, plan_of
from vnicaudit.bench.pods.plan import pod_manifest as manifest
from vnicaudit.errors import EndpointError, UsageError

RUN = "20261130-120000-0001"
SPACE = f"vnicaudit-bench-{RUN}"


def machine(node_name: str, *interfaces: dict[str, object], **status: object) -> dict[str, Any]:
    """One that runs; its NIC "default" is in the network of pods."""
    networks = [{"name": "storage", "multus": {}}, {"name": "default", "pod": {}}]
    told = {"phase": "Running", "nodeName": node_name, "interfaces": [*interfaces]}
    return {"spec": {"networks": networks}, "status": {**told, **status}}


VM = machine("n2", {}, {"name": "default", "ipAddress": "10.0.0.9"})


def plan(*paths: str, cluster: CannedCluster | None = None, **more: Any) -> PodPlan:
    wanted = ClusterRequest(paths, more.pop("image", "tools"), **more)
    return plan_of(cluster or CannedCluster(), wanted, RUN)


def ends(found: PodPlan) -> dict[str, tuple[str, str]]:
    """The URLs of each path, without the namespace."""
    addresses = {pod.name: f"10.1.0.{number}" for number, pod in enumerate(found.pods, 1)}
    return {
        path.name: (path.target, path.peer) for path in parse_paths(found.texts(addresses))
    }  # fmt: skip


def url(name: str, address: str, space: str = SPACE) -> str:
    options = f"namespace={space}&container=generator&context=prod&address={address}"
    return f"kubectl://{name}?{options}"


def test_pods_are_shared_by_paths_and_named_by_where_they_are() -> None:
    found = plan("pod-same", "pod-cross")
    assert [(pod.name, pod.node) for pod in found.pods] == [
        ("a1", "n1"), ("a2", "n1"), ("b1", "n2"),
    ]  # fmt: skip
    target = url("a1", "10.1.0.1")
    assert ends(found) == {
        "pod-same": (target, url("a2", "10.1.0.2")),
        "pod-cross": (target, url("b1", "10.1.0.3")),
    }
    assert found.namespaces == {SPACE: "restricted"}
    assert found.labels == {
        "image": "tools", "path.pod-same": "n1 from n1", "path.pod-cross": "n1 from n2",
    }  # fmt: skip


def test_pods_with_the_network_of_nodes_have_another_namespace() -> None:
    found = plan("host", "hostnetwork", "pod-cross")
    assert found.namespaces == {SPACE: "restricted", f"{SPACE}-host": "privileged"}
    hosts = tuple(f"192.0.2.{sum(map(ord, name)) % 250}" for name in ("n1", "n2"))
    assert ends(found)["host"] == tuple(f"ssh://{one}?address={one}" for one in hosts)
    assert ends(found)["hostnetwork"] == (
        url("host-a", "10.1.0.1", f"{SPACE}-host"), url("host-b", "10.1.0.2", f"{SPACE}-host"),
    )  # fmt: skip


def test_paths_between_nodes_alone_need_no_pods_and_no_image() -> None:
    found = plan("host", image="")
    assert (found.pods, found.namespaces, found.labels) == ((), {}, {"path.host": "n1 from n2"})


def test_an_additional_network_is_attached_by_annotation() -> None:
    cluster = CannedCluster()
    cluster.networks = {"lab/fast", "lab/slow"}
    found = plan("nad:lab/fast", "nad:lab/slow", cluster=cluster)
    assert [pod.name for pod in found.pods] == ["net1-a", "net1-b", "net2-a", "net2-b"]
    assert list(ends(found)) == ["nad-lab.fast", "nad-lab.slow"]
    assert found.labels["networks"] == "lab/fast, lab/slow"
    body: Any = manifest(found, found.pods[0], 60)
    assert body["metadata"]["annotations"] == {"k8s.v1.cni.cncf.io/networks": "lab/fast"}


@pytest.mark.parametrize(("vm", "login"), [("shop/db", ""), ("fedora@shop/db", "fedora@")])
def test_a_virtual_machine_is_the_target_of_pods_beside_it_and_away(vm: str, login: str) -> None:
    cluster = CannedCluster()
    cluster.instances["shop/db"] = VM
    found = plan("vm-same", "vm-cross", cluster=cluster, machine=vm)
    guest = f"ssh://{login}10.0.0.9?address=10.0.0.9"
    assert ends(found) == {
        "vm-same": (guest, url("a1", "10.1.0.1")), "vm-cross": (guest, url("b1", "10.1.0.2")),
    }  # fmt: skip
    assert [pod.node for pod in found.pods] == ["n2", "n1"]


def test_addresses_of_version_6() -> None:
    cluster = CannedCluster()
    nic: dict[str, object] = {"name": "default", "ipAddress": "2001:db8::9"}
    cluster.instances["shop/db"] = machine("n1", nic)
    for each in cluster.of_nodes:
        each["status"]["addresses"][1]["address"] = "2001:db8::1"
    found = plan("host", "vm-same", "pod-cross", cluster=cluster, machine="shop/db")
    texts = found.texts(dict.fromkeys(("a1", "b1"), "2001:db8::7"))
    host, guest, pod = parse_paths(texts)
    assert host.target == "ssh://[2001:db8::1]?address=2001:db8::1"
    assert guest.target == "ssh://[2001:db8::9]?address=2001:db8::9"
    assert pod.target.endswith("&address=2001:db8::7")


def test_nodes_are_reached_by_addresses_of_one_version() -> None:
    cluster = CannedCluster()
    first, last = (each["status"]["addresses"] for each in cluster.of_nodes)
    first.insert(1, {"type": "InternalIP", "address": "2001:db8::1"})
    target, peer = ends(plan("host", cluster=cluster))["host"]
    assert target.startswith("ssh://192.0.2.")
    assert peer.startswith("ssh://192.0.2.")
    del first[2]
    with pytest.raises(EndpointError, match="nodes n1 and n2: one has InternalIPs of version 4"):
        plan("host", cluster=cluster)
    last.append({"type": "InternalIP", "address": "2001:db8::2"})
    assert ends(plan("host", cluster=cluster))["host"][1].startswith("ssh://[2001:db8::2]")


def test_networks_whose_names_begin_alike_are_two_paths() -> None:
    cluster = CannedCluster()
    networks = [f"lab/{'long-' * 8}{end}" for end in ("a", "b")]
    cluster.networks = {*networks}
    found = [path.name for path in plan(*map("nad:{}".format, networks), cluster=cluster).paths]
    assert len({*found}) == 2
    assert all(len(name) <= 40 and name.startswith("nad-lab.long-") for name in found)
    assert [*ends(plan(*map("nad:{}".format, networks), cluster=cluster))] == found


def test_the_kubeconfig_and_the_account_of_this_pod_are_kubectls() -> None:
    cluster = CannedCluster()
    cluster.target, cluster.context = "kube:a/b:6443?kubeconfig=/etc/kube.d/c", "a/b:6443"
    (text,) = plan("pod-same", cluster=cluster).texts({})
    assert "&context=a/b:6443&kubeconfig=/etc/kube.d/c" in text
    cluster.target, cluster.context = "kube:@in-cluster", ""
    (text,) = plan("pod-same", cluster=cluster).texts({})
    assert "context" not in text


def test_a_context_that_cannot_be_told_to_kubectl_is_refused_before_anything_is_created() -> None:
    cluster = CannedCluster()
    cluster.context = 'a"; reboot'
    with pytest.raises(UsageError, match="context= has a character that is not allowed"):
        plan("pod-same", cluster=cluster)


@rows_of_tuples
def test_what_makes_no_sense(paths: tuple[str, ...], more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as error:
        plan(*paths, **more)
    assert words in str(error.value)


def test_what_is_not_there() -> None:
    cluster = CannedCluster()
    with pytest.raises(EndpointError, match="there is no NetworkAttachmentDefinition lab/fast"):
        plan("nad:lab/fast", cluster=cluster)
    with pytest.raises(EndpointError, match="no virtual machine shop/db is running"):
        plan("vm-same", cluster=cluster, machine="shop/db")
    del cluster.of_nodes[0]["status"]["addresses"]
    with pytest.raises(EndpointError, match="node n1 has no InternalIP"):
        plan("host", cluster=cluster)
    assert cluster.calls == []


NIC: dict[str, object] = {"name": "default", "ipAddress": "10.0.0.9"}


@pytest.mark.parametrize(
    ("instance", "words"),
    [
        (machine("n1"), "has no address in the pod network, by which pods reach it"),
        (machine("n1", {"name": "storage", "ipAddress": "192.168.9.9"}), "has no address in the"),
        (machine("n1", {"name": "default", "ipAddress": "fe80::1"}), "has no address in the pod"),
        (machine("", NIC), "is Running, not Running on a node"),
        (machine("n1", NIC, phase="Failed"), "is Failed, not Running on a node"),
        (machine("n1", NIC, migrationState={"startTimestamp": "2026-11-30T12:00:00Z"}),
         "is being migrated: its node changes"),
    ],
)  # fmt: skip
def test_a_virtual_machine_that_cannot_be_measured(instance: dict[str, Any], words: str) -> None:
    cluster = CannedCluster()
    cluster.instances["shop/db"] = instance
    with pytest.raises(EndpointError) as error:
        plan("vm-same", cluster=cluster, machine="shop/db")
    assert str(error.value).startswith(f"--vm: shop/db {words}")


def test_the_address_of_a_virtual_machine_is_that_in_the_network_of_pods() -> None:
    cluster = CannedCluster()
    ips = ["fe80::1", "10.0.0.9"]
    nic: dict[str, object] = {"name": "default", "ipAddress": ips[0], "ipAddresses": ips}
    over = {"startTimestamp": "2026-11-30T12:00:00Z", "endTimestamp": "2026-11-30T12:01:00Z"}
    other: dict[str, object] = {"name": "storage", "ipAddress": "192.168.9.9"}
    cluster.instances["shop/db"] = machine("n1", other, nic, migrationState=over)
    found = plan("vm-same", cluster=cluster, machine="shop/db")
    assert ends(found)["vm-same"][0] == "ssh://10.0.0.9?address=10.0.0.9"


def test_nothing_is_created_that_could_not_be_removed() -> None:
    cluster = CannedCluster()
    cluster.may = False
    with pytest.raises(EndpointError, match=r"may not delete namespaces, .*/bench-role\.yaml"):
        plan("pod-same", cluster=cluster)
    assert plan("host", cluster=cluster).pods == ()


def test_a_pod_asks_for_little_and_ends_by_itself() -> None:
    found = plan("pod-same", cluster=CannedCluster(node("n1", hostname="host-1")))
    body: Any = manifest(found, found.pods[0], 7200)
    spec = body["spec"]
    assert asked_node(body) == "n1"  # whatever its labels, which two nodes may share
    assert spec["activeDeadlineSeconds"] == 7200
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {  # "restricted" asks for all of it
        "runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"},
    }  # fmt: skip
    (container,) = spec["containers"]
    assert container["command"][3:] == ["7200"]
    own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    assert container["securityContext"] == own
    assert body["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "vnicaudit", "vnicaudit/run": RUN,
    }  # fmt: skip
    space: Any = namespace_manifest(found, SPACE, "me", "2026-11-30T12:00:00+00:00")
    assert space["metadata"]["labels"].items() >= body["metadata"]["labels"].items()


def test_openshift_gives_pods_a_user_of_its_own() -> None:
    cluster = CannedCluster()
    cluster.groups.add("security.openshift.io")
    found = plan("pod-same", cluster=cluster)
    body: Any = manifest(found, found.pods[0], 60)
    assert "runAsUser" not in body["spec"]["securityContext"]


def test_the_command_ends_at_once_when_it_is_asked_to_and_by_itself() -> None:
    found = plan("pod-same")
    (container,) = manifest(found, found.pods[0], 600)["spec"]["containers"]  # type: ignore[index]
    words = container["command"]
    text = f"{shlex.join(words)} & sleep 0.2; kill $!; wait $!"
    assert subprocess.run(["sh", "-c", text], timeout=60, check=False).returncode == 0
    assert subprocess.run([*words[:3], "0"], timeout=60, check=False).returncode == 0
