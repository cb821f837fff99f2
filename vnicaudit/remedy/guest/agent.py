"""The guest, as its own agent shows it: its interfaces, and programs that are run in it.

Answers from a guest are not trusted: their size is bounded, and their content checked.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat
from typing import NamedTuple

from msgspec.structs import replace

from vnicaudit.base.deadlines import Clock
from vnicaudit.base.wording import MAC
from vnicaudit.errors import GuestError, RefusedError
from vnicaudit.model.guest_network import FOR_EVER, GuestNeighbour, GuestNetwork
from vnicaudit.model.host import GuestExit, GuestInterface
from vnicaudit.remedy.guest.links import (
    Guest,
    address,
    address_lines,
    ask,
    asking_lines,
    excerpt,
    link_lines,
    mac,
    name,
    renaming_lines,
)
from vnicaudit.remedy.guest.routes import route_lines
from vnicaudit.remedy.hypervisor import Machine

_SECONDS = 10
_PING_SECONDS = 5
_PROGRAM_SECONDS = 30.0
_PAUSE = 0.02
_MANY = 4096
_NAME_MAX = 64


class GuestAgent:
    """Asks one guest. Raises GuestError if the agent does not answer as expected. ``clock`` is used
    to wait for programs in the guest."""

    def __init__(self, machine: Machine, clock: Clock) -> None:
        self._machine = machine
        self._clock = clock

    def answers(self) -> bool:
        """True if the guest's agent answers now."""
        try:
            self._machine.ask_agent("guest-ping", _PING_SECONDS)
        except GuestError:
            return False
        return True

    def interfaces(self) -> list[GuestInterface]:
        """The guest's network interfaces (``guest-network-get-interfaces``)."""
        answer = self._machine.ask_agent("guest-network-get-interfaces", _SECONDS)
        if not isinstance(answer, list):
            raise GuestError("the guest's agent did not list its interfaces")
        return [_interface(entry) for entry in answer[:_MANY] if isinstance(entry, dict)]

    def execute(
        self, argv: Sequence[str], stdin: bytes = b"", seconds: float = _PROGRAM_SECONDS,
        pauses: Iterable[float] | None = None,
    ) -> GuestExit:  # fmt: skip
        """Run a program in the guest to its end (``guest-exec``); its end is checked for after
        these pauses; None: short ones."""
        program, *words = argv
        arguments: dict[str, object] = {"path": program, "arg": words, "capture-output": True}
        if stdin:
            arguments["input-data"] = base64.b64encode(stdin).decode()
        end = self._clock.monotonic() + seconds
        pid = self._ask("guest-exec", **arguments).get("pid")
        waits = iter(pauses or repeat(_PAUSE))
        while not (status := self._ask("guest-exec-status", pid=pid)).get("exited"):
            if self._clock.monotonic() > end:
                raise GuestError(f"{program} did not end in the guest within {seconds:g} s")
            self._clock.sleep(next(waits))
        return _ran(status)

    def _ask(self, command: str, **arguments: object) -> dict[str, object]:
        answer = self._machine.ask_agent(command, _SECONDS, **arguments)
        if not isinstance(answer, dict):
            raise GuestError(f"the guest's agent did not answer {command} with an object")
        return answer


def by_mac(interfaces: Sequence[GuestInterface]) -> dict[str, GuestInterface]:
    """MAC -> interface, for MACs that only one interface has (a bond's members share theirs). The
    agent lists a labelled address, ``eth0:web``, as an interface of its own (getifaddrs of
    glibc)."""
    whole: dict[tuple[str, str], GuestInterface] = {}
    for one in interfaces:
        if one.mac:
            name = one.name.partition(":")[0]
            seen = whole.get((one.mac, name))
            addresses = one.addresses if seen is None else seen.addresses + one.addresses
            whole[one.mac, name] = GuestInterface(name, one.mac, tuple(dict.fromkeys(addresses)))
    macs = [mac for mac, _name in whole]
    return {mac: one for (mac, _name), one in whole.items() if macs.count(mac) == 1}


def _interface(entry: dict[str, object]) -> GuestInterface:
    mac = str(entry.get("hardware-address") or "").lower()
    return GuestInterface(
        str(entry.get("name") or "")[:_NAME_MAX],
        mac if MAC.fullmatch(mac) else None,
        tuple(_addresses(entry.get("ip-addresses"))),
    )


def _addresses(entries: object) -> Iterator[str]:
    for entry in entries[:_MANY] if isinstance(entries, list) else ():
        try:
            yield str(ipaddress.ip_interface(f"{entry['ip-address']}/{entry['prefix']}"))
        except (ValueError, KeyError, TypeError):
            continue


def _ran(status: dict[str, object]) -> GuestExit:
    if status.get("out-truncated") or status.get("err-truncated"):
        raise GuestError("the guest's agent sent an incomplete answer")
    code = status.get("exitcode")
    if not isinstance(code, int):  # a signal ended it
        code = 255
    return GuestExit(code, _data(status, "out-data"), _data(status, "err-data"))


def _data(status: dict[str, object], key: str) -> bytes:
    try:
        return base64.b64decode(str(status.get(key) or ""), validate=True)
    except (binascii.Error, ValueError):
        raise GuestError("the guest's agent sent invalid output") from None


# The permanent neighbours of a guest's interface, and the addresses it answers for (proxy).
#
# Fields are those of ``ip -j neigh`` of iproute2 5.10, 6.1 and 6.15 (ip/ipneigh.c, print_neigh): a
# flag that is set is present, with an empty value.


def read_neighbours(guest: Guest, device: str) -> list[GuestNeighbour]:
    """The neighbours of the interface that somebody set, without those that the kernel found.
    Raises RefusedError if the guest cannot report them."""
    show = ("ip", "-j", "neigh", "show")
    permanent = ask(guest, (*show, "dev", name(device), "nud", "permanent"), GuestNeighbour)
    # without a family, neigh show proxy lists IPv4 and IPv6
    proxied = ask(guest, (*show, "proxy", "dev", name(device)), GuestNeighbour)
    found = [one for one in permanent if "PERMANENT" in one.state]
    return found + [one for one in proxied if one.proxy is None]


def neighbour_lines(neighbours: Iterable[GuestNeighbour], device: str) -> list[str]:
    """The commands that add them. Raises RefusedError for one that cannot be restored."""
    return [" ".join(_words(one, device)) for one in neighbours]


def _words(one: GuestNeighbour, device: str) -> Iterator[str]:
    if one.proxy is None:
        yield f"neigh replace proxy {address(one.dst)} dev {device}"
    elif one.lladdr is None:
        raise RefusedError(f"the guest has a neighbour without an address: {excerpt(one.dst)}")
    else:
        yield f"neigh replace {address(one.dst)} lladdr {mac(one.lladdr)} dev {device}"
        yield "nud permanent"
    if one.router is None:
        yield "router"
    if one.protocol is not None:
        yield f"proto {name(one.protocol)}"


def missing_neighbours(
    wanted: Iterable[GuestNeighbour], now: Iterable[GuestNeighbour]
) -> list[str]:
    """The wanted neighbours that are missing now, in words."""
    there = {(one.dst, one.proxy, one.lladdr) for one in now}
    return [
        f"neighbour {one.dst}"
        for one in wanted if (one.dst, one.proxy, one.lladdr) not in there
    ]  # fmt: skip


# Everything that is restored on a guest's interface, as lines for one ``ip -batch``.


BATCH = ("ip", "-force", "-batch", "-")
"""``-force``: a line that fails (its route exists already) does not stop the others."""


class Device(NamedTuple):
    """The interface to restore the settings on: its name, the name it gets, its other names."""

    name: str
    wanted_name: str
    altnames: tuple[str, ...] = ()


def batch(network: GuestNetwork, device: Device) -> bytes:
    """The commands, in an order in which each finds what it depends on. All of them may be
    repeated. Raises RefusedError if a word cannot be written in a line."""
    wanted = name(device.wanted_name)
    lines = [
        *renaming_lines(name(device.name), wanted, device.altnames),
        *link_lines(network.link, wanted),
        *address_lines(network.addresses, wanted),
        *route_lines(network.routes, wanted),
        *neighbour_lines(network.neighbours, wanted),
        *asking_lines(network.addresses, wanted),
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def with_lifetimes_reduced(network: GuestNetwork, seconds: float) -> GuestNetwork:
    """The captured network settings ``seconds`` later: remaining lifetimes are shorter by that, and
    addresses and routes that have expired are left out."""
    passed = max(int(seconds), 0)

    def reduced(lifetime: int) -> int:
        return lifetime if lifetime >= FOR_EVER else max(lifetime - passed, 0)

    addresses = (
        replace(
            one,
            valid_life_time=reduced(one.valid_life_time),
            preferred_life_time=reduced(one.preferred_life_time),
        )
        for one in network.addresses
    )
    routes = (
        one if one.expires is None else replace(one, expires=max(one.expires - passed, 0))
        for one in network.routes
    )
    return replace(
        network,
        addresses=tuple(one for one in addresses if one.valid_life_time),
        routes=tuple(one for one in routes if one.expires != 0),
    )
