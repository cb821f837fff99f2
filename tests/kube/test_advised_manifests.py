"""Manifests of an advice, as a cluster takes them: the API server's strict dry run with the real
definitions of their kinds, the real CNI plugins, and Ignition's own validator."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml
from ruamel.yaml import YAML

from tests.advise.manifests import ADVISABLE, OF_VMS, written, written_together
from tests.kube.cni import Attachment as CniAttachment
from tests.kube.objects import attachment as attachment_of
from tests.kube.server import Refused, Server, our_definitions
from tests.not_run import not_run
from tests.rig.errors import Missing, RigError
from tests.rig.process import run
from vnicaudit.model.scenario import AttachmentKind, PlatformKind

pytestmark = pytest.mark.kube
OPERATORS = Path(__file__).with_name("operators.yaml")
STRICT = {"dryRun": "All", "fieldValidation": "Strict"}
PLURALS = {
    "NetworkAttachmentDefinition": "network-attachment-definitions",
    "NodeNetworkConfigurationPolicy": "nodenetworkconfigurationpolicies",
    "SriovNetwork": "sriovnetworks",
    "SriovNetworkNodePolicy": "sriovnetworknodepolicies",
    "MachineConfig": "machineconfigs",
    "UserDefinedNetwork": "userdefinednetworks",
}
NIC = {"name": "default", "masquerade": {}, "model": "virtio"}
SHOP = {
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "shop", "namespace": "demo"},
    "spec": {
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {
            "metadata": {"labels": {"app": "shop"}},
            "spec": {"containers": [{"name": "shop", "image": "none"}]},
        },
    },
}  # fmt: skip
DB = {
    "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
    "metadata": {"name": "db", "namespace": "demo"},
    "spec": {"runStrategy": "Halted", "template": {"spec": {
        "domain": {"memory": {"guest": "1Gi"}, "devices": {"interfaces": [NIC]}},
        "networks": [{"name": "default", "pod": {}}],
    }}},
}  # fmt: skip
VM = "/apis/kubevirt.io/v1/namespaces/demo/virtualmachines/db"


@pytest.fixture(scope="module")
def operators(api_server: Server) -> Iterator[Server]:
    """A cluster with the operators' own definitions, a deployment and a virtual machine."""
    api_server.define(YAML(typ="safe").load_all(OPERATORS))
    for space in ("openshift-sriov-network-operator", "demo"):
        api_server.namespace(space)
    api_server.load(SHOP, DB)
    try:
        yield api_server
    finally:
        api_server.unload()
        api_server.define(our_definitions())


def documents(
    attachment: AttachmentKind, platform: PlatformKind = "x86", **facts: Any
) -> dict[str, Any]:
    """The files as kubectl reads them: YAML 1.1."""
    made = written(attachment, platform=platform, **facts)
    assert made.unwritten == ()
    return {one.name: yaml.safe_load(one.text.encode()) for one in made.files}


def tried(server: Server, name: str, document: Mapping[str, Any]) -> Any:
    """A strict dry run of a file in the way that its comment says."""
    if name.endswith("-vm.yaml"):
        return server.ask("PUT", VM, with_items(server.ask("GET", VM), document), **STRICT)
    if "kind" not in document:
        place = "/apis/apps/v1/namespaces/demo/deployments/shop"
        kind = "application/merge-patch+json"
        return server.ask("PATCH", place, document, kind=kind, **STRICT)
    api, metadata = document["apiVersion"], document["metadata"]
    space = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return server.ask("POST", f"/apis/{api}{space}/{PLURALS[document['kind']]}", document, **STRICT)


def with_items(machine: Any, snippet: Mapping[str, Any]) -> Any:
    """A virtual machine with the items of a snippet, in place of those of the same name."""
    spec, items = (each["spec"]["template"]["spec"] for each in (machine, snippet))
    devices, others = spec["domain"]["devices"], items["domain"]["devices"]
    for old, new, key in ((devices, others, "interfaces"), (spec, items, "networks")):
        names = [one["name"] for one in new[key]]
        old[key] = [one for one in old[key] if one["name"] not in names] + new[key]
    return machine


@pytest.mark.parametrize("platform", ["x86", "z-vm", "z-kvm", "z-lpar"])
@pytest.mark.parametrize("attachment", ADVISABLE)
def test_every_manifest_passes_a_strict_dry_run(
    operators: Server, attachment: AttachmentKind, platform: PlatformKind
) -> None:
    made = documents(attachment, platform, rfs="on", placement="same-node")
    assert {"orders-placement.yaml", "nodes-rfs.yaml"} <= made.keys()
    for name, document in made.items():
        result = tried(operators, name, document)
        if "kind" in document:
            assert result["spec"].items() >= document["spec"].items()


@pytest.mark.usefixtures("kubectl")
@pytest.mark.parametrize("attachment", ["ipvlan-l2", "sriov-netdev", "linux-bridge"])
def test_the_commands_in_the_files_do_it(
    operators: Server, attachment: AttachmentKind, tmp_path: Path
) -> None:
    """kubectl itself reads the file, and does what it says, up to the last step."""
    commands = 0
    for file in written(attachment, placement="apart").files:
        (tmp_path / file.name).write_text(file.text)
        (command,) = re.findall("^# Apply: kubectl ((?:create|patch) .*)", file.text, re.M) or [""]
        if command:
            words = ["kubectl", f"--kubeconfig={operators.admin}", *command.split()]
            run(*words, "--dry-run=server", cwd=tmp_path)
            commands += 1
    assert commands >= 3


NETWORKS = "k8s.v1.cni.cncf.io/networks"


@pytest.mark.usefixtures("kubectl")
def test_flows_of_one_workload_are_there_together_and_what_was_there_can_be_put_back(
    operators: Server, tmp_path: Path
) -> None:
    """kubectl does what the files say: what others made is neither changed nor removed."""
    place = "/apis/apps/v1/namespaces/demo/deployments/two"
    two: Any = json.loads(
        json.dumps(SHOP).replace('"name": "shop", "namesp', '"name": "two", "namesp')
    )
    two["spec"]["template"]["metadata"]["annotations"] = {NETWORKS: "storage"}
    of_others = '{"type": "somebody-elses"}'
    operators.load(two, attachment_of(name="a", namespace="demo", config=of_others))
    first = {"workload": "Deployment/two"}
    second = first | {"addresses": ("192.0.2.11/24",), "labels": {"app": "web"}}
    made = written_together(("ipvlan-l2", first), ("ipvlan-l2", second), placement="apart")
    done: dict[tuple[str, str], str] = {}
    for file in made.files:
        (tmp_path / file.name).write_text(file.text)
        for step, line in re.findall("^# (First|Apply): (kubectl .*)", file.text, re.M):
            ran = subprocess.run(
                ["kubectl", f"--kubeconfig={operators.admin}", *shlex.split(line)[1:]],
                cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip
            done[file.name, step] = ran.stdout if ran.returncode == 0 else ran.stderr
    assert done["a-pod.yaml", "First"] == "storage"
    assert done["a-placement.yaml", "First"] == ""
    assert "AlreadyExists" in done["a-network.yaml", "Apply"]
    kept = f"/apis/k8s.cni.cncf.io/v1/namespaces/demo/{PLURALS['NetworkAttachmentDefinition']}/a"
    assert operators.ask("GET", kept)["spec"]["config"] == of_others
    template = operators.ask("GET", place)["spec"]["template"]
    asked = json.loads(template["metadata"]["annotations"][NETWORKS])
    assert [(one["name"], one["ips"]) for one in asked] == [
        ("a", ["192.0.2.10/24"]), ("b", ["192.0.2.11/24"]),
    ]  # fmt: skip
    wishes = template["spec"]["affinity"]["podAntiAffinity"]
    assert len(wishes["preferredDuringSchedulingIgnoredDuringExecution"]) == 2
    run("kubectl", f"--kubeconfig={operators.admin}", "delete", "-f", tmp_path / "b-network.yaml")


@pytest.mark.parametrize("attachment", ["primary-udn", "sriov-vfio", "linux-bridge", "masquerade"])
def test_a_wrong_manifest_does_not(operators: Server, attachment: AttachmentKind) -> None:
    """The dry run sees something."""
    wrong = documents(attachment)
    name, document = wrong.popitem()
    assert name == "orders-vm.yaml"
    devices = document["spec"]["template"]["spec"]["domain"]["devices"]
    devices["interfaces"][0]["brigde"] = {}
    with pytest.raises(Refused, match="brigde"):
        tried(operators, name, document)
    for other, document in wrong.items():
        document["spec"]["unknown"] = 1
        with pytest.raises(Refused, match="unknown"):
            tried(operators, other, document)


def test_patches_keep_what_the_deployment_has(operators: Server) -> None:
    made = documents("ipvlan-l2", placement="apart")
    template = tried(operators, "orders-pod.yaml", made["orders-pod.yaml"])["spec"]["template"]
    assert template["metadata"]["labels"] == {"app": "shop"}
    (asked,) = json.loads(template["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"])
    assert asked["ips"] == ["192.0.2.10/24"]
    placed = tried(operators, "orders-placement.yaml", made["orders-placement.yaml"])
    assert placed["spec"]["template"]["spec"]["containers"][0]["name"] == "shop"
    assert [*placed["spec"]["template"]["spec"]["affinity"]] == ["podAntiAffinity"]


def test_placement_of_a_virtual_machine_keeps_its_nics(operators: Server) -> None:
    patch = documents("masquerade", placement="same-node")["orders-placement.yaml"]
    kind = "application/merge-patch+json"
    spec = operators.ask("PATCH", VM, patch, kind=kind, **STRICT)["spec"]["template"]["spec"]
    assert spec["domain"]["devices"]["interfaces"] == [NIC]
    assert [*spec["affinity"]] == ["podAffinity"]


@pytest.mark.parametrize(("queues", "device"), [(1, "enc1000"), (64, "ens1f0np0")])
def test_ignition_takes_the_files_of_rfs(queues: int, device: str) -> None:
    if shutil.which("ignition-validate") is None:
        not_run("kube", "ignition-validate is not installed (Debian's ignition)")
    config = documents("default", rfs="on", rx_queues=queues, device=device)["nodes-rfs.yaml"]
    spec = config["spec"]["config"]
    assert spec["ignition"] == {"version": "3.2.0"}
    for version, code in (("3.2.0", 0), ("nonsense", 1), ("2.2.0", 1)):
        spec["ignition"]["version"] = version
        ran = subprocess.run(
            ["ignition-validate", "-"], input=json.dumps(spec), text=True, check=False,
            capture_output=True,
        )  # fmt: skip
        assert ran.returncode == code, ran.stdout + ran.stderr


# What executes configurations.


@pytest.fixture
def spaces() -> Iterator[dict[str, Path]]:
    """Two nodes with a cable between their NICs ``up0``, and a pod on each."""
    if os.geteuid():
        not_run("kube", "network namespaces need root")
    begin = f"vnicaudit-cni-{os.getpid()}"
    names = {name: f"{begin}-{name}" for name in ("n1", "n2", "p1", "p2")}
    with ExitStack() as ended:
        for name in names.values():
            run("ip", "netns", "add", name)
            ended.callback(run, "ip", "netns", "del", name)
        cable = ["type", "veth", "peer", "name", "up0", "netns", names["n2"]]
        run("ip", "-n", names["n1"], "link", "add", "up0", *cable)
        for node in (names["n1"], names["n2"]):
            run("ip", "-n", node, "link", "set", "up0", "up")
        yield {name: Path("/run/netns", space) for name, space in names.items()}


@pytest.mark.parametrize("attachment", ["ipvlan-l2", "macvlan", "host-device", "linux-bridge"])
def test_the_real_plugin_takes_every_configuration(
    attachment: AttachmentKind, spaces: dict[str, Path]
) -> None:
    made = documents(attachment, vlan=0)  # this kernel need not filter VLANs on bridges
    config = json.loads(made["orders-network.yaml"]["spec"]["config"])
    if attachment == "linux-bridge":
        state = made["nodes-bridge-br1.yaml"]["spec"]["desiredState"]
        for node in ("n1", "n2"):
            make_bridges(spaces[node], state)
    for pod, address in (("1", "192.0.2.10/24"), ("2", "192.0.2.11/24")):
        attached = CniAttachment(
            config, spaces[f"n{pod}"], spaces[f"p{pod}"], container=f"p{pod}",
            wanted={"ips": [address]},
        )  # fmt: skip
        try:
            result = attached.add()
        except Missing as error:
            not_run("kube", str(error))
        except RigError as error:
            if attachment == "ipvlan-l2" and "operation not supported" in str(error):
                not_run("kube", f"this kernel has no IPVLAN ({error}); nested guests run it")
            raise
        if attachment in OF_VMS:  # its guest has the address
            assert "ips" not in result
            run("ip", "-n", spaces[f"p{pod}"].name, "addr", "add", address, "dev", "net1")
        else:
            assert [one["address"] for one in result["ips"]] == [address]
    run("ip", "netns", "exec", spaces["p1"].name, "ping", "-c1", "-W5", "192.0.2.11")


def make_bridges(node: Path, state: Mapping[str, Any]) -> None:
    """The bridges of a desired state, as nmstate makes them."""
    for bridge in state["interfaces"]:
        run("ip", "-n", node.name, "link", "add", bridge["name"], "type", "bridge")
        run("ip", "-n", node.name, "link", "set", bridge["name"], "up")
        for port in bridge["bridge"]["port"]:
            run("ip", "-n", node.name, "link", "set", port["name"], "master", bridge["name"])
