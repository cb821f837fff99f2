"""What a guest itself knows about its network devices."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.rig.agent import Ran


class Inside(ABC):
    """A guest in which programs can be run."""

    @abstractmethod
    def run(self, argv: Sequence[str], *, timeout: float = 60) -> Ran:
        """Run a program in the guest."""

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

    def _links(self, mac: str) -> list[dict[str, Any]]:
        links = json.loads(self.run(["ip", "-json", "address"]).output())
        return [link for link in links if link.get("address") == mac.lower()]
