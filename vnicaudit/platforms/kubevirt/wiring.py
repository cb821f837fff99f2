"""How KubeVirt connects an interface: its binding, its network, and the plugin behind that network.

The seven ways that J. Meng and M. Coquelin compare ("Beam Me Through the Datapath: VDUSE for
OpenShift Virtualization"), and all others.
"""

from __future__ import annotations

from typing import NamedTuple

from vnicaudit.platforms.kubevirt.objects import text_at
from vnicaudit.platforms.kubevirt.references import Referred
from vnicaudit.text.yaml_nodes import YamlPlace

METHODS = ("masquerade", "bridge", "sriov", "passtBinding", "slirp", "macvtap", "passt")
"""Keys of an interface, one of which says how it is bound; ``binding`` names a plugin."""

_TYPES = {
    "masquerade": "ethernet",
    "bridge": "ethernet",
    "l2bridge": "ethernet",
    "macvtap": "ethernet",
    "sriov": "hostdev",
    "passtBinding": "vhostuser",
    "passt": "vhostuser",
    "slirp": "user",
}
"""Binding -> libvirt's interface type, if KubeVirt decides it; other plugins do it themselves
(``pkg/virt-launcher/virtwrap/converter/network``)."""

_OVN = "ovn-k8s-cni-overlay"
_VDPA = ("vdpa", "vduse")


class NicWiring(NamedTuple):
    """``name`` as listed in docs/how-to/kubevirt.md; ``binding`` as in the manifest; ``type``
    libvirt's, None if a plugin decides it; ``network`` is ``pod`` or the attachment's name, after
    its namespace if that is known: a name without one is in the virtual machine's own."""

    name: str
    binding: str | None
    type: str | None
    network: str | None
    plugin: bool = False


def wiring_of(
    interface: YamlPlace, networks: YamlPlace | None, known: list[Referred], namespace: str | None
) -> NicWiring:
    """How one interface is connected."""
    binding, plugin = _binding(interface)
    network = _network(text_at(interface, "name"), networks)
    attached = text_at(network, "multus", "networkName")
    kind = "" if attached is None else _attachment(attached, known, namespace)
    on_pod = network is not None and network.child("pod") is not None
    name = _name(binding, plugin=plugin, on_pod=on_pod, kind=kind)
    if network is None and binding == "bridge":
        name = "bridge"  # to an unknown network
    libvirts = "vdpa" if name == "vhost-vdpa" else _TYPES.get(binding or "")
    qualified = attached and namespace and "/" not in attached
    where = f"{namespace}/{attached}" if qualified else attached
    return NicWiring(name, binding, libvirts, where or ("pod" if on_pod else None), plugin)


def _binding(interface: YamlPlace) -> tuple[str | None, bool]:
    """The binding's name, and whether it is a plugin."""
    plugin = interface.child("binding")
    if plugin is not None:
        return text_at(plugin, "name"), True
    return next((name for name in METHODS if interface.child(name) is not None), None), False


def _network(name: str | None, networks: YamlPlace | None) -> YamlPlace | None:
    if name is None or networks is None:
        return None
    return next((place for place in networks.items() if text_at(place, "name") == name), None)


def _attachment(attached: str, known: list[Referred], namespace: str | None) -> str:
    space, slash, name = attached.rpartition("/")
    where = space if slash else namespace
    return next((kind for each in known if (kind := each.network(where, name))), "")


def _name(binding: str | None, *, plugin: bool, on_pod: bool, kind: str) -> str:
    if binding is None:
        return "plugin" if plugin else "not said"
    if plugin:
        return _name_of_plugin(binding)
    if binding == "bridge":
        return "pod-bridge" if on_pod else _name_of_secondary(kind)
    return {"sriov": "sriov-vfio", "passtBinding": "passt"}.get(binding, binding)


def _name_of_plugin(binding: str) -> str:
    if any(word in binding.lower() for word in _VDPA):
        return "vhost-vdpa"
    return {"l2bridge": "udn", "passt": "passt"}.get(binding, f"plugin {binding}")


def _name_of_secondary(kind: str) -> str:
    if kind.partition("/")[0] == _OVN:
        return "udn" if kind.endswith("/primary") else "ovn-secondary"
    if "sriov" in kind:
        return "sriov-netdev"
    return f"secondary {kind}" if kind else "secondary"
