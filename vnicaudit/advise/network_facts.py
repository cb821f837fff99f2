"""The facts about a flow's network that its files need, and the forms of the texts among them.

Names get into
configurations that programs read as root on every node: their forms are checked here, before
anything is made of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from ipaddress import ip_address, ip_interface, ip_network
from typing import cast

from vnicaudit.errors import UsageError
from vnicaudit.model.scenario import FlowNetwork, ScenarioPlatform, TrafficFlow

NAME = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
"""A label of DNS (RFC 1123), which the name of every kind of object may be."""
WORD = r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?"
"""The value of a label, and other names that are no objects'."""
DEVICE = r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,14}"
"""Less than Linux takes."""
_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "VirtualMachine")
VM = "VirtualMachine/"
_KEY = rf"([a-z0-9]([a-z0-9.-]{{0,251}}[a-z0-9])?/)?{WORD}"
_FORMS: Mapping[str, tuple[str, str]] = {
    "namespace": (NAME, "no name of a namespace: small letters, digits and -, at most 63"),
    "device": (DEVICE, "no name of a NIC"),
    "bridge": (DEVICE, "no name of a bridge"),
    "physical_network": (WORD, "no name of one: letters, digits, _, . and -, at most 63"),
    "resource": (
        r"[a-zA-Z0-9]([a-zA-Z0-9_-]{0,61}[a-zA-Z0-9])?",
        "no name of a resource: letters, digits, _ and -, at most 63",
    ),
    "workload": (
        rf"({'|'.join(_WORKLOADS)})/{NAME}",
        f"no KIND/NAME, where KIND is {', '.join(_WORKLOADS)}",
    ),
}
"""Field of a flow's network -> its form, and what a text is that has another one."""


class NetworkFacts:
    """The facts about a flow's network for one file. ``missing``: those that the file asked for,
    and that nobody said: it is not written then."""

    def __init__(self, flow: TrafficFlow, platform: ScenarioPlatform) -> None:
        self.name, self.flow, self.platform = flow.name, flow, platform
        self._missing: dict[str, None] = {}
        self._network = flow.network or FlowNetwork()

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of facts as in a scenario."""
        return tuple(self._missing)

    def text(self, field: str) -> str:
        """A text, empty if it is missing."""
        return cast("str", self._known(field) or "")

    def number(self, field: str) -> int:
        """A number, 0 if it is missing."""
        return cast("int", self._known(field) or 0)

    def addresses(self) -> list[str]:
        """Those of the pod's further interface."""
        return [*cast("tuple[str, ...]", self._known("addresses"))]

    def labels(self) -> Mapping[str, str]:
        """Those of the pods that it is placed by."""
        return cast("Mapping[str, str]", self._known("labels"))

    def or_else(self, field: str, text: str) -> str:
        """A text that has another one in its place."""
        return cast("str | None", getattr(self._network, field)) or text

    def machine(self) -> str:
        """Name of the virtual machine that is attached."""
        kind, _slash, name = (self._network.workload or "").partition("/")
        if f"{kind}/" != VM:
            self._missing[f"flow.network.workload ({VM}NAME)"] = None
        return name

    def steering(self) -> tuple[str, ...]:
        """The facts that RFS needs and that are missing."""
        self.text("device"), self.number("rx_queues")
        return self.missing + (() if self.flow.connections else ("flow.connections",))

    def _known(self, field: str) -> object:
        value: object = getattr(self._network, field)
        if value is None or value == () or value == {}:
            self._missing[f"flow.network.{field}"] = None
        return value

    @property
    def is_of_vm(self) -> bool:
        """True if an end of the flow is a virtual machine."""
        return "vm" in (self.flow.source, self.flow.to)


def check_network(flow: str, network: FlowNetwork) -> None:
    """Raises UsageError for a text that has not the form of what it stands for."""
    if not re.fullmatch(NAME, flow):
        raise UsageError(
            f"flow {json.dumps(flow)}: its objects are called after it: give it a name of small "
            "letters, digits and -, of at most 63 characters"
        )

    def refuse(field: str, text: object, what: str) -> None:
        raise UsageError(f"flow {flow}: network.{field} is {json.dumps(text)}, which is {what}")

    for field, (form, what) in _FORMS.items():
        text = getattr(network, field)
        if text is not None and not re.fullmatch(form, text):
            refuse(field, text, what)
    seen: set[str] = set()
    for address in network.addresses:
        ip = ip_of(address) if _is(ip_interface, address) else ""
        if not ip or ip in seen:
            what = "no address with its prefix, such as 192.0.2.10/24, or there twice"
            refuse("addresses", address, what)
        seen.add(ip)
    if network.subnet is not None and not _is(ip_network, network.subnet):
        refuse("subnet", network.subnet, "no network, such as 10.200.0.0/16")
    for key, value in network.labels.items():
        if not re.fullmatch(_KEY, key) or not re.fullmatch(f"({WORD})?", value):
            refuse("labels", {key: value}, "no label of pods")


def _is(form: Callable[[str], object], text: str) -> bool:
    """True for an address, or a network, with a prefix and no zone (``%``)."""
    try:
        form(text)
    except ValueError:
        return False
    return "/" in text and "%" not in text


def ip_of(address: str) -> str:
    """An address without its prefix, as everybody writes it."""
    return str(ip_address(address.partition("/")[0]))
