"""Forms of what an API server takes whatever it is: ``config`` of NetworkAttachmentDefinitions, and
``desiredState`` of nodes. Both are checked before they are written.

Names get into configurations that programs read as root on every node.

Sources: NetConf of the plugins bridge, host-device, ipvlan, macvlan and static
(containernetworking/plugins at 3d27709f); multus-cni at 95a09323, examples/macvlan-pod.yml (``ips``
of the annotation go to plugins with that capability); types.NetConf of ovn-kubernetes at 6c366bb4;
kubernetes-nmstate at c9752755, docs/examples.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from vnicaudit.model.decoding import converted

NAME = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
"""A label of DNS (RFC 1123), which the name of every kind of object may be."""
DEVICE = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}"
"""Less than Linux takes."""

_Name = Annotated[str, Meta(pattern=rf"^{NAME}\Z")]
_Device = Annotated[str, Meta(pattern=rf"^{DEVICE}\Z")]
_Vlan = Annotated[int, Meta(ge=1, le=4094)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object in which nothing else may be."""


class _Cni(_Part, tag_field="type", kw_only=True, frozen=True):
    cni_version: Literal["0.3.1"]
    name: _Name


class StaticIpam(_Part, frozen=True):
    """Addresses that are said by the pod."""

    type: Literal["static"]


class IpsCapability(_Part, frozen=True):
    """A plugin is told the addresses that a pod asks for."""

    ips: Literal[True]


class _WithAddresses(_Cni, kw_only=True, frozen=True):
    capabilities: IpsCapability
    ipam: StaticIpam


class IpvlanConfig(_WithAddresses, tag="ipvlan", kw_only=True, frozen=True):
    """An IPVLAN on a NIC of the node."""

    master: _Device
    mode: Literal["l2"]


class MacvlanConfig(_WithAddresses, tag="macvlan", kw_only=True, frozen=True):
    """A macvlan on a NIC of the node."""

    master: _Device
    mode: Literal["bridge"]


class HostDeviceConfig(_WithAddresses, tag="host-device", kw_only=True, frozen=True):
    """A NIC of the node, which moves into the pod."""

    device: _Device


class BridgeConfig(_Cni, tag="bridge", kw_only=True, frozen=True):
    """A port of a node's bridge. What is behind it has its own addresses."""

    bridge: _Device
    vlan: _Vlan | None = None
    preserve_default_vlan: Literal[False]


class LocalnetConfig(_Cni, tag="ovn-k8s-cni-overlay", kw_only=True, frozen=True):
    """A physical network that OVN-Kubernetes reaches by a node's bridge."""

    topology: Literal["localnet"]
    physical_network_name: _Name
    vlan_id: _Vlan | None = msgspec.field(default=None, name="vlanID")
    net_attach_def_name: Annotated[str, Meta(pattern=rf"^{NAME}/{NAME}\Z")]


CniConfig = IpvlanConfig | MacvlanConfig | HostDeviceConfig | BridgeConfig | LocalnetConfig


class BridgePort(_Part, frozen=True):
    """A NIC in a bridge."""

    name: _Device


class SwitchedOff(_Part, frozen=True):
    """Something that is off."""

    enabled: Literal[False]


class BridgeOptions(_Part, frozen=True):
    """Those of a bridge."""

    stp: SwitchedOff


class BridgeBody(_Part, frozen=True):
    """Options and ports of a bridge."""

    options: BridgeOptions
    port: tuple[BridgePort, ...]


class BridgeInterface(_Part, frozen=True):
    """A bridge of the kernel's."""

    name: _Device
    type: Literal["linux-bridge"]
    state: Literal["up"]
    ipv4: SwitchedOff
    bridge: BridgeBody


class BridgeMapping(_Part, frozen=True):
    """The bridge by which OVN reaches a physical network."""

    localnet: _Name
    bridge: _Device
    state: Literal["present"]


class OvnState(_Part, rename="kebab", frozen=True):
    """Settings of OVN."""

    bridge_mappings: tuple[BridgeMapping, ...]


class DesiredState(_Part, omit_defaults=True, frozen=True):
    """The ``desiredState`` of a policy."""

    interfaces: tuple[BridgeInterface, ...] = ()
    ovn: OvnState | None = None


def cni_text(config: object) -> str:
    """The JSON of a configuration. Raises msgspec.ValidationError if it is none."""
    converted(config, CniConfig)
    return msgspec.json.format(msgspec.json.encode(config), indent=2).decode()


def check_state(state: object) -> None:
    """Raises msgspec.ValidationError for what is no desired state."""
    converted(state, DesiredState)
