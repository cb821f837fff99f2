"""Files of an advice: what is in them, and what is not written."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from tests.advise.manifest_forms import check_config, check_manifest, check_state
from tests.advise.manifests import ADVISABLE, ROW, network, written, written_together
from vnicaudit.advise.manifests import Manifests, manifests_for
from vnicaudit.errors import UsageError
from vnicaudit.model.advice import FlowAdvice, NetworkAdvice
from vnicaudit.model.scenario import AttachmentKind, Scenario, ScenarioPlatform, TrafficFlow

FILES = {
    "default": [],
    "ipvlan-l2": ["orders-network.yaml", "orders-pod.yaml"],
    "macvlan": ["orders-network.yaml", "orders-pod.yaml"],
    "host-device": ["orders-network.yaml", "orders-pod.yaml"],
    "sriov-netdev": ["nodes-sriov-fast-vf.yaml", "orders-network.yaml", "orders-pod.yaml"],
    "sriov-vfio": ["nodes-sriov-fast-vf.yaml", "orders-network.yaml", "orders-vm.yaml"],
    "linux-bridge": ["nodes-bridge-br1.yaml", "orders-network.yaml", "orders-vm.yaml"],
    "ovn-localnet": ["nodes-mapping-orders.yaml", "orders-network.yaml", "orders-vm.yaml"],
    "primary-udn": ["orders-network.yaml", "orders-vm.yaml"],
    "vhost-vdpa": [],
    "masquerade": ["orders-vm.yaml"],
}
OPENSHIFT = ScenarioPlatform(openshift="4.16")


def loaded(text: str) -> Any:
    """As kubectl reads it: YAML 1.1."""
    return yaml.safe_load(text.encode())


def made_for(flow: TrafficFlow, platform: ScenarioPlatform = OPENSHIFT, **more: Any) -> Manifests:
    """The files of the advice for one flow."""
    advice = FlowAdvice(**{"flow": flow.name, "answer": "depends", "rfs": "on", **more})
    return manifests_for(Scenario(platform=platform, flows=(flow,)), NetworkAdvice(flows=(advice,)))


def steered(**facts: Any) -> TrafficFlow:
    """Between pods, with a network."""
    return TrafficFlow(**{"name": "a", "source": "pod", "to": "pod", "network": network(), **facts})


def documents(attachment: AttachmentKind, **facts: Any) -> dict[str, Any]:
    made = written(attachment, **facts)
    assert made.unwritten == ()
    found = {one.name.removeprefix("orders-"): loaded(one.text) for one in made.files}
    for document in found.values():
        check_manifest(document)
    return found


@pytest.mark.parametrize("attachment", ADVISABLE)
def test_each_attachment_has_its_files(attachment: AttachmentKind) -> None:
    made = written(attachment, rfs="on", placement="same-node")
    for file in made.files:
        check_manifest(loaded(file.text))
    names = [*FILES[attachment], "orders-placement.yaml", "nodes-rfs.yaml"]
    assert [one.name for one in made.files] == names
    assert made.unwritten == ()
    assert len(made.notes) == (1 if not FILES[attachment] else 0)


@pytest.mark.parametrize("attachment", ADVISABLE)
def test_each_file_begins_with_its_origin_and_how_it_is_applied_and_undone(
    attachment: AttachmentKind,
) -> None:
    for file in written(attachment, rfs="on", placement="apart").files:
        origin, *others = file.text.split("\n")
        assert origin == f"# Written by vnicaudit advise network for flow orders ({attachment})"
        head = [one.partition(":")[0] for one in others if one.startswith("# ")]
        assert head[-2:] == ["# Apply", "# Undo"]
        shows = "# First: kubectl get " in file.text
        assert shows is ("kind" not in loaded(file.text) and "-vm" not in file.name)


def test_the_origin_of_a_file_is_the_rows_that_say_what_is_in_it() -> None:
    others = [
        msgspec.structs.replace(ROW, row=name, beaten_by="R06" * (name == "R11"))
        for name in ("R02", "R11", "R16", "R26", "R67")
    ]
    made = made_for(
        steered(connections=50), answer="advised", attachments=("ipvlan-l2",), placement="apart",
        rows=(ROW, *others),
    )  # fmt: skip
    assert {file.name: file.text.split("\n")[1] for file in made.files} == {
        "a-network.yaml": "# R06: S5, CNI", "a-pod.yaml": "# R06: S5, CNI",
        "a-placement.yaml": "# R26: S5, CNI", "nodes-rfs.yaml": "# R16: S5, CNI",
    }  # fmt: skip


def test_a_network_of_pods_leaves_addresses_to_the_pod() -> None:
    made = documents("ipvlan-l2")
    assert json.loads(made["network.yaml"]["spec"]["config"]) == {
        "cniVersion": "0.3.1", "name": "orders", "type": "ipvlan", "master": "up0", "mode": "l2",
        "capabilities": {"ips": True}, "ipam": {"type": "static"},
    }  # fmt: skip
    assert made["network.yaml"]["metadata"] == {"name": "orders", "namespace": "demo"}
    annotations = made["pod.yaml"]["spec"]["template"]["metadata"]["annotations"]
    assert json.loads(annotations["k8s.v1.cni.cncf.io/networks"]) == [
        {"name": "orders", "namespace": "demo", "ips": ["192.0.2.10/24"]}
    ]


def test_a_bridge_of_nodes_and_the_network_and_interface_on_it() -> None:
    made = documents("linux-bridge")
    (bridge,) = made["nodes-bridge-br1.yaml"]["spec"]["desiredState"]["interfaces"]
    assert (bridge["name"], bridge["bridge"]["port"]) == ("br1", [{"name": "up0"}])
    config = json.loads(made["network.yaml"]["spec"]["config"])
    assert (config["bridge"], config["vlan"]) == ("br1", 10)
    spec = made["vm.yaml"]["spec"]["template"]["spec"]
    assert spec["domain"]["devices"]["interfaces"] == [{"name": "orders", "bridge": {}}]
    assert spec["networks"] == [{"name": "orders", "multus": {"networkName": "demo/orders"}}]
    untagged = json.loads(documents("linux-bridge", vlan=0)["network.yaml"]["spec"]["config"])
    assert "vlan" not in untagged


@pytest.mark.parametrize(("physical", "name"), [(None, "orders"), ("tenant_1", "tenant_1")])
def test_ovn_reaches_a_physical_network_by_the_name_that_nodes_map(
    physical: str | None, name: str
) -> None:
    made = documents("ovn-localnet", physical_network=physical, bridge="br-ex")
    mappings = made[f"nodes-mapping-{name.replace('_', '-')}.yaml"]["spec"]["desiredState"]["ovn"]
    assert mappings == {
        "bridge-mappings": [{"localnet": name, "bridge": "br-ex", "state": "present"}]
    }
    config = json.loads(made["network.yaml"]["spec"]["config"])
    assert config["physicalNetworkName"] == name
    assert config["netAttachDefName"] == "demo/orders"
    assert config["vlanID"] == 10


def test_a_vm_on_a_physical_network_keeps_its_address_where_it_must() -> None:
    facts = network(of_vm=True, vlan=0)
    flow = TrafficFlow(name="db", source="vm", to="external", fixed_ip=True, network=facts)

    def made(flow: TrafficFlow) -> Manifests:
        platform = ScenarioPlatform(mtu=9000)
        return made_for(flow, platform, answer="advised", attachments=("ovn-localnet",), rfs="")

    text = next(one.text for one in made(flow).files if one.name == "db-network.yaml")
    config = json.loads(loaded(text)["spec"]["config"])
    assert config["allowPersistentIPs"] is True
    assert (config["subnets"], config["mtu"]) == ("10.200.0.0/16", 9000)
    (lacking,) = made(replace(flow, network=replace(facts, subnet=None))).unwritten
    assert lacking.facts == ("flow.network.subnet",)


@pytest.mark.parametrize(
    ("attachment", "kind", "ipam"),
    [("sriov-netdev", "netdevice", '{"type": "static"}'), ("sriov-vfio", "vfio-pci", None)],
)
def test_containers_get_netdevice_vfs_and_virtual_machines_vfio_ones(
    attachment: AttachmentKind, kind: str, ipam: str | None
) -> None:
    made = documents(attachment)
    policy = made["nodes-sriov-fast-vf.yaml"]
    assert policy["spec"]["deviceType"] == kind
    assert policy["metadata"]["namespace"] == "openshift-sriov-network-operator"
    assert made["network.yaml"]["spec"].get("ipam") == ipam


def test_placement_is_a_wish_about_pods_with_those_labels() -> None:
    labels = {"true": "1", "on": "off", "app.kubernetes.io/name": "db"}
    file = documents("default", placement="same-node", labels=labels)["placement.yaml"]
    affinity = file["spec"]["template"]["spec"]["affinity"]
    (wish,) = affinity["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert wish["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels
    apart = documents("default", placement="apart")["placement.yaml"]
    assert [*apart["spec"]["template"]["spec"]["affinity"]] == ["podAntiAffinity"]


def test_rfs_is_sized_for_all_flows_of_a_node_and_says_that_nodes_restart() -> None:
    flows = [
        steered(name=name, connections=40000, network=network(device=device))
        for name, device in (("a", "enc1"), ("b", "enc2"))
    ]
    advice = tuple(FlowAdvice(flow=one.name, answer="depends", rfs="on") for one in flows)
    scenario = Scenario(platform=ScenarioPlatform(sdn="openshift-sdn"), flows=tuple(flows))
    made = manifests_for(scenario, NetworkAdvice(flows=advice))
    (file,) = made.files
    assert "its nodes are restarted one after the other" in file.text
    assert loaded(file.text)["metadata"]["name"] == "99-vnicaudit-rfs"
    assert "net.core.rps_sock_flow_entries = 131072\n" in file.text
    for device in ("enc1", "enc2"):
        rule = "echo 32768 > /sys/class/net/$name/queues/rx-3/rps_flow_cnt"
        assert f'NAME=="{device}", RUN+="/bin/sh -c \'{rule}\'"\n' in file.text
    assert [one.partition(":")[0] for one in made.notes] == ["flow a", "flow b"]


def test_few_connections_get_what_the_kernel_has_for_a_moderate_load() -> None:
    (file,) = made_for(steered(connections=50)).files
    assert "net.core.rps_sock_flow_entries = 32768\n" in file.text


def test_rfs_has_no_more_entries_than_the_kernel_takes() -> None:
    (file,) = made_for(steered(connections=10**9)).files
    assert f"net.core.rps_sock_flow_entries = {2**29}\n" in file.text


def test_a_machine_config_that_is_too_large_is_not_written() -> None:
    flows = [
        steered(
            name=f"f{number}", connections=1,
            network=network(device=f"eth{number}", rx_queues=1024),
        )
        for number in range(3)
    ]  # fmt: skip
    advice = tuple(FlowAdvice(flow=one.name, answer="depends", rfs="on") for one in flows)
    with pytest.raises(UsageError, match="more than 2048 receive queues"):
        manifests_for(Scenario(platform=OPENSHIFT, flows=tuple(flows)), NetworkAdvice(flows=advice))


def test_facts_that_nobody_said_are_asked_for_by_name() -> None:
    flow = steered(network=None)
    made = made_for(flow, answer="advised", attachments=("ipvlan-l2",))
    assert made.files == ()
    assert {one.file: [*one.facts] for one in made.unwritten} == {
        "a-network.yaml": ["flow.network.device", "flow.network.namespace"],
        "a-pod.yaml": [
            "flow.network.workload", "flow.network.namespace", "flow.network.addresses",
        ],
        "nodes-rfs.yaml": ["flow.network.device", "flow.network.rx_queues", "flow.connections"],
    }  # fmt: skip


def test_no_machine_config_is_written_for_other_clusters() -> None:
    made = made_for(steered(connections=50), ScenarioPlatform())
    assert (made.files, made.unwritten) == ((), ())
    assert "vnicaudit host rfs" in "".join(made.notes)


@pytest.mark.parametrize("attachment", ["linux-bridge", "ovn-localnet", "sriov-vfio", "masquerade"])
def test_what_gives_a_pod_no_address_is_not_written_for_pods(attachment: AttachmentKind) -> None:
    made = made_for(steered(to="external"), answer="advised", attachments=(attachment,), rfs="")
    assert made.files == ()
    assert "virtual machines only" in made.notes[0]


def test_flows_share_what_is_on_nodes() -> None:
    made = written_together(("linux-bridge", {}), ("linux-bridge", {"vlan": 20}))
    assert [one.name for one in made.files] == [
        "nodes-bridge-br1.yaml", "a-network.yaml", "a-vm.yaml", "b-network.yaml", "b-vm.yaml",
    ]  # fmt: skip


def test_flows_of_one_workload_are_one_patch() -> None:
    rest = {"addresses": ("192.0.2.11/24",), "labels": {"app": "web"}, "device": "up1"}
    made = written_together(("ipvlan-l2", {}), ("macvlan", rest), placement="apart")
    files = {one.name: one.text for one in made.files}
    assert [*files] == ["a-network.yaml", "a-pod.yaml", "a-placement.yaml", "b-network.yaml"]
    assert files["a-pod.yaml"].startswith(
        "# Written by vnicaudit advise network for flow a (ipvlan-l2)\n# R06: S5, CNI\n"
        "# Written by vnicaudit advise network for flow b (macvlan)\n"
    )
    annotations = loaded(files["a-pod.yaml"])["spec"]["template"]["metadata"]["annotations"]
    assert [*map(str, json.loads(annotations["k8s.v1.cni.cncf.io/networks"]))] == [
        "{'name': 'a', 'namespace': 'demo', 'ips': ['192.0.2.10/24']}",
        "{'name': 'b', 'namespace': 'demo', 'ips': ['192.0.2.11/24']}",
    ]
    affinity = loaded(files["a-placement.yaml"])["spec"]["template"]["spec"]["affinity"]
    wishes = affinity["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    labels = [one["podAffinityTerm"]["labelSelector"]["matchLabels"] for one in wishes]
    assert labels == [{"app": "db"}, {"app": "web"}]


def test_flows_of_other_workloads_have_patches_of_their_own() -> None:
    rest = {"addresses": ("192.0.2.11/24",), "workload": "StatefulSet/shop"}
    made = written_together(("ipvlan-l2", {}), ("ipvlan-l2", rest), ("ipvlan-l2", {
        "addresses": ("192.0.2.12/24",), "namespace": "other",
    }))  # fmt: skip
    assert [one.name for one in made.files if "pod" in one.name] == [
        "a-pod.yaml", "b-pod.yaml", "c-pod.yaml",
    ]  # fmt: skip


SECOND = {"addresses": ("192.0.2.11/24",), "workload": "Deployment/other"}
Wanted = tuple[AttachmentKind, dict[str, Any]]
ONE_USE: list[tuple[Wanted, Wanted, str]] = [
    (("ipvlan-l2", {}), ("host-device", SECOND),
     "NIC up0 can be only one of: parent of IPVLAN (flow a), given to a pod (flow b)"),
    (("ipvlan-l2", {}), ("macvlan", SECOND),
     "NIC up0 can be only one of: parent of IPVLAN (flow a), parent of macvlan (flow b)"),
    (("host-device", {}), ("host-device", {"addresses": ("192.0.2.11/24",)}),
     "NIC up0 in Deployment/shop can be only one of: network a (flow a), network b (flow b)"),
    (("host-device", {}), ("linux-bridge", {}),
     "NIC up0 can be only one of: given to a pod (flow a), port of br1 (flow b)"),
    (("linux-bridge", {}), ("linux-bridge", {"device": "up1"}),
     "bridge br1 can be only one of: with port up0 (flow a), with port up1 (flow b)"),
    (("sriov-netdev", {}), ("sriov-vfio", {}),
     "pool fast_vf can be only one of: 8 VFs of up0 for netdevice (flow a), 8 VFs of up0 for vfio"),
    (("sriov-netdev", {}), ("host-device", SECOND),
     "VFs of NIC up0 can be only one of: pool fast_vf (flow a), with the NIC in a pod (flow b)"),
    (("ovn-localnet", {"physical_network": "lan"}),
     ("ovn-localnet", {"physical_network": "lan", "bridge": "br2"}),
     "physical network lan can be only one of: on br1 (flow a), on br2 (flow b)"),
    (("ipvlan-l2", {}), ("ipvlan-l2", SECOND | {"addresses": ("192.0.2.10/16",)}),
     "address 192.0.2.10 can be only one of: in network a (flow a), in network b (flow b)"),
    (("masquerade", {}), ("primary-udn", {}),
     "the pod network of VirtualMachine/db in demo can be only one of: masquerade (flow a), "),
    (("primary-udn", {}), ("primary-udn", {"workload": "VirtualMachine/other"}),
     "the primary network of namespace demo can be only one of: a (flow a), b (flow b)"),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second", "clash"), ONE_USE)
def test_what_has_one_use_is_written_for_no_flow_that_disagrees(
    first: Any, second: Any, clash: str
) -> None:
    free: Any = ("macvlan", SECOND | {"addresses": ("192.0.2.99/24",), "device": "free0"})
    made = written_together(first, second, free)
    assert [one.name for one in made.files] == ["c-network.yaml", "c-pod.yaml"]
    assert {one.flow for one in made.unwritten} == {"a", "b"}
    assert all(one.clash.startswith(clash) for one in made.unwritten)
    alone = written_together(first), written_together(("default", {}), second)
    assert not any(each.unwritten for each in alone)


def test_a_workload_is_placed_beside_pods_or_apart_from_them() -> None:
    flows = tuple(
        TrafficFlow(name=name, source="pod", to="pod", network=network()) for name in ("a", "b")
    )
    advice = NetworkAdvice(flows=(
        FlowAdvice(flow="a", answer="depends", placement="same-node"),
        FlowAdvice(flow="b", answer="depends", placement="apart"),
    ))  # fmt: skip
    made = manifests_for(Scenario(flows=flows), advice)
    assert made.files == ()
    assert {one.file for one in made.unwritten} == {"a-placement.yaml", "b-placement.yaml"}
    assert {one.clash for one in made.unwritten} == {
        'placement of deployment shop -n demo, pods {"app": "db"} can be only one of: '
        "podAffinity (flow a), podAntiAffinity (flow b)"
    }


@pytest.mark.parametrize("second", [{"rx_queues": 8}, {}])
def test_rfs_of_a_nic_is_on_or_off(second: dict[str, Any]) -> None:
    made = written_together(("default", {}), ("default", second), rfs="on")
    assert [one.name for one in made.files] == ["nodes-rfs.yaml"] * (not second)
    assert {one.clash for one in made.unwritten} == (
        {"NIC up0 can be only one of: 4 receive queues (flow a), 8 receive queues (flow b)"}
        if second else set()
    )  # fmt: skip


def test_rfs_of_a_nic_on_which_flows_differ_is_not_written() -> None:
    flows = tuple(
        TrafficFlow(name=name, source="pod", to="pod", connections=50, network=network())
        for name in ("a", "b")
    )
    advice = NetworkAdvice(flows=(
        FlowAdvice(flow="a", answer="depends", rfs="on"),
        FlowAdvice(flow="b", answer="depends", rfs="off"),
    ))  # fmt: skip
    made = manifests_for(Scenario(platform=OPENSHIFT, flows=flows), advice)
    assert made.files == ()
    (told,) = made.unwritten
    assert (told.flow, told.file) == ("a", "nodes-rfs.yaml")
    assert told.clash == "RFS of NIC up0 can be only one of: on (flow a), off (flow b)"


def test_flows_of_one_vm_that_agree_on_the_pod_network_share_a_file() -> None:
    made = written_together(("masquerade", {}), ("masquerade", {}))
    (file,) = made.files
    assert file.name == "a-vm.yaml"
    assert "# Apply: kubectl edit virtualmachine db -n demo: add the items of " in file.text


def test_a_virtual_machine_is_asked_for_by_its_kind() -> None:
    made = written("masquerade", workload="Deployment/shop")
    (told,) = made.unwritten
    assert told.facts == ("flow.network.workload (VirtualMachine/NAME)",)


def test_objects_are_created_and_never_replaced() -> None:
    for attachment in ADVISABLE:
        for file in written(attachment, rfs="on", placement="apart").files:
            assert "apply -f" not in file.text
            if "kind" in loaded(file.text):
                assert " create -f " in file.text
                assert "# Undo: only if `create` made it" in file.text
            is_attached = "multus" in file.text or "-pod" in file.name
            warns = "Only if `create` made network demo/orders: one that was there is" in file.text
            assert warns is is_attached


HOSTILE = [
    'x"\n- evil',
    'fe80::1%"\n/64',
    "a: b",
    "{{x}}",
    "x' || reboot #",
    "a\n",
    "$(reboot)",
    "*x",
    "",
]
TEXTS = ("namespace", "device", "bridge", "physical_network", "resource", "workload", "subnet")


@pytest.mark.parametrize("hostile", HOSTILE)
def test_names_cannot_break_out(hostile: str) -> None:
    facts: list[dict[str, Any]] = [{field: hostile} for field in TEXTS]
    facts += [{"addresses": (hostile,)}, {"labels": {hostile: "1"}}, {"name": hostile}]
    facts += [{"labels": {"app": hostile}}] if hostile else []
    for each in facts:
        (field,) = each
        begin = "flow " if field == "name" else f"flow orders: network.{field} is "
        for attachment in ADVISABLE:
            with pytest.raises(UsageError) as error:
                written(attachment, **each)
            assert str(error.value).startswith(begin)
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("second", ["192.0.2.10/16", "192.0.2.10/24"])
def test_an_address_is_there_once(second: str) -> None:
    with pytest.raises(UsageError, match=r"network\.addresses is .*there twice"):
        written("ipvlan-l2", addresses=("192.0.2.10/24", second))


def test_two_objects_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"two objects would be in nodes-bridge-br-1\.yaml"):
        written_together(
            ("linux-bridge", {"bridge": "br-1"}),
            ("linux-bridge", {"bridge": "br_1", "device": "up1"}),
        )


CONFIG = {"cniVersion": "0.3.1", "name": "a", "type": "bridge", "bridge": "br1"}
BRIDGE = CONFIG | {"preserveDefaultVlan": False}


@pytest.mark.parametrize(
    "wrong",
    [
        {}, CONFIG, BRIDGE | {"type": "other"}, BRIDGE | {"vlan": 4095},
        BRIDGE | {"bridge": "br1\n"}, BRIDGE | {"name": "A b"}, BRIDGE | {"isGateway": True},
        BRIDGE | {"cniVersion": "9"}, BRIDGE | {"type": "ipvlan"},
    ],
)  # fmt: skip
def test_the_form_of_a_configuration_is_what_its_plugin_can_use(wrong: object) -> None:
    check_config(json.dumps(BRIDGE))
    with pytest.raises(msgspec.ValidationError):
        check_config(json.dumps(wrong))


MAPPING = {"localnet": "a", "bridge": "br-ex", "state": "present"}


@pytest.mark.parametrize(
    "wrong",
    [
        "up", {"interfacez": []}, {"interfaces": [{"name": "br1"}]},
        {"ovn": {"bridge-mappings": [MAPPING | {"bridge": "a b"}]}},
        {"ovn": {"bridge-mappings": [MAPPING | {"state": "there"}]}},
        {"ovn": {"bridgeMappings": [MAPPING]}},
    ],
)  # fmt: skip
def test_the_form_of_a_state_is_what_nodes_can_have(wrong: object) -> None:
    check_state({"ovn": {"bridge-mappings": [MAPPING]}})
    with pytest.raises(msgspec.ValidationError):
        check_state(wrong)
