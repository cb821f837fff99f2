"""What guests on this machine and guests in L1 have in common."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from tests.rig.agent import Ran
from tests.rig.domain_xml import Definition, Nic
from tests.rig.errors import RigError
from tests.rig.process import wait_for

# One program in the guest instead of three: in guests of L1 each takes seconds.
_PUT_ADDRESS_BACK = """
for device in /sys/class/net/*; do
    read -r mac <"$device/address"
    if [ "$mac" = "$1" ]; then
        ip address add "$2" dev "${device##*/}"
        exec ip link set "${device##*/}" up
    fi
done
exit 1
"""


class Inside(ABC):
    """A running guest: its definition, its devices, and what it knows of them itself."""

    definition: Definition

    @abstractmethod
    def run(self, argv: Sequence[str], *, timeout: float = 60) -> Ran:
        """Run a program in the guest."""

    @abstractmethod
    def xml(self) -> str:
        """What libvirt says about the domain now."""

    @abstractmethod
    def attach(self, xml: str) -> None:
        """Add a device to the running guest; its definition stays as it is."""

    @abstractmethod
    def detach(self, xml: str) -> None:
        """Ask the running guest for a device; its definition stays as it is."""

    @property
    def address(self) -> str:
        """Where the guest can be reached; it answers DNS there."""
        if self.definition.address is None:
            raise RigError(f"{self.definition.name} was given no address")
        return str(self.definition.address.ip)

    def device(self, mac: str) -> str | None:
        """Name of the network device with this MAC address: eth0; None if there is none."""
        return next((link["ifname"] for link in self._links(mac)), None)

    def driver(self, mac: str) -> str | None:
        """Name of the driver that serves that device: virtio_net, 8139cp, e1000."""
        name = self.device(mac)
        if name is None:
            return None
        link = self.run(["readlink", f"/sys/class/net/{name}/device/driver"]).output()
        return Path(link.strip()).name

    def addresses(self, mac: str) -> list[str]:
        """The IP addresses of that device, with prefix lengths, without its link-local ones."""
        return [
            f"{address['local']}/{address['prefixlen']}"
            for link in self._links(mac)
            for address in link["addr_info"]
            if address["scope"] != "link"
        ]

    def swap(self, new: Nic) -> None:
        """Replace the only NIC, as an operator would by hand; its address is gone then.

        The new one has a MAC, which may be the old one's.
        """
        assert new.mac is not None
        old, *others = self._interfaces()
        assert not others
        self.detach(ElementTree.tostring(old, encoding="unicode"))
        name = self.definition.name
        wait_for(lambda: not self._interfaces(), f"{name} has lost its NIC")
        self.attach(new.xml(self.definition.bridge))
        mac = new.mac
        wait_for(lambda: self.device(mac), f"{name} has its new NIC")

    def put_address_back(self, mac: str) -> None:
        """Give the guest's address to the NIC that has this MAC now."""
        address = str(self.definition.address)
        self.run(["sh", "-c", _PUT_ADDRESS_BACK, "sh", mac.lower(), address]).output()

    def _interfaces(self) -> list[ElementTree.Element]:
        return ElementTree.fromstring(self.xml()).findall("devices/interface")

    def _links(self, mac: str) -> list[dict[str, Any]]:
        links = json.loads(self.run(["ip", "-json", "address"]).output())
        return [link for link in links if link.get("address") == mac.lower()]
