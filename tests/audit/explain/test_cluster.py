"""What a cluster says of one NIC: its layers, from the VM to what its instance reports."""

from typing import Any

from vnicaudit.audit.explain import layers
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import Domain
from vnicaudit.model.host import HostConfig
from vnicaudit.platforms.kubevirt.cluster import ClusterReading
from vnicaudit.platforms.kubevirt.objects import decoded_object

SPEC: dict[str, Any] = {
    "domain": {"cpu": {"cores": 4}, "devices": {"interfaces": [{"name": "a", "bridge": {}}]}},
    "networks": [{"name": "a", "multus": {"networkName": "lan"}}],
}
MACHINE: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "demo", "uid": "vm"},
    "spec": {"preference": {"name": "old"}, "template": {"spec": SPEC}},
    "status": {"preferenceRef": {"name": "old", "controllerRevisionRef": {"name": "web-old-1"}}},
}  # fmt: skip
INSTANCE: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
    "metadata": {"name": "web", "namespace": "demo", "uid": "vmi", "ownerReferences": [
        {"kind": "VirtualMachine", "name": "web", "uid": "vm", "controller": True}]},
    "spec": {**SPEC, "domain": {"devices": {"interfaces": [
        {"name": "a", "bridge": {}, "model": "e1000"}]}}},
    "status": {"phase": "Running", "interfaces": [
        {"name": "a", "queueCount": 1, "infoSource": "domain, guest-agent"}]},
}  # fmt: skip
REVISION: dict[str, Any] = {
    "apiVersion": "apps/v1", "kind": "ControllerRevision",
    "metadata": {"name": "web-old-1", "namespace": "demo"},
    "data": {"apiVersion": "instancetype.kubevirt.io/v1beta1",
             "kind": "VirtualMachineClusterPreference", "metadata": {"name": "old"},
             "spec": {"devices": {"preferredInterfaceModel": "e1000"}}},
}  # fmt: skip


def _domain(*objects: dict[str, Any]) -> Domain:
    reading, found = ClusterReading("kube:lab", "lab"), [
        decoded_object(each, "kube:lab") for each in objects
    ]  # fmt: skip
    for each in found:
        reading.take(each)
    domain = reading.domain(found[0])
    assert domain is not None
    return domain


def _layers(*objects: dict[str, Any]) -> dict[str, dict[str, str] | str]:
    domain = _domain(*objects)
    (nic,) = domain.nics
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), None
    )
    return {
        each.name: each.missing or {fact.fact: fact.value for fact in each.facts}
        for each in layers(domain, nic, HostConfig(), effective, "KubeVirt manifest")
    }


def test_recorded_preference_specification_and_status() -> None:
    found = _layers(MACHINE, INSTANCE, REVISION)
    assert found["Preference as recorded (web-old-1)"] == {"preferredInterfaceModel": "e1000"}
    assert found["Specification of the instance"] == {
        "model": "e1000", "binding": "bridge", "network": "demo/lan", "multiqueue": "off",
    }  # fmt: skip
    assert found["Status of the instance"] == {
        "queues": "1", "told by": "domain, guest-agent",
    }  # fmt: skip


def test_the_preference_of_today_is_not_what_was_recorded() -> None:
    today = REVISION["data"] | {"spec": {"devices": {"preferredInterfaceModel": "virtio"}}}
    found = _layers(MACHINE, REVISION, today)
    assert found["Preference old"] == {"preferredInterfaceModel": "virtio"}
    assert found["Preference as recorded (web-old-1)"] == {"preferredInterfaceModel": "e1000"}
    assert _layers(MACHINE, REVISION)["Preference old"] == "the preference itself would show it"


def test_a_revision_that_was_not_read_is_not_the_preference_of_today() -> None:
    today = REVISION["data"] | {"spec": {"devices": {
        "preferredInterfaceModel": "virtio", "preferredNetworkInterfaceMultiQueue": True,
    }}}  # fmt: skip
    manifest = _domain(MACHINE, today).declared.manifest
    assert manifest is not None
    assert (manifest.preference_read, manifest.multiqueue_read) == (False, False)
    assert (manifest.preferred_model, manifest.multiqueue) == (None, None)


def test_what_was_not_read_is_said() -> None:
    found = _layers(MACHINE)
    assert found["Preference as recorded (web-old-1)"] == "the ControllerRevision would show it"
    assert found["Specification of the instance"] == (
        "the VM does not run, or its VirtualMachineInstance was not read"
    )
    assert "Status of the instance" not in found


def test_places_of_a_decoded_object_have_a_pointer_and_no_line() -> None:
    (nic,) = _domain(MACHINE).nics
    assert (nic.location.file, nic.location.line, nic.location.xpath) == (
        None, None, "/spec/template/spec/domain/devices/interfaces/0",
    )  # fmt: skip
