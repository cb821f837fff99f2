"""Objects of a cluster, taken one by one, and what they say of its VMs."""

import json
from typing import Any

import msgspec
import pytest

from vnicaudit.model.cluster import Attachment, ClusterFacts
from vnicaudit.model.domain import ClusterDomain
from vnicaudit.model.file_kind import Content, Item
from vnicaudit.platforms.kubevirt import MANIFEST
from vnicaudit.platforms.kubevirt.cluster import ClusterReading, is_of_cluster
from vnicaudit.platforms.kubevirt.objects import Object, decoded_object

SECRET = "hunter2"
TARGET = "kube:lab"


def _objects(*items: dict[str, Any]) -> list[Object]:
    return [decoded_object(each, TARGET) for each in items]


def _vm(uid: str, **spec: Any) -> dict[str, Any]:
    devices = {"interfaces": [{"name": "default", "bridge": {}}]}
    inner = {"domain": {"devices": devices}, "networks": [{"name": "default", "pod": {}}], **spec}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "namespace": "demo", "uid": uid},
        "spec": {"template": {"spec": inner}},
    }


def _vmi(uid: str, owner: str) -> dict[str, Any]:
    owners = [{"kind": "VirtualMachine", "name": "web", "uid": owner, "controller": True}]
    metadata = {"name": "web", "namespace": "demo", "uid": uid, "ownerReferences": owners}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": metadata,
        "spec": _vm("")["spec"]["template"]["spec"],
        "status": {"phase": "Running"},
    }


def _domains(*items: dict[str, Any]) -> list[ClusterDomain]:
    reading, found = ClusterReading(TARGET, "lab"), _objects(*items)
    for each in found:
        reading.take(each)
    domains = map(reading.domain, found)
    return [each for each in domains if isinstance(each, ClusterDomain)]


def test_a_vm_and_its_instance_are_one_domain() -> None:
    (domain,) = _domains(_vmi("i", "v"), _vm("v"))
    assert (domain.uuid, domain.guest.runs, domain.guest.has_vm) == ("v", True, True)


def test_an_instance_of_the_same_name_and_another_owner_is_another_domain() -> None:
    vm, instance = _domains(_vm("v"), _vmi("i", "gone"))
    assert (vm.guest.runs, instance.guest.runs, instance.guest.has_vm) == (False, True, False)


def _linux(name: str, version: str, kernel: str) -> dict[str, str]:
    return {"id": name, "versionId": version, "kernelRelease": kernel}


@pytest.mark.parametrize(
    ("system", "readiness"),
    [
        ({"id": "fedora", "versionId": "40", "kernelRelease": "6.8.5"}, "ready"),
        ({"id": "mswindows", "versionId": "10", "name": "Microsoft Windows"}, "needs-driver"),
        ({"id": "rhel", "versionId": "5.11"}, "ready-transitional"),
        ({"id": "rhel", "versionId": "4.9"}, "unknown"),
        (_linux("centos", "6.10", "2.6.32-754.el6.x86_64"), "ready-transitional"),
        (_linux("redhat", "6.9", "2.6.32-696.el6"), "ready-transitional"),
        (_linux("", "", "2.6.32-754.el6.x86_64"), "ready-transitional"),
        (_linux("sles", "11.4", "3.0.101-108.el"), "ready-transitional"),
        (_linux("debian", "7", "3.2.0-4-amd64"), "ready-transitional"),
        (_linux("ubuntu", "12.04", "3.2.0-29-generic"), "ready-transitional"),
        (_linux("ubuntu", "14.04", "4.4.0-148-generic"), "ready"),
        (_linux("sles", "12", "3.12.28-4-default"), "unknown"),
        (_linux("centos", "7", "3.10.0-1160.76.1.el7.x86_64"), "ready"),
        (_linux("centos", "7", "3.10.0-229.el7.x86_64"), "unknown"),
        (_linux("rhel", "7.1", "3.10.0-229.el7.x86_64"), "ready-transitional"),
        (_linux("rhel", "7.9", "3.10.0-1160.el7.x86_64"), "ready"),
        (_linux("rhel", "7.9", ""), "ready"),
        (_linux("acmeos", "1", "5.15.0"), "needs-driver"),
        (_linux("acmeos", "1", "3.4.0"), "unknown"),
        (_linux("freebsd", "9.3", "9.3-RELEASE"), "needs-driver"),
        ({"id": "haiku"}, "needs-driver"),
        ({}, "needs-driver"),
    ],
)
def test_the_agent_knows_the_system_better_than_a_label(
    system: dict[str, str], readiness: str
) -> None:
    vm, instance = _vm("v"), _vmi("i", "v")
    vm["metadata"]["labels"] = {"kubevirt.io/os": "windows10"}
    instance["status"]["guestOSInfo"] = system
    instance["spec"]["domain"]["devices"]["useVirtioTransitional"] = True
    (domain,) = _domains(vm, instance)
    assert domain.declared.readiness == readiness


def test_a_transitional_device_suits_a_guest_without_virtio_1_0() -> None:
    vm, instance = _vm("v"), _vmi("i", "v")
    vm["spec"]["template"]["spec"]["domain"]["devices"]["useVirtioTransitional"] = True
    instance["status"]["guestOSInfo"] = _linux("centos", "6.10", "2.6.32-754.el6.x86_64")
    (domain,) = _domains(vm, instance)
    assert domain.declared.readiness == "ready"


def test_an_agent_that_answers_over_virtio_1_0_proves_that_its_guest_drives_it() -> None:
    vm, instance = _vm("v"), _vmi("i", "v")
    instance["status"]["guestOSInfo"] = _linux("centos", "6.10", "2.6.32-754.el6.x86_64")
    (domain,) = _domains(vm, instance)
    assert domain.declared.readiness == "ready"


@pytest.mark.parametrize("key", ["networks", "network-status"])
def test_a_pod_whose_networks_are_too_long_to_be_read_is_told(key: str) -> None:
    def pod(name: str, text: str) -> dict[str, Any]:
        annotations = {f"k8s.v1.cni.cncf.io/{key}": text}
        metadata = {"name": name, "namespace": "demo", "uid": name, "annotations": annotations}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}

    reading = ClusterReading(TARGET, "lab")
    for each in _objects(pod("short", "lan"), pod("long", "lan, " * 20_000)):
        reading.take(each)
    (told,) = reading.left_out
    assert told.message == (
        f"pod demo/long: its annotation k8s.v1.cni.cncf.io/{key} is longer than 64 KiB: not judged"
    )


def test_secrets_of_a_vm_reach_no_record() -> None:
    volumes = [{"name": "seed", "cloudInitNoCloud": {"userData": f"password: {SECRET}"}}]
    credentials = [{"userPassword": {"source": {"secret": {"secretName": SECRET}}}}]
    vm = _vm("v", volumes=volumes, accessCredentials=credentials)
    vm["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": SECRET}
    (domain,) = _domains(vm, _vmi("i", "v"))
    assert SECRET not in msgspec.json.encode(domain).decode()


def _attachment(config: object) -> Attachment:
    reading = ClusterReading(TARGET, "lab")
    metadata = {"name": "lan", "namespace": "demo", "uid": "n"}
    nad = {"apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition"}
    for each in _objects({**nad, "metadata": metadata, "spec": {"config": config}}):
        reading.take(each)
    (found,) = reading.facts.attachments or ()
    return found


@pytest.mark.parametrize(
    "config",
    ["[" * 60_000, '{"a":' * 12_000, '{"mtu": ' + "9" * 60_000 + "}", '{"type": "x"}' * 5],
    ids=["lists", "objects", "digits", "several"],
)
def test_a_configuration_that_cannot_be_read_is_a_fault(config: str) -> None:
    found = _attachment(config)
    assert found.fault.startswith("is not JSON") or found.plugins


def test_a_configuration_that_is_too_long_is_not_judged() -> None:
    found = _attachment('{"type": "bridge", "a": "' + "x" * 70_000 + '"}')
    assert (found.is_certain, found.fault, found.plugins) == (False, "", ())


def test_a_manifest_is_of_no_cluster() -> None:
    vm = _vm("v")
    del vm["metadata"]["uid"]
    assert [is_of_cluster(each) for each in _objects(vm, _vm("v"))] == [False, True]


def test_only_lists_that_were_read_show_that_there_is_none() -> None:
    reading = ClusterReading(TARGET, "lab")
    reading.listed("nodes")
    reading.listed("network-attachment-definitions", "demo")
    facts = reading.facts
    assert (facts.nodes, facts.plugins, facts.attachments) == ((), None, ())
    assert facts.has_all("network-attachment-definitions", "demo")
    assert not facts.has_all("network-attachment-definitions", "other")


def _in_file(*items: dict[str, Any]) -> list[Item]:
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1)
    return list(MANIFEST.read(Content(text.encode(), "dump.json", "dump.json")))


def test_a_file_from_a_cluster_is_read_as_one() -> None:
    settings = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"uid": "k"}}
    domain, facts = _in_file(_vm("v"), _vmi("i", "v"), settings)
    assert isinstance(domain, ClusterDomain)
    assert domain.guest.runs
    assert (domain.location.file, domain.location.line) == ("dump.json", 9)
    assert isinstance(facts, ClusterFacts)
    assert facts.nodes is None


def test_an_instance_that_stands_alone_in_a_file_is_a_domain() -> None:
    (domain,) = _in_file(_vmi("i", "elsewhere"))
    assert isinstance(domain, ClusterDomain)
    assert domain.guest.runs


def test_manifests_are_read_without_what_reads_clusters() -> None:
    vm = _vm("v")
    del vm["metadata"]["uid"]
    (domain,) = _in_file(vm)
    assert not isinstance(domain, ClusterDomain)


def _nad(name: str, **metadata: str) -> dict[str, Any]:
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, **metadata},
        "spec": {"config": "{}"},
    }


def test_machines_of_a_cluster_alone_are_judged_as_its_own() -> None:
    (domain,) = _in_file(_vm("v"))
    assert isinstance(domain, ClusterDomain)
    assert (domain.guest.cluster.kubevirt, domain.guest.runs) == (None, False)


def test_networks_alone_are_judged() -> None:
    (facts,) = _in_file(_nad("a", namespace="demo", uid="a"), _nad("b"))
    assert isinstance(facts, ClusterFacts)
    assert [each.path for each in facts.attachments or ()] == ["demo/a", "/b"]
    assert facts.nodes is None


def test_networks_beside_manifests_are_judged_and_need_no_cluster() -> None:
    vm = _vm("v")
    del vm["metadata"]["uid"]
    domain, facts = _in_file(vm, _nad("b"))
    assert not isinstance(domain, ClusterDomain)
    assert isinstance(facts, ClusterFacts)
    assert (facts.nodes, facts.kubevirt) == ((), None)


def test_a_uid_in_a_script_makes_no_cluster_of_a_manifest() -> None:
    vm = _vm("v", volumes=[{"name": "seed", "cloudInitNoCloud": {"userData": '"uid": 1000'}}])
    vm["metadata"] = {"name": "web", "labels": {"uid": "1000"}}
    (domain,) = _in_file(vm)
    assert not isinstance(domain, ClusterDomain)
