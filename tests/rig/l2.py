"""Guests of L1 that boot the small guest, with KVM."""

import json
from collections.abc import Sequence
from ipaddress import IPv4Interface, IPv4Network
from itertools import count
from pathlib import Path
from types import TracebackType

from tests.rig.agent import Ran
from tests.rig.domain_xml import SHARED_MEMORY, Definition, Nic, Pieces
from tests.rig.errors import RigError
from tests.rig.images import GuestImage
from tests.rig.inside import Inside
from tests.rig.l1 import BRIDGE, L1, RIG, RUN

# The network of br0 (files/l1-init.sh); L1 itself has the first address.
NETWORK = IPv4Network("10.199.0.0/24")
# Emulated, beside an OpenStack and other guests.
BOOT_SECONDS = 900
_IMAGE = GuestImage(Path("/srv/guest/image"), Path("/srv/guest/initrd"))
# What waits for a guest gets a quarter of the one CPU where the guest wants all of it.
_ASK = ("nice", "-n", "4", "env", "-C", RIG, "python3", "-m", "tests.rig.inside_l1")


class L2(Inside):
    """A defined domain of L1. Use it in a `with` statement to have it removed at the end."""

    def __init__(self, l1: L1, definition: Definition) -> None:
        self.l1 = l1
        self.definition = definition
        path = f"{RUN}/{self.name}.xml"
        l1.write(path, definition.xml())
        l1.virsh("define", path).output()

    @property
    def name(self) -> str:
        return self.definition.name

    def xml(self) -> str:
        return self.l1.virsh("dumpxml", self.name).output()

    def attach(self, xml: str) -> None:
        self._change("attach-device", xml)

    def detach(self, xml: str) -> None:
        self._change("detach-device", xml)

    def boot(self) -> None:
        """Start and wait until the guest agent answers; a guest that fails is removed."""
        try:
            self.l1.virsh("start", self.name).output()
            self.wait_until_up()
        except RigError as error:
            console = self.l1.run(["tail", "-c", "2000", str(self.definition.console)]).stdout
            self.remove()
            raise RigError(f"{error}; its console ends with:\n{console}") from error

    def wait_until_up(self) -> None:
        """Wait until the guest agent answers."""
        self._ask("wait", self.name, BOOT_SECONDS).output()

    def run(self, argv: Sequence[str], *, timeout: float = 600) -> Ran:
        ended = json.loads(self._ask("run", self.name, timeout, *argv).output())
        return Ran(tuple(ended["argv"]), ended["exit_code"], ended["stdout"], ended["stderr"])

    def answers_dns(self, *, seconds: float = 1) -> bool:
        """Whether the guest answers a question of DNS, asked from L1 again and again."""
        return bool(json.loads(self._ask("dns", self.address, seconds).output()))

    def remove(self) -> None:
        """Stop the guest and forget its definition."""
        self.l1.virsh("destroy", self.name)
        self.l1.virsh("undefine", self.name, "--managed-save", "--snapshots-metadata").output()

    def __enter__(self) -> "L2":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def _change(self, command: str, xml: str) -> None:
        path = f"{RUN}/{self.name}-device.xml"
        self.l1.write(path, xml)
        self.l1.virsh(command, self.name, path, "--live").output()

    def _ask(self, command: str, whom: str, seconds: float, *argv: str) -> Ran:
        words = [*_ASK, command, whom, str(seconds), *argv]
        return self.l1.run(words, timeout=seconds + 60)


class L2Factory:
    """Makes guests of L1, numbered: `with l2_guest(Nic("e1000")) as guest: ...`."""

    def __init__(self, l1: L1) -> None:
        self._l1 = l1
        self._numbers = count(2)

    def __call__(
        self, *nics: Nic, machine: str = "pc", shared_memory: bool = False, boot: bool = True
    ) -> L2:
        """A guest with these NICs and an address: up, or only defined."""
        number = next(self._numbers)
        name = f"l2-{number}"
        definition = Definition(
            name=name,
            bridge=BRIDGE,
            nics=nics,
            machine=machine,
            accelerator="kvm",
            image=_IMAGE,
            address=IPv4Interface((NETWORK[number], NETWORK.prefixlen)),
            pieces=Pieces(domain=SHARED_MEMORY if shared_memory else ""),
            console=Path(RUN, f"{name}.log"),
        )
        guest = L2(self._l1, definition)
        if boot:
            guest.boot()
        return guest
