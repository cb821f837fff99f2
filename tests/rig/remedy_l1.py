"""plan, apply, rollback and runs inside L1, where vhost-net and vDPA are real, and what its kernel
says of the guests they were given for."""

import json
import re
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Any

from tests.rig.agent import Ran
from tests.rig.domain_xml import Definition, Nic, Pieces
from tests.rig.images import GuestImage
from tests.rig.l1 import BRIDGE, L1, RUN, VhostFacts
from tests.rig.l2 import L2, NETWORK
from tests.rig.process import PATIENCE
from tests.rig.product import run_in_l1
from tests.rig.remedy import SYSTEM

VNET_HDR = 0x4000
"""``IFF_VNET_HDR`` (linux/if_tun.h): each packet on the tap begins with a virtio header."""
SECRET = "s3cr3t"
"""A password that every guest's definition holds."""
NO_ROM = "<rom enabled='no'/>"
_DRIVERS = """
for device in /sys/class/net/*/device; do
    driver=$(readlink "$device/driver")
    echo "$(cat "${device%/device}/address") ${driver##*/}"
done
"""
_IMAGE = GuestImage(Path("/srv/guest/image"), Path("/srv/guest/initrd"))
_FIRST_ADDRESS = 100  # those of l2.py begin at 2
_PATIENCE = 1500
_DEADLINE = ("VNICAUDIT_DEADLINE=300",)
"""For one answer of a libvirt whose machine is emulated, by one that is busy."""
_GUEST = ("VNICAUDIT_GUEST_DEADLINE=1200",)
"""For a guest there that boots beside an OpenStack: nine minutes were seen."""


class RemedyInL1:
    """The commands, given inside L1, with a folder for plans and a state folder of their own.

    The product was put there before (product.py).
    """

    def __init__(self, l1: L1, name: str) -> None:
        self.l1 = l1
        self._folder = f"/run/remedy/{name}"
        self.state = f"{self._folder}/state"
        l1.run(["mkdir", "-p", self._folder]).output()

    def plan(self, name: str, *options: str) -> "PlanInL1":
        """A plan for all of L1, in a file of that name."""
        path = f"{self._folder}/{name}.json"
        said = self._do("plan", SYSTEM, "-o", path, *_DEADLINE, *options).output()
        text = self.l1.run(["cat", path]).output()
        return PlanInL1(path, text, said)

    def apply(self, plan: "PlanInL1", *options: str) -> Ran:
        """How ``apply PLAN --yes`` ended."""
        words = ("--yes", "--state", self.state, *_DEADLINE)
        return self._do("apply", plan.path, *words, *_GUEST, *options)

    def rollback(self, run: str) -> Ran:
        """How ``rollback RUN --yes`` ended."""
        words = ("--yes", "--state", self.state, *_DEADLINE)
        return self._do("rollback", run, *words, *_GUEST)

    def last(self) -> dict[str, Any]:
        """The newest run's only domain, and the run's id in it as ``run``."""
        said = self._do("runs", "--format", "json", "--state", self.state).output()
        run = json.loads(said)["runs"][0]
        (unit,) = run["steps"]
        return {**unit, "run": run["id"]}

    def files(self) -> dict[str, str]:
        """What is in the state folder: path -> type and permissions, as ``ls -l`` shows them."""
        listed = self.l1.run(["find", self.state, "-printf", "%M %P\n"]).output()
        return {path: mode for mode, _, path in (line.partition(" ") for line in listed.split("\n"))
                if mode}  # fmt: skip

    def with_word(self, word: str) -> list[str]:
        """The files below the folder, plans and state, in which a word occurs."""
        found = self.l1.run(["grep", "-rlF", word, self._folder])
        return [line.removeprefix(f"{self._folder}/") for line in found.stdout.splitlines()]

    def _do(self, *words: str) -> Ran:
        return run_in_l1(self.l1, *words, timeout=_PATIENCE)


@dataclass(frozen=True)
class PlanInL1:
    """A plan: where it is in L1, its text, and what was shown of it."""

    path: str
    text: str
    said: str

    @property
    def step(self) -> dict[str, Any]:
        """Its only step."""
        (step,) = json.loads(self.text)["steps"]
        found: dict[str, Any] = step
        return found


class GuestsInL1:
    """Makes guests of L1 that have an address and a password to lose."""

    def __init__(self, l1: L1) -> None:
        self._l1 = l1
        self._made = 0

    def __call__(self, name: str, *nics: Nic, machine: str = "pc", memory: str = "") -> L2:
        """A guest that is defined, and off. ``memory``: a <memoryBacking>."""
        place = _FIRST_ADDRESS + self._made
        self._made += 1
        definition = Definition(
            name=f"remedy-{name}",
            bridge=BRIDGE,
            nics=nics,
            machine=machine,
            accelerator="kvm",
            image=_IMAGE,
            address=IPv4Interface((NETWORK[place], NETWORK.prefixlen)),
            pieces=Pieces(domain=memory, devices=f"<graphics type='vnc' passwd='{SECRET}'/>"),
            console=Path(RUN, f"remedy-{name}.log"),
        )
        return L2(self._l1, definition)


def to_vdpa(device: str) -> tuple[str, ...]:
    """The options of ``plan`` for NICs that are to have that vDPA device."""
    return ("--to", "vdpa", "--vdpa-device", device)


def definition(guest: L2) -> str:
    """The persistent definition, passwords included."""
    words = ("dumpxml", guest.name, "--inactive", "--security-info")
    return guest.l1.virsh(*words).output()


def interface(text: str, mac: str) -> str:
    """The <interface> with that MAC in a definition, as it stands there."""
    found = re.findall(r"<interface .*?</interface>", text, re.DOTALL)
    (mine,) = (one for one in found if mac in one)
    return str(mine)


@dataclass(frozen=True)
class Seen:
    """A guest that runs: what is written of it, and what L1's kernel and the guest itself say.

    ``headers``: MAC -> whether packets on its tap begin with a virtio header; of NICs with one.
    ``drivers``: MAC -> driver in the guest. ``dns``: it answers; ``pinged``: by the second NIC.
    """

    definition: str
    vhost: VhostFacts
    headers: dict[str, bool]
    drivers: dict[str, str]
    dns: bool
    pinged: bool


def look(guest: L2, first: str, second: str, tap: str) -> Seen:
    """Look at a guest with two NICs; the second is on a tap that stands alone."""
    running = guest.xml()
    taps = {mac: _tap(interface(running, mac)) for mac in (first, second)}
    return Seen(
        definition=definition(guest),
        vhost=guest.l1.vhost_facts(guest.name),
        headers={mac: has_headers(guest.l1, found) for mac, found in taps.items() if found},
        drivers=drivers(guest),
        dns=guest.answers_dns(seconds=PATIENCE),
        pinged=_pinged(guest.l1, second, tap),
    )


def drivers(guest: L2) -> dict[str, str]:
    """MAC -> name of the driver, of the guest's NICs; asked in one go, for each takes seconds."""
    said = guest.run(["sh", "-c", _DRIVERS]).output()
    return dict(line.split() for line in said.splitlines())


def has_headers(l1: L1, tap: str) -> bool:
    """Whether packets on a tap begin with a virtio header now."""
    flags = l1.run(["cat", f"/sys/class/net/{tap}/tun_flags"]).output()
    return bool(int(flags, 16) & VNET_HDR)


def link_local(mac: str) -> str:
    """The address that Linux gives a NIC by itself (RFC 4291, appendix A)."""
    first, *rest = bytes.fromhex(mac.replace(":", ""))
    whole = bytes([first ^ 2, *rest[:2], 0xFF, 0xFE, *rest[2:]]).hex()
    return "fe80::" + ":".join(whole[place : place + 4] for place in range(0, 16, 4))


def _tap(element: str) -> str | None:
    found = re.search(r"<target dev='([^']+)'", element)
    return found[1] if found else None


def _pinged(l1: L1, mac: str, tap: str) -> bool:
    """Whether the guest answers by that NIC, which may have no carrier at first."""
    ping = ["busybox", "ping", "-6", "-c", "1", "-w", str(PATIENCE), f"{link_local(mac)}%{tap}"]
    return l1.run(ping).exit_code == 0
