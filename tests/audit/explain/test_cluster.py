"""What a cluster says of one NIC: its layers, from the VM to what its instance reports."""

from typing import Any

from vnicaudit.audit.explain_layers import layers
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import ClusterDomain, Domain, DomainConfig
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Effective, Nic
from vnicaudit.platforms.kubevirt.cluster import ClusterReading
from vnicaudit.platforms.kubevirt.launched import launched_of, with_launched
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
    return _layers_of(_domain(*objects))


def _layers_of(domain: Domain) -> dict[str, dict[str, str] | str]:
    (nic,) = domain.nics
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), nic.running
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


def test_the_instance_type_as_recorded_and_of_today() -> None:
    kind = "VirtualMachineClusterInstancetype"
    vm = MACHINE | {
        "spec": MACHINE["spec"] | {"instancetype": {"name": "small"}},
        "status": {"instancetypeRef": {
            "name": "small", "controllerRevisionRef": {"name": "web-small-1"}}},
    }  # fmt: skip
    today = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind,
             "metadata": {"name": "small"}, "spec": {"cpu": {"guest": 8}}}  # fmt: skip
    kept = REVISION | {"metadata": {"name": "web-small-1", "namespace": "demo"},
                       "data": today | {"spec": {"cpu": {"guest": 2}}}}  # fmt: skip
    found = _layers(vm, today, kept)
    assert found["Instance type small"] == {"vCPUs": "8"}
    assert found["Instance type as recorded (web-small-1)"] == {"vCPUs": "2"}
    assert _layers(vm)["Instance type small"] == "the instance type itself would show it"


def test_the_launcher_tells_of_vhost_and_of_the_mtu() -> None:
    status = '[{"name": "demo/lan", "interface": "pod1", "mtu": 9000}]'
    pod: dict[str, Any] = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "virt-launcher-web-x", "namespace": "demo",
            "labels": {"kubevirt.io": "virt-launcher"},
            "ownerReferences": [{"kind": "VirtualMachineInstance", "name": "web", "uid": "vmi"}],
            "annotations": {"k8s.v1.cni.cncf.io/network-status": status},
        },
        "spec": {"nodeName": "n1", "containers": [{"resources": {"limits": {
            "devices.kubevirt.io/kvm": "1", "devices.kubevirt.io/vhost-net": "1"}}}]},
    }  # fmt: skip
    instance = INSTANCE | {
        "spec": SPEC, "status": INSTANCE["status"] | {"nodeName": "n1"},
    }  # fmt: skip
    _nic, _declared, found = _effective(MACHINE, instance, pod)
    assert (found.vhost.effective, found.vhost.reason) == (
        True, "KubeVirt: its launcher asked for /dev/vhost-net",
    )  # fmt: skip
    told = _layers(MACHINE, instance, pod)["Status of the instance"]
    assert isinstance(told, dict)
    assert told["mtu"] == "9000"


def test_a_revision_that_was_not_read_is_not_the_preference_of_today() -> None:
    today = REVISION["data"] | {"spec": {"devices": {
        "preferredInterfaceModel": "virtio", "preferredNetworkInterfaceMultiQueue": True,
    }}}  # fmt: skip
    manifest = _domain(MACHINE, today).declared.manifest
    assert manifest is not None
    assert (manifest.preference_read, manifest.multiqueue_read) == (False, False)
    assert (manifest.preferred_model, manifest.multiqueue) == (None, None)


def _effective(*objects: dict[str, Any]) -> tuple[Nic, DomainConfig, Effective]:
    domain = _domain(*objects)
    (nic,) = domain.nics
    resolve = every_platform().resolver(domain.declared)
    found = resolve(nic.declared, domain.declared, HostConfig(), nic.running)
    return nic, domain.declared, found


def test_a_running_guest_has_what_its_instance_has() -> None:
    devices = {"networkInterfaceMultiqueue": True, "useVirtioTransitional": True,
               "interfaces": [{"name": "a", "bridge": {}}]}  # fmt: skip
    instance = INSTANCE | {
        "spec": SPEC | {"domain": {"cpu": {"sockets": 8}, "devices": devices}},
        "status": {"phase": "Running", "currentCPUTopology": {"sockets": 6}, "interfaces": [
            {"name": "a", "queueCount": 4, "mac": "02:00:00:00:00:0A"}]},
    }  # fmt: skip
    nic, declared, found = _effective(MACHINE, instance, REVISION)
    assert found.model.effective == "virtio-transitional"
    assert found.model.reason == "KubeVirt: as its instance has it, and useVirtioTransitional"
    assert (found.queues.effective, declared.vcpus) == (4, 6)
    assert (nic.mac, nic.known_mac) == (None, "02:00:00:00:00:0a")
    told = _layers(MACHINE, instance, REVISION)
    assert told["QEMU"] == "--exec asks its launcher for it"


def test_an_instance_that_reports_no_queues_leaves_their_number_unknown() -> None:
    instance = INSTANCE | {"spec": SPEC | {"domain": {"devices": {
        "networkInterfaceMultiqueue": True, "interfaces": [{"name": "a", "bridge": {}}]}}},
        "status": {"phase": "Running"}}  # fmt: skip
    _nic, declared, found = _effective(MACHINE, instance, REVISION)
    assert (found.queues.effective, found.queues.state) == (None, "unknown")
    assert declared.vcpus == 4  # no other source tells


def test_an_instance_that_does_not_run_tells_nothing_of_its_nics() -> None:
    ended = INSTANCE | {"status": {"phase": "Succeeded"}}
    nic, _declared, found = _effective(MACHINE, ended, REVISION)
    assert (nic.running, found.model.effective) == (None, "e1000")
    assert "preference" in found.model.reason


def test_the_wiring_of_a_vm_without_interfaces_is_that_of_its_instance() -> None:
    vm = MACHINE | {"status": {}, "spec": {
        "runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}},
    }}  # fmt: skip
    settings = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "k"}}
    instance = INSTANCE | {"spec": {
        "domain": {"devices": {"interfaces": [{"name": "default", "masquerade": {}}]}},
        "networks": [{"name": "default", "pod": {}}],
    }}  # fmt: skip
    assert [nic.wiring for nic in _domain(vm, settings).nics] == ["pod-bridge"]
    assert [nic.wiring for nic in _domain(vm, settings, instance).nics] == ["masquerade"]


def test_what_was_not_read_is_said() -> None:
    found = _layers(MACHINE)
    assert found["Preference as recorded (web-old-1)"] == "the ControllerRevision would show it"
    assert found["Specification of the instance"] == (
        "the VM does not run, or its VirtualMachineInstance was not read"
    )
    assert "Status of the instance" not in found


def test_places_of_a_decoded_object_have_a_pointer_and_no_line() -> None:
    place = _domain(MACHINE).nics[0].location
    assert (place.file, place.line, place.object) == (None, None, "demo/web")
    assert place.pointer == "/spec/template/spec/domain/devices/interfaces/0"


DEFINITION = (
    b"<domain type='kvm'><name>demo_web</name><devices><interface type='ethernet'>"
    b"<mac address='02:00:00:00:00:0a'/><model type='virtio-non-transitional'/>"
    b"<driver name='vhost' queues='4' rx_queue_size='1024'/><alias name='ua-a'/></interface>"
    b"</devices></domain>"
)
COMMAND = (
    b"/usr/libexec/qemu-kvm\0-name\0guest=demo_web,debug-threads=on\0-accel\0kvm\0-nodefaults\0"
    b'-netdev\0{"type":"tap","fds":"30:31:32:33","vhost":true,"vhostfds":"35:36:37:38",'
    b'"id":"hostua-a"}\0-device\0{"driver":"virtio-net-pci-non-transitional","mq":true,'
    b'"vectors":10,"rx_queue_size":1024,"netdev":"hostua-a","id":"ua-a",'
    b'"mac":"02:00:00:00:00:0a"}\0'
)


def _launched(definition: bytes, command: bytes) -> Domain:
    domain = _domain(MACHINE, INSTANCE, REVISION)
    assert isinstance(domain, ClusterDomain)
    return with_launched(domain, launched_of(definition, command, domain.guest))


def test_the_launcher_has_the_last_word() -> None:
    domain = _launched(DEFINITION, COMMAND)
    found = _layers_of(domain)
    assert found["Domain in the launcher"] == {
        "model": "virtio-non-transitional", "driver": "vhost", "queues": "4",
        "rx_queue_size": "1024",
    }  # fmt: skip
    assert found["QEMU"] == {
        "model": "virtio-net-pci-non-transitional", "backend": "tap", "vhost": "on", "queues": "4",
        "rx_queue_size": "1024", "tx_queue_size": "256",
    }  # fmt: skip
    (nic,) = domain.nics
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), nic.running
    )
    assert (effective.model.effective, effective.queues.effective, effective.vhost.effective) == (
        "virtio-non-transitional", 4, True,
    )  # fmt: skip


def test_a_nic_that_was_plugged_in_is_known_by_its_definition_alone() -> None:
    command = COMMAND.partition(b"-netdev")[0]
    found = _layers_of(_launched(DEFINITION, command))
    assert found["QEMU"] == (
        "QEMU was not started with it: it was plugged in, or is another device there"
    )
    assert isinstance(found["Domain in the launcher"], dict)


def test_a_launcher_that_could_not_be_asked_says_why() -> None:
    found = _layers_of(_launched(b"error", b""))
    assert found["Domain in the launcher"] == "what virsh dumpxml printed is not one domain"
    assert found["QEMU"] == found["Domain in the launcher"]
