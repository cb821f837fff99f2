"""Network namespaces of this machine in the place of guests: real ``ip``, real kernel."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.not_run import not_run
from tests.rig.process import wait_for
from vnicaudit.model.host import GuestExit, GuestInterface

MAC = "52:54:00:12:34:57"
_PATIENCE = 120
_NO_DUPLICATES = ("net.ipv6.conf.all.accept_dad", "net.ipv6.conf.default.accept_dad")


class Namespace:
    """A guest: a network namespace whose interfaces are plugged into another one."""

    def __init__(self, name: str, outside: str) -> None:
        self._name = name
        self._outside = outside
        self.executed: list[tuple[str, ...]] = []

    def interfaces(self) -> list[GuestInterface]:
        """As a guest's agent would say."""
        return [
            GuestInterface(link["ifname"], link.get("address", "").upper() or None)
            for link in self.json("link", "show")
        ]

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        """Run a program in it."""
        self.executed.append(tuple(argv))
        command = ["nsenter", f"--net=/run/netns/{self._name}", *argv]
        done = subprocess.run(command, input=stdin, capture_output=True, check=False)
        return GuestExit(done.returncode, done.stdout, done.stderr)

    def ip(self, words: str) -> bytes:
        """What ``ip`` prints in it; it must succeed."""
        command = ["ip", "-n", self._name, *words.split()]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def json(self, *words: str) -> list[dict[str, Any]]:
        """What ``ip -j -d`` says in it."""
        answer: list[dict[str, Any]] = json.loads(self.ip(" ".join(("-j", "-d", *words))) or b"[]")
        return [one for one in answer if one]

    def plug(self, name: str, mac: str = MAC) -> None:
        """A new interface, down and without addresses; what it is plugged into is up."""
        peer = f"p{name}"
        _ip(
            f"link add name {name} netns {self._name} address {mac} "
            f"type veth peer name {peer} netns {self._outside}"
        )
        _ip(f"-n {self._outside} link set dev {peer} up")

    def exchange(self, name: str, new: str) -> None:
        """Take an interface away, and give another with the same address under another name."""
        (link,) = self.json("link", "show", "dev", name)
        self.ip(f"link del dev {name}")
        self.plug(new, link["address"])

    def settle(self) -> None:
        """Wait until the kernel has noticed that links are up, has made the IPv6 addresses it makes
        and taken new ones into use: all that by and by, even where it asks nobody for them."""
        wait_for(self._settled, "links are up, IPv6 addresses there and in use", seconds=_PATIENCE)

    def _settled(self) -> bool:
        infos = {one["ifname"]: one["addr_info"] for one in self.json("addr", "show")}
        for link in self.json("link", "show"):
            mine = infos[link["ifname"]]
            pair = link.get("linkinfo", {}).get("info_kind") == "veth"
            if pair and "UP" in link["flags"] and link.get("operstate") != "UP":
                return False
            makes = link.get("inet6_addr_gen_mode", "none") != "none" and "UP" in link["flags"]
            own = [one for one in mine if one["family"] == "inet6" and one["scope"] == "link"]
            if makes and not own and link["link_type"] == "ether":
                return False
            if any(one.get("tentative") for one in mine):
                return False
        return True

    def set(self, setting: str, value: int) -> None:
        """A setting of its kernel."""
        path = f"/proc/sys/{setting.replace('.', '/')}"
        command = ["nsenter", f"--net=/run/netns/{self._name}", "tee", path]
        subprocess.run(command, input=str(value).encode(), capture_output=True, check=True)

    def ask_for_duplicates(self, value: int) -> None:
        """Whether IPv6 addresses are asked for before they are used, which takes seconds."""
        for setting in _NO_DUPLICATES:
            self.set(setting, value)


@contextmanager
def namespace() -> Iterator[Namespace]:
    """A guest without interfaces. Not run where this machine does not let us."""
    name, outside = (f"vnicaudit-{os.getpid()}-{side}" for side in ("guest", "host"))
    _require()
    _ip(f"netns add {name}")
    try:
        _ip(f"netns add {outside}")
        guest = Namespace(name, outside)
        guest.ip("link set dev lo up")
        guest.ask_for_duplicates(0)
        yield guest
    finally:
        for one in (name, outside):
            subprocess.run(["ip", "netns", "del", one], capture_output=True, check=False)


def _require() -> None:
    if os.geteuid():
        not_run("tests/remedy", "network namespaces need root")
    for program in ("ip", "tc", "nsenter"):
        if shutil.which(program) is None:
            not_run("tests/remedy", f"{program} is not installed")
    probe = ["unshare", "--net", "ip", "link", "add", "name", "a", "type", "veth"]
    done = subprocess.run(probe, capture_output=True, check=False)
    if done.returncode:
        not_run("tests/remedy", f"no network namespace with veth: {done.stderr.decode().strip()}")


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], capture_output=True, check=True)
