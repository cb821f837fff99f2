"""What launchers say, asked by exec through the API server. The launchers here are stand-ins: a
script in the place of virsh and cat, with what libvirt and QEMU print (recorded forms, values of
our own)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.inside import inside
from tests.kube.objects import SECRET, instance_of, interface, kubevirt, virtual_machine
from tests.kube.pods import NODE, Pods
from tests.kube.server import Server
from tests.kube.test_rights import RULES, target

pytestmark = pytest.mark.kube

EXEC = {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create", "get"]}
MAC = "02:00:00:00:00:00"
DEFINITION = f"""<domain type='kvm' id='1'>
  <name>shop_web</name>
  <devices>
    <interface type='ethernet'>
      <mac address='{MAC}'/>
      <target dev='tap0' managed='no'/>
      <model type='MODEL'/>
      <mtu size='1400'/>
      <alias name='ua-default'/>
    </interface>
    <graphics type='vnc' passwd='{SECRET}'/>
  </devices>
</domain>
"""
COMMAND = [
    "/usr/libexec/qemu-kvm", "-name", "guest=shop_web,debug-threads=on", "-accel", "kvm",
    "-no-user-config", "-nodefaults",
    "-object", json.dumps({"qom-type": "secret", "id": "masterKey0", "data": SECRET}),
    "-netdev", json.dumps({"type": "tap", "fd": "29", "vhost": True, "vhostfd": "31",
                           "id": "hostua-default"}),
    "-device", json.dumps({"driver": "DRIVER", "netdev": "hostua-default", "id": "ua-default",
                           "mac": MAC, "host_mtu": 1400}),
    "",
]  # fmt: skip
SCRIPT = """import sys
from pathlib import Path
said = {said!r}
words = " ".join(sys.argv[1:])
if words not in said:
    print({secret!r}, file=sys.stderr)
    raise SystemExit(1)
sys.stdout.write(said[words])
raise SystemExit("qemu/run" in words)
"""


def _launcher(
    cluster: Server, pods: Pods, folder: Path, model: str, driver: str, *, more: str = ""
) -> None:
    """A VM that runs, and its launcher, which answers three commands and no other."""
    vm = virtual_machine("web")
    instance = instance_of(vm)
    instance["status"]["nodeName"] = NODE
    cluster.load(kubevirt(), vm, instance)
    path = "/apis/kubevirt.io/v1/namespaces/shop/virtualmachineinstances/web"
    uid = cluster.ask("GET", path)["metadata"]["uid"]
    pid = "/run/libvirt/qemu/run/shop_web.pid /run/libvirt/qemu/shop_web.pid"
    said = {
        "virsh dumpxml shop_web": DEFINITION.replace("MODEL", model) + more,
        f"cat {pid}": "77",  # the second file is not there: exit code 1
        "cat /proc/77/cmdline": "\0".join(COMMAND).replace("DRIVER", driver),
    }
    script = folder / "launcher.py"
    script.write_text(SCRIPT.format(said=said, secret=SECRET))
    owner = {
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "name": "web",
        "uid": uid, "controller": True,
    }  # fmt: skip
    pods.add(
        "virt-launcher-web-x7k2p", sys.executable, str(script), namespace="shop",
        labels={"kubevirt.io": "virt-launcher"}, ownerReferences=[owner],
    )  # fmt: skip


def _told(*results: subprocess.CompletedProcess[str]) -> str:
    text = " ".join(" ".join(one.stdout + one.stderr for one in results).split())
    assert SECRET not in text
    return text


def test_the_domain_in_the_launcher_is_a_layer_and_judged(
    cluster: Server, pods: Pods, tmp_path: Path
) -> None:
    _launcher(cluster, pods, tmp_path, "e1000e", "e1000e")
    name = target(cluster, "asker", [*RULES, EXEC])
    audited = _told(inside("audit", name, "--exec"))
    assert "interface default runs with model e1000e, and its specification gives virtio" in audited
    explained = _told(inside("explain", name, "--domain", "shop/web", "--exec"))
    assert "Domain in the launcher model e1000e queues 1 mtu 1400" in explained
    assert "QEMU model e1000e" in explained
    asked = [one for one in cluster.requests("asker") if one["requestURI"].count("/exec?")]
    assert {one["requestURI"].partition("?")[2].replace("%2F", "/") for one in asked} == {
        "command=virsh&command=dumpxml&command=shop_web&container=compute&stdout=true",
        "command=cat&command=/run/libvirt/qemu/run/shop_web.pid"
        "&command=/run/libvirt/qemu/shop_web.pid&container=compute&stdout=true",
        "command=cat&command=/proc/77/cmdline&container=compute&stdout=true",
    }


def test_as_specified_nothing_is_found_and_vhost_is_proven(
    cluster: Server, pods: Pods, tmp_path: Path
) -> None:
    driver = "virtio-net-pci-non-transitional"
    _launcher(cluster, pods, tmp_path, "virtio-non-transitional", driver)
    name = target(cluster, "checker", [*RULES, EXEC])
    result = inside("audit", name, "--exec", "--select", "VNIC205", "--format", "json")
    told: dict[str, Any] = json.loads(result.stdout)
    assert (told["findings"], told["skipped"]) == ([], [])
    assert "vhost on" in _told(inside("explain", name, "--domain", "shop/web", "--exec"))


@pytest.mark.parametrize(
    ("rights", "more", "reason"),
    [
        ([], "", "the right to exec in namespace shop: kubectl"),
        ([EXEC], "x" * (5 << 20), "virsh printed more than 1 MiB"),
        ([EXEC], "<domain/>", "what virsh dumpxml printed is not one domain"),
    ],
)
def test_what_cannot_be_asked_is_told_with_the_reason(
    cluster: Server, pods: Pods, tmp_path: Path, rights: list[Any], more: str, reason: str
) -> None:
    _launcher(cluster, pods, tmp_path, "virtio", "virtio-net-pci", more=more)
    account = f"lacking-{len(more)}"
    name = target(cluster, account, [*RULES, *rights])
    result = inside("audit", name, "--exec", "--select", "VNIC205")
    assert reason in _told(result)
    assert result.returncode == 0


def test_without_exec_nothing_is_asked(cluster: Server, pods: Pods, tmp_path: Path) -> None:
    _launcher(cluster, pods, tmp_path, "virtio", "e1000e")
    result = inside("audit", target(cluster, "quiet", [*RULES, EXEC]), "--select", "VNIC205")
    assert "VNIC205" not in _told(result)
    assert not any("/exec?" in one["requestURI"] for one in cluster.requests("quiet"))


def test_pods_that_share_a_host_device_are_found_on_request(cluster: Server, pods: Pods) -> None:
    config = '{"cniVersion": "0.3.1", "name": "fast", "type": "host-device", "device": "eth1"}'
    cluster.load(
        kubevirt(),
        {
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": "fast", "namespace": "shop"}, "spec": {"config": config},
        },
        virtual_machine("web", interface()),
    )  # fmt: skip
    for number in range(2):
        asks = {"k8s.v1.cni.cncf.io/networks": "fast"}
        pods.add(f"app-{number}", "true", annotations=asks)
    name = target(cluster, "counter", RULES)
    found = "pods on node pods (shop/app-0, shop/app-1) ask for its device eth1"
    assert found in _told(inside("audit", name, "--pods"))
    assert found not in _told(inside("audit", name))
