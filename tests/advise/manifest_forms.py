"""Forms of what an API server takes whatever it is: ``config`` of NetworkAttachmentDefinitions, and
``desiredState`` of nodes. What is written has them.

Sources: NetConf of the plugins bridge, host-device, ipvlan, macvlan and static
(containernetworking/plugins at 3d27709f); multus-cni at 95a09323, examples/macvlan-pod.yml (``ips``
of the annotation go to plugins with that capability); types.NetConf of ovn-kubernetes at 6c366bb4;
kubernetes-nmstate at c9752755, docs/examples.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from vnicaudit.advise.network_facts import DEVICE, NAME, WORD
from vnicaudit.model.decoding import converted, json_as

_Name = Annotated[str, Meta(pattern=rf"^{NAME}\Z")]
_Device = Annotated[str, Meta(pattern=rf"^{DEVICE}\Z")]
_Word = Annotated[str, Meta(pattern=rf"^{WORD}\Z")]
_Vlan = Annotated[int, Meta(ge=1, le=4094)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An object in which nothing else may be."""


class _StaticIpam(_Part, frozen=True):
    type: Literal["static"]


class _Capabilities(_Part, frozen=True):
    ips: Literal[True]


class _Cni(_Part, tag_field="type", kw_only=True, frozen=True):
    cni_version: Literal["0.3.1"]
    name: _Name


class _WithAddresses(_Cni, kw_only=True, frozen=True):
    capabilities: _Capabilities
    ipam: _StaticIpam


class _Ipvlan(_WithAddresses, tag="ipvlan", kw_only=True, frozen=True):
    master: _Device
    mode: Literal["l2"]


class _Macvlan(_WithAddresses, tag="macvlan", kw_only=True, frozen=True):
    master: _Device
    mode: Literal["bridge"]


class _HostDevice(_WithAddresses, tag="host-device", kw_only=True, frozen=True):
    device: _Device


class _PortOfBridge(_Cni, tag="bridge", kw_only=True, frozen=True):
    bridge: _Device
    vlan: _Vlan | None = None
    preserve_default_vlan: Literal[False]


class _Localnet(_Cni, tag="ovn-k8s-cni-overlay", kw_only=True, frozen=True):
    topology: Literal["localnet"]
    physical_network_name: _Word
    vlan_id: _Vlan | None = msgspec.field(default=None, name="vlanID")
    net_attach_def_name: Annotated[str, Meta(pattern=rf"^{NAME}/{NAME}\Z")]
    mtu: Annotated[int, Meta(ge=576, le=65536)] | None = None
    subnets: str | None = None
    allow_persistent_ips: Literal[True] | None = msgspec.field(
        default=None, name="allowPersistentIPs"
    )


class _NodesNic(_Part, frozen=True):
    name: _Device


class _SwitchedOff(_Part, frozen=True):
    enabled: Literal[False]


class _BridgeOptions(_Part, frozen=True):
    stp: _SwitchedOff


class _BridgeBody(_Part, frozen=True):
    options: _BridgeOptions
    port: tuple[_NodesNic, ...]


class _NodesBridge(_Part, frozen=True):
    name: _Device
    type: Literal["linux-bridge"]
    state: Literal["up"]
    ipv4: _SwitchedOff
    bridge: _BridgeBody


class _BridgeMapping(_Part, frozen=True):
    localnet: _Word
    bridge: _Device
    state: Literal["present"]


class _Ovn(_Part, rename="kebab", frozen=True):
    bridge_mappings: tuple[_BridgeMapping, ...]


class _DesiredState(_Part, frozen=True):
    interfaces: tuple[_NodesBridge, ...] = ()
    ovn: _Ovn | None = None


def check_config(text: str) -> None:
    """Raises msgspec.DecodeError for what is no configuration of a plugin."""
    json_as(text, _Ipvlan | _Macvlan | _HostDevice | _PortOfBridge | _Localnet)


def check_state(state: object) -> None:
    """Raises msgspec.ValidationError for what is no desired state."""
    converted(state, _DesiredState)


def check_manifest(document: Any) -> None:
    """Raises msgspec.DecodeError for a manifest with something in it that has not its form."""
    if document.get("kind") == "NetworkAttachmentDefinition":
        check_config(document["spec"]["config"])
    elif document.get("kind") == "NodeNetworkConfigurationPolicy":
        check_state(document["spec"]["desiredState"])
