"""Objects of a cluster, as small as the API server takes them."""

from typing import Any

SECRET = "do-not-tell-4711"
"""Planted where objects and kubeconfig files have secrets: no report has it."""
Object = dict[str, Any]


def interface(name: str = "default", **fields: object) -> Object:
    """A NIC of the pod network, masqueraded."""
    return {"name": name, "masquerade": {}} | fields


def virtual_machine(name: str, *interfaces: Object, namespace: str = "shop") -> Object:
    """A VM that runs, with a password for cloud-init."""
    interfaces = interfaces or (interface(),)
    networks: list[Object] = [{"name": one["name"], "pod": {}} for one in interfaces]
    start = {"name": "start", "cloudInitNoCloud": {"userData": f"password: {SECRET}"}}
    spec = {
        "domain": {
            "cpu": {"cores": 2}, "memory": {"guest": "1Gi"}, "devices": {"interfaces": interfaces},
        },
        "networks": networks, "volumes": [start],
    }  # fmt: skip
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": namespace, "uid": f"vm-{name}"},
        "spec": {"runStrategy": "Always", "template": {"spec": spec}},
    }  # fmt: skip


def instance_of(vm: Object) -> Object:
    """The VMI that KubeVirt made of a VM."""
    meta, spec = vm["metadata"], vm["spec"]["template"]["spec"]
    owner = {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": meta["name"],
        "uid": meta["uid"], "controller": True,
    }  # fmt: skip
    status = [
        {"name": one["name"], "mac": f"02:00:00:00:00:0{number}", "queueCount": 1}
        for number, one in enumerate(spec["domain"]["devices"]["interfaces"])
    ]
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {
            "name": meta["name"], "namespace": meta["namespace"], "ownerReferences": [owner],
        },
        "spec": spec, "status": {"phase": "Running", "nodeName": "n1", "interfaces": status},
    }  # fmt: skip


def node(name: str = "n1") -> Object:
    """A node on which VMs run, with vhost-net."""
    devices = {"devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/vhost-net": "1k"}
    labels = {"kubevirt.io/schedulable": "true", "kubernetes.io/arch": "amd64"}
    return {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "status": {"capacity": devices, "allocatable": devices},
    }  # fmt: skip


def kubevirt(version: str = "v1.9.0") -> Object:
    """The installation of KubeVirt."""
    return {
        "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": {},
        "status": {"phase": "Deployed", "observedKubeVirtVersion": version},
    }  # fmt: skip


def attachment(name: str = "lan", namespace: str = "shop", config: str = "") -> Object:
    """A definition of a network to attach, of a bridge unless its configuration is given."""
    config = config or '{"cniVersion": "0.3.1", "type": "bridge", "bridge": "br1"}'
    return {
        "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": namespace}, "spec": {"config": config},
    }  # fmt: skip


def small_cluster() -> list[Object]:
    """A VM that runs, and what a cluster has for it."""
    vm = virtual_machine("web", interface(model="e1000"))
    return [kubevirt(), node(), attachment(), vm, instance_of(vm)]


ONE_STREAM = """\
title = "One stream, on a busy machine"
repeats = 1
catastrophe-only = true
cooldown = 0
max-steal = 100
max-cpu-wait = 100
[[workload]]
engine = "iperf3"
patterns = ["tcp"]
directions = ["tx"]
connections = [1]
sizes = ["64K"]
seconds = 1
warmup = 0
"""
"""A profile, as short as one can be."""
