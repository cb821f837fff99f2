"""Why KubeVirt does not admit the interfaces of a virtual machine, as far as the manifest shows it.

Sources: ``pkg/network/admitter``, ``validateInterfaceBootOrder`` in ``pkg/virt-api/webhooks`` and
the types of ``staging/src/kubevirt.io/api/core/v1/schema.go`` (KubeVirt 1.9). What depends on a
setting of the cluster (feature gates, bridges on the pod network) is left out, and so is whatever a
template decides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address
from typing import NamedTuple

from vnicaudit.model.kubevirt import MODELS, REMOVED_BINDINGS
from vnicaudit.platforms.kubevirt.objects import boolean_at, integer_at, items_at, text_at
from vnicaudit.text.yaml_nodes import Mapping, Scalar, YamlPlace

BINDINGS = ("bridge", "masquerade", "sriov", "passtBinding", "binding")
_NETWORK_TYPES = ("pod", "multus", "resourceClaim")
_STATES = ("", "up", "down", "absent")
_RESERVED = "02:00:00:00:00:00"
"""``StaticMasqueradeBridgeMAC``."""
_NAME = r"[A-Za-z0-9_-]+"
_MAC = (
    r"[0-9A-Fa-f]{2}([:-])(?:[0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}"
    r"|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}|[0-9A-Fa-f]{12}"
)
"""Addresses of six bytes as Go's ``net.ParseMAC`` reads them (1.26, measured)."""
_PCI = r"[\da-fA-F]{4}:[\da-fA-F]{2}:[\da-fA-F]{2}\.[0-7]"
_PORT_NAME = r"(?=.{1,15}\Z)(?=.*[a-z])[a-z0-9]+(?:-[a-z0-9]+)*"
_PRIVATE_OPTIONS = range(224, 255)
_TEXTS = ("name", "model", "macAddress", "pciAddress", "state", "tag")
_CPU = ("cores", "sockets", "threads")
_SWITCHES = ("networkInterfaceMultiqueue", "useVirtioTransitional", "autoattachPodInterface")


class NotAdmitted(NamedTuple):
    """One reason; it completes "KubeVirt refuses it: …". ``field`` names what is wrong, ``place``
    is where."""

    field: str
    reason: str
    place: YamlPlace


def not_admitted(spec: YamlPlace, *, prefers: bool) -> dict[int, list[NotAdmitted]]:
    """The reasons for which an instance with this ``spec`` is refused, by the index of the
    interface that they concern; those of the whole are with the first one. ``prefers``: the virtual
    machine names a preference, which may add a binding to an interface on the pod network."""
    devices = spec.at("domain", "devices")
    if devices is None:
        return {}
    interfaces, networks = items_at(devices, "interfaces"), items_at(spec, "networks")
    named = {name: network for network in networks if (name := text_at(network, "name"))}
    found: dict[int, list[NotAdmitted]] = {}
    whole = [*_types(devices, _SWITCHES, "boolean"), *_counts(spec)]
    if (cpu := spec.at("domain", "cpu")) is not None:
        whole += _types(cpu, _CPU, "number")
    taken = _boot_orders(devices)
    names = Counter(text_at(item, "name") for item in interfaces if not devices.may_lack(item))
    networks_named = Counter(text_at(each, "name") for each in networks if not spec.may_lack(each))
    for index, item in enumerate(interfaces):
        name = text_at(item, "name")
        network = named.get(name or "")
        reasons = [*whole, *_of_interface(item), *_of_order(item, taken)]
        if name is not None and names[name] > 1 and not devices.may_lack(item):
            reasons.append(NotAdmitted("name", "another interface has the same name", item))
        if network is not None:
            reasons += [*_of_network(network, networks_named), *_of_both(item, network)]
        reasons += _of_bindings(item, network, prefers=prefers)
        if reasons:
            found[index] = reasons
        whole = []
    return {0: whole} if whole else found


def _of_interface(item: YamlPlace) -> Iterator[NotAdmitted]:
    """Reasons that hold for an interface on any network."""
    yield from _types(item, _TEXTS, "text")
    yield from _types(item, ("bootOrder",), "number")
    yield from _patterns(item)
    model, state = item.child("model"), item.child("state")
    by_libvirt = item.child("sriov") is None and item.child("binding") is None
    if model is not None and not by_libvirt and model.text and model.text not in MODELS:
        yield NotAdmitted("model", f"{model.text[:40]!r} is not a model that it knows", model)
    said = text_at(state)
    if state is None or said is None:
        return
    if said not in _STATES:
        yield NotAdmitted("state", f"{said[:40]!r} is not a state (up, down, absent)", state)
    if said in ("up", "down") and _has(item, "sriov"):
        yield NotAdmitted("state", f"the state {said!r} is not for SR-IOV", state)
    if said == "absent" and item.child("bridge") is None and item.complete:
        yield NotAdmitted("state", "the state 'absent' is for the bridge binding only", state)


def _patterns(item: YamlPlace) -> Iterator[NotAdmitted]:
    for key, pattern, words in (
        ("name", _NAME, "the name has characters other than letters, digits, '-' and '_'"),
        ("macAddress", _MAC, "the MAC address is malformed"),
        ("pciAddress", _PCI, "the PCI address is malformed: like 0000:03:00.0"),
    ):
        place = item.child(key)
        if place is not None and place.text and re.fullmatch(pattern, place.text) is None:
            yield NotAdmitted(key, words, place)


def _of_bindings(
    item: YamlPlace, network: YamlPlace | None, *, prefers: bool
) -> Iterator[NotAdmitted]:
    given = [key for key in BINDINGS if _has(item, key)]
    if len(given) > 1:
        reason = f"it has {' and '.join(given)}, and may have one binding only"
        yield NotAdmitted("binding", reason, item)
    for key in given:
        place = item.child(key)
        if place is not None and not isinstance(place.node, Mapping):
            yield NotAdmitted("binding", f"{key} takes a mapping, such as {{}}", place)
    if not item.complete or any(item.child(key) for key in (*BINDINGS, *REMOVED_BINDINGS)):
        return
    if not prefers or (network is not None and network.child("pod") is None):
        reason = "it has no binding, such as masquerade or bridge (before 1.9 it never starts)"
        yield NotAdmitted("binding", reason, item)


def _of_both(item: YamlPlace, network: YamlPlace) -> Iterator[NotAdmitted]:
    """Reasons that hold for an interface on this network."""
    on_pod = network.child("pod") is not None
    for key in ("masquerade", "passtBinding"):
        place = item.child(key)
        if place is not None and place.certain and not on_pod and network.complete:
            yield NotAdmitted("binding", f"{key} is for the pod network only", place)
    mac, state = item.child("macAddress"), item.child("state")
    if mac is not None and mac.text == _RESERVED and _has(item, "masquerade"):
        yield NotAdmitted("mac", "the MAC address is that of the bridge in the pod", mac)
    by_default = _has(network, "pod") or _is_default(network)
    if state is not None and state.text == "absent" and by_default:
        yield NotAdmitted("state", "the state 'absent' is not for the default network", state)
    if _has(network, "pod"):
        yield from _of_ports(item)
    options = item.child("dhcpOptions")
    if options is not None:
        yield from _of_dhcp(options)


def _of_ports(item: YamlPlace) -> Iterator[NotAdmitted]:
    names = Counter(text_at(port, "name") for port in items_at(item, "ports"))
    for port in items_at(item, "ports"):
        count, name = integer_at(port, "port"), text_at(port, "name")
        if port.child("port") is None and port.complete:
            yield NotAdmitted("ports", "a port has no number", port)
        elif count is not None and not 0 < count < 65536:
            yield NotAdmitted("ports", f"{count} is not a valid port", port)
        if name and (names[name] > 1 or re.fullmatch(_PORT_NAME, name) is None):
            reason = f"the port's name {name[:40]!r} is invalid or not unique"
            yield NotAdmitted("ports", reason, port)
        if text_at(port, "protocol") not in (None, "", "TCP", "UDP"):
            yield NotAdmitted("ports", "a port's protocol is neither TCP nor UDP", port)


def _of_dhcp(options: YamlPlace) -> Iterator[NotAdmitted]:
    private = [place.child("option") for place in items_at(options, "privateOptions")]
    numbers = [place.integer for place in private if place is not None]
    if any(number is not None and number not in _PRIVATE_OPTIONS for number in numbers):
        yield NotAdmitted("dhcpOptions", "a private DHCP option is not 224 to 254", options)
    if any(number is not None and numbers.count(number) > 1 for number in numbers):
        yield NotAdmitted("dhcpOptions", "a private DHCP option appears twice", options)
    for server in items_at(options, "ntpServers"):
        if server.text is not None and not _is_ipv4(server.text):
            yield NotAdmitted("dhcpOptions", "an NTP server is not an IPv4 address", server)


def _of_network(network: YamlPlace, named: Counter[str | None]) -> Iterator[NotAdmitted]:
    kinds = [key for key in _NETWORK_TYPES if _has(network, key)]
    if len(kinds) > 1:
        yield NotAdmitted("network", f"its network is both {' and '.join(kinds)}", network)
    elif network.complete and not any(network.child(key) for key in _NETWORK_TYPES):
        reason = "its network is of no type: pod, multus or resourceClaim"
        yield NotAdmitted("network", reason, network)
    multus = network.child("multus")
    if multus is not None:
        yield from _types(multus, ("networkName",), "text")
        yield from _types(multus, ("default",), "boolean")
    attachment = None if multus is None else multus.child("networkName")
    unnamed = multus is not None and multus.complete and attachment is None
    if unnamed or (attachment is not None and attachment.text == ""):
        yield NotAdmitted("network", "its network has no multus.networkName", network)
    if named[text_at(network, "name")] > 1:
        yield NotAdmitted("network", "two networks have its name", network)


def _counts(spec: YamlPlace) -> Iterator[NotAdmitted]:
    """Reasons that hold for all networks together."""
    certain = [each for each in items_at(spec, "networks") if not spec.may_lack(each)]
    pods = [each for each in certain if _has(each, "pod")]
    defaults = [each for each in certain if _is_default(each)]
    if len(pods) > 1:
        yield NotAdmitted("network", "two networks are the pod network", pods[1])
    if len(defaults) > 1:
        yield NotAdmitted("network", "two networks are Multus' default", defaults[1])
    if pods and defaults:
        reason = "there is a pod network beside Multus' default network"
        yield NotAdmitted("network", reason, defaults[0])


def _boot_orders(devices: YamlPlace) -> Counter[int]:
    lists = (items_at(devices, key) for key in ("disks", "interfaces"))
    orders = (item.child("bootOrder") for items in lists for item in items
              if not devices.may_lack(item))  # fmt: skip
    return Counter(
        order.integer for order in orders if order is not None and order.integer is not None
    )


def _of_order(item: YamlPlace, taken: Counter[int]) -> Iterator[NotAdmitted]:
    place = item.child("bootOrder")
    order = integer_at(place)
    if place is None or order is None:
        return
    if order < 1:
        yield NotAdmitted("bootOrder", "the boot order is less than 1", place)
    elif taken[order] > 1:
        yield NotAdmitted("bootOrder", "another device has the same boot order", place)


def _types(holder: YamlPlace, keys: tuple[str, ...], wanted: str) -> Iterator[NotAdmitted]:
    """The values that are not of their field's type: Kubernetes does not decode the manifest. ``y``
    and ``n`` are booleans to kubectl, but not to every program that writes manifests."""
    for key in keys:
        place = holder.child(key)
        if place is None or (isinstance(place.node, Scalar) and place.text is None):
            continue
        kind = "list or mapping"
        if isinstance(place.node, Scalar):
            is_number = place.node.plain and re.fullmatch(r"[-+]?\d+", place.node.text)
            number = "number" if is_number else "text"
            letter = wanted != "boolean" and len(place.node.text) == 1
            kind = number if letter or place.boolean is None else "boolean"
        if kind != wanted:
            words = {"boolean": "true or false", "number": "a number", "text": "a text"}[wanted]
            yield NotAdmitted(key, f"{key} is a {kind}, and takes {words}", place)


def _has(holder: YamlPlace, key: str) -> bool:
    """True if a key is certain to have a value."""
    place = holder.child(key)
    return place is not None and place.certain


def _is_default(network: YamlPlace) -> bool:
    return boolean_at(network, "multus", "default") is True


def _is_ipv4(text: str) -> bool:
    try:
        IPv4Address(text)
    except AddressValueError:
        return False
    return True
