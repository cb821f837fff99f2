"""CNI configurations of an advice run by the real plugins in L1, whose kernel has all they need:
IPVLAN, and bridges that filter VLANs."""

import json
import platform
import shutil
from typing import Any

import pytest
import yaml

from tests.advise.manifests import written
from tests.kube.cni import PLUGINS
from tests.not_run import not_run
from tests.rig.l1 import L1
from vnicaudit.model.scenario import AttachmentKind

pytestmark = pytest.mark.rig
PLACE = "/opt/cni"
# Two nodes with a cable between their NICs, bridges as nmstate makes them for the policy that is
# written with the network, a pod on each node, and what one pod hears of the other.
_TRY = """\
for name in n1 n2 p1 p2; do ip netns add $name; done
trap 'for name in n1 n2 p1 p2; do ip netns del $name; done' EXIT
ip link add up0 netns n1 type veth peer name up0 netns n2
for number in 1 2; do
  ip -n n$number link set up0 up
  if [ "$1" = bridge ]; then
    ip -n n$number link add br1 up type bridge vlan_filtering 1
    ip -n n$number link set up0 master br1
    bridge -n n$number vlan add dev up0 vid 2-4094
  fi
  printf %s "$2" | sed "s/@/$number/" | CNI_COMMAND=ADD CNI_CONTAINERID=p$number \\
    CNI_NETNS=/run/netns/p$number CNI_IFNAME=net1 CNI_PATH=$3 ip netns exec n$number $3/$1 >&2
  [ "$1" != bridge ] || ip -n p$number addr add 192.0.2.1$number/24 dev net1
done
ip netns exec p1 busybox ping -c1 -W20 192.0.2.12 >&2
bridge -n n1 -j vlan show
"""


@pytest.fixture(scope="module")
def l1_with_plugins(l1: L1, tmp_path_factory: pytest.TempPathFactory) -> L1:
    """L1, with this machine's plugins."""
    folder = tmp_path_factory.mktemp("plugins")
    for name in ("bridge", "ipvlan", "static"):
        if platform.machine() != "x86_64" or not (PLUGINS / name).is_file():
            not_run("nested", f"this machine has no {PLUGINS / name} of L1's kind")
        shutil.copy(PLUGINS / name, folder)
    l1.put(folder, PLACE)
    return l1


def tried(l1: L1, attachment: AttachmentKind) -> list[dict[str, Any]]:
    """VLANs of the first node, once the pods have heard of each other."""
    (file,) = (one for one in written(attachment).files if one.name == "orders-network.yaml")
    manifest: Any = yaml.safe_load(file.text.encode())
    config = json.loads(manifest["spec"]["config"])
    if "capabilities" in config:  # as Multus does
        config["runtimeConfig"] = {"ips": ["192.0.2.1@/24"]}
    ran = l1.run(["sh", "-euc", _TRY, "sh", config["type"], json.dumps(config), PLACE])
    vlans: list[dict[str, Any]] = json.loads(ran.output() or "[]")
    return vlans


def test_an_ipvlan_joins_pods_of_two_nodes(l1_with_plugins: L1) -> None:
    assert tried(l1_with_plugins, "ipvlan-l2") == []


def test_a_bridge_joins_guests_of_a_vlan(l1_with_plugins: L1) -> None:
    """Plugins that do not know preserveDefaultVlan yet leave them VLAN 1 as well, which the file
    says."""
    vlans = {one["ifname"]: one["vlans"] for one in tried(l1_with_plugins, "linux-bridge")}
    (port,) = (vlans[name] for name in vlans if name.startswith("veth"))
    assert {"vlan": 10, "flags": ["PVID", "Egress Untagged"]} in port
    assert {one["vlan"] for one in port} <= {1, 10}
