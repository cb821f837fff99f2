"""A guest with iproute2 and an agent, the domain it runs in, and the program that works on them,
which may be ended anywhere."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from tests.adapters import ADAPTERS
from vnicaudit.bench.trials import shadow_notes
from vnicaudit.bench.trials.shadow_notes import ShadowNote
from vnicaudit.errors import ActionError, GuestError, SilentError
from vnicaudit.model.host_lock import HostLock
from vnicaudit.model.machine import GuestExit, MachineState, Traffic
from vnicaudit.remedy.adapters import Adapters
from vnicaudit.remedy.guest.agent import GuestAgent

URI = "qemu:///system"
UUID = "00000000-0000-4000-8000-000000000001"
OLD, SHADOW = "52:54:00:00:00:01", "52:54:00:f0:00:01"
NETWORK, ROUTER = "192.0.2.0/24", "192.0.2.254"
TEMPORARY = "192.0.2.9"
BIND_SECONDS = 0.5
UNPLUG_SECONDS = 0.3

_NIC = """\
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='br0'/>
      <target dev='{tap}'/>
      <model type='{model}'/>
    </interface>
"""


class Killed(BaseException):
    """The program was ended here; nothing more can be done by it."""


def definition(model: str = "e1000") -> bytes:
    """A domain with one NIC."""
    nic = _NIC.format(mac=OLD, tap="vnet0", model=model)
    head = f"<domain type='kvm'><name>web</name><uuid>{UUID}</uuid><memory>1</memory><devices>\n"
    return f"{head}{nic}</devices></domain>".encode()


def note(**changed: Any) -> ShadowNote:
    """Of a shadow beside the guest's NIC."""
    made: dict[str, Any] = {
        "uri": URI, "uuid": UUID, "name": "web", "mac": SHADOW, "beside": OLD,
        "address": TEMPORARY, "table": 7710, "arp_filter": "0", "boot": "first",
    }  # fmt: skip
    return ShadowNote(**{**made, **changed})


class Clock:
    """Stands for :mod:`time`."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def monotonic(self) -> float:
        return self.seconds

    time = monotonic

    def sleep(self, seconds: float) -> None:
        self.seconds += max(seconds, 0.1)


class Guest:
    """The guest: what ``ip`` and /proc show of it. ``fails``: words -> what a program with these
    words says when it fails."""

    def __init__(self) -> None:
        self.names = {OLD: "eth0"}
        self.addresses = {"eth0": ["192.0.2.1/24"]}
        self.up = {"eth0"}
        self.boot = "first"
        self.rules = [("all", "local"), ("all", "main"), ("all", "default")]
        self.routes: list[dict[str, Any]] = [
            {"dst": "default", "gateway": ROUTER, "dev": "eth0"},
            {"dst": "198.51.100.0/24", "gateway": "192.0.2.253", "dev": "eth0"},
            {"dst": NETWORK, "dev": "eth0", "scope": "link"},
            {"type": "local", "dst": "192.0.2.1", "dev": "eth0", "table": "local"},
        ]
        self.settings = {"net/ipv4/conf/eth0/arp_filter": "0"}
        self.neighbours: list[dict[str, Any]] = []
        self.answering: set[str] = set()
        self.masters: dict[str, str] = {}
        self.fails: dict[tuple[str, ...], str] = {}

    def state(self) -> tuple[object, ...]:
        """All that must be as it was."""
        return (
            dict(self.names), {key: list(value) for key, value in self.addresses.items()},
            set(self.up), list(self.rules), [dict(one) for one in self.routes],
            dict(self.settings),
        )  # fmt: skip

    def plugged(self, mac: str, name: str = "eth1") -> None:
        """It has a new interface."""
        self.names[mac] = name
        self.addresses[name] = []
        for setting in ("arp_ignore", "arp_announce", "rp_filter", "arp_notify"):
            self.settings[f"net/ipv4/conf/{name}/{setting}"] = "0"
        self.settings[f"net/ipv6/conf/{name}/disable_ipv6"] = "0"

    def unplugged(self, mac: str) -> None:
        """It has it no longer, nor anything on it."""
        name = self.names.pop(mac, "")
        self.addresses.pop(name, None)
        self.up.discard(name)
        self.routes = [one for one in self.routes if one.get("dev") != name]
        self.settings = {key: one for key, one in self.settings.items() if f"/{name}/" not in key}

    def execute(self, argv: Sequence[str], stdin: bytes = b"") -> GuestExit:
        """Run a program."""
        failing = [said for words, said in self.fails.items() if set(words) <= set(argv)]
        if failing:
            return GuestExit(1, b"", failing[0].encode())
        match list(argv):
            case ["ip", "-j", *words]:
                return GuestExit(0, json.dumps(self._shown(words)).encode())
            case ["ip", "-batch", "-"]:
                for line in stdin.decode().splitlines():
                    self._ip(line.split())
                return GuestExit(0)
            case ["ip", *words]:
                return self._ip(words)
            case ["ping", *_, address]:
                return GuestExit(0 if address in self.answering else 1)
            case ["cat", path]:
                return GuestExit(0, f"{self._value(path)}\n".encode())
            case ["tee", path]:
                return self._set(path.removeprefix("/proc/sys/"), stdin.decode().strip())
        raise GuestError(f"Failed to execute child process {argv[0]}")

    def _value(self, path: str) -> str:
        if path.endswith("boot_id"):
            return self.boot
        return self.settings[path.removeprefix("/proc/sys/")]

    def _set(self, key: str, value: str) -> GuestExit:
        if key not in self.settings:
            return GuestExit(1, b"", b"No such file or directory")
        self.settings[key] = value
        return GuestExit(0)

    def _shown(self, words: list[str]) -> list[dict[str, Any]]:
        if "link" in words:
            return [
                {"ifname": name, "address": mac, "mtu": 1400, "link_type": "ether",
                 **({"master": self.masters[name]} if name in self.masters else {})}
                for mac, name in self.names.items()
            ]  # fmt: skip
        if "rule" in words:
            return [{"src": src, "table": table} for src, table in self.rules]
        if "neigh" in words:
            return [one for one in self.neighbours if one["dst"] == words[-1]]
        return self.routes

    def _ip(self, words: list[str]) -> GuestExit:
        match words:
            case ["address", "replace", address, "dev", name]:
                self.addresses[name] = [address]
            case ["address", "flush", "dev", name]:
                self.addresses[name] = []
            case ["link", "set", "dev", name, "mtu", "1400", "up"]:
                self.up.add(name)
            case ["link", "set", "dev", name, "down"]:
                self.up.discard(name)
                self.routes = [one for one in self.routes if one.get("dev") != name]
            case ["route", "replace", to, *rest]:
                said = dict(zip(["dst", *rest[::2]], [to, *rest[1::2]], strict=False))
                table, name = words[-1], rest[rest.index("dev") + 1]
                assert name in self.up, "Network is down"
                self.routes.append({"dst": said["dst"], "dev": name, "table": table})
            case ["rule", "add", "from", address, "table", table]:
                self.rules.insert(1, (address, table))
            case ["-4", "rule", "del", "from", address, "table", table]:
                self.rules.remove((address, table))
            case _:
                raise AssertionError(words)
        return GuestExit(0)

    def interfaces(self) -> list[Any]:
        """As the agent's protocol has them."""
        return [
            {"name": name, "hardware-address": mac, "ip-addresses": [
                {"ip-address": one.partition("/")[0], "prefix": int(one.partition("/")[2])}
                for one in self.addresses[name]
            ]}
            for mac, name in self.names.items()
        ]  # fmt: skip


class World:
    """A host with one domain. ``refuses``: call -> what libvirt says to it; ``stubborn``: the
    guest gives nothing up; ``silent_at``: the call at which libvirt stops answering."""

    uri = URI
    key = "host"
    name = "web"
    local = True
    deadline = 30.0
    uuid = UUID

    def __init__(self) -> None:
        self.clock = Clock()
        self.guest = Guest()
        self.persistent = definition()
        self.running: bytes | None = self.persistent
        self.refuses: dict[str, str] = {}
        self.silent_at = ""
        self.stubborn = self.driverless = self.deaf = self.gone = False
        self.told: list[str] = []
        self.counts: dict[str, Traffic | None] = {}
        self.kill_at: int | None = None
        self.passed: list[str] = []
        self._dead = False
        self._bound_at: float | None = None
        self._gone_at: float | None = None
        self._answers: list[GuestExit] = []

    @property
    def adapters(self) -> Adapters:
        """It is the only host."""
        return ADAPTERS._replace(connect=self.connect, clock=self.clock)

    @property
    def agent(self) -> GuestAgent:
        """The guest, as the product asks it."""
        return GuestAgent(self, self.clock)

    def connect(self, uri: str, *, deadline: float) -> World:
        assert (uri, deadline) == (URI, 30.0)
        return self

    def machine(self, uuid: str) -> World:
        assert uuid == UUID
        if self.gone:
            raise ActionError("Domain not found")
        return self

    def find(self, name: str) -> World:
        raise NotImplementedError

    def take_lock(self, lock: HostLock) -> HostLock:
        raise NotImplementedError

    def find_lock(self) -> HostLock | None:
        return None

    def drop_lock(self, owner: str) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""

    def tell(self, name: str, text: str) -> None:
        """What is said to the user."""
        assert name == "web"
        self.told.append(text)

    def born_again(self) -> None:
        """Another process takes over."""
        self._dead, self.kill_at = False, None

    def passing(self, place: str) -> None:
        """Ends the program where that was asked for, and does nothing for one that was ended."""
        if self._dead:
            raise Killed
        self.passed.append(place)
        if self.kill_at is not None and len(self.passed) > self.kill_at:
            self._dead = True
            raise Killed

    def state(self) -> MachineState:
        self._catch_up()
        return MachineState(
            "off" if self.running is None else "running", persistent=True, managed_save=False,
            memory_snapshots=0, job=False, migrating=False,
        )  # fmt: skip

    def live(self) -> bytes:
        self._catch_up()
        return self.persistent if self.running is None else self.running

    def attach(self, element: bytes) -> None:
        with self._call("attach"):
            (mac,) = re.findall(rb"<mac address='(.*?)'", element)
            assert mac.decode() == SHADOW
            assert self.running is not None
            self.running = self.running.replace(b"</devices>", element + b"</devices>")
            self._bound_at = self.clock.seconds + BIND_SECONDS

    def detach(self, element: bytes) -> None:
        with self._call("detach"):
            if self._gone_at is not None:
                raise ActionError("already in the process of unplug")
            assert element in (self.running or b"")
            if not self.stubborn:
                self._gone_at = self.clock.seconds + UNPLUG_SECONDS

    def definition(self, *, secrets: bool) -> bytes:
        raise NotImplementedError

    def define(self, text: bytes) -> None:
        raise NotImplementedError

    def shut_down(self, *, agent: bool) -> None:
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def addresses(self, source: str) -> dict[str, tuple[str, ...]]:
        raise NotImplementedError

    def vcpu_delays(self) -> tuple[int | None, ...]:
        raise NotImplementedError

    def traffic(self, device: str) -> Traffic | None:
        return self.counts[device]

    def ask_agent(self, command: str, seconds: int, **arguments: Any) -> Any:
        del seconds
        self._catch_up()
        if self.running is None or self.deaf:
            raise GuestError("the guest's agent does not answer")
        if command == "guest-network-get-interfaces":
            return self.guest.interfaces()
        if command == "guest-exec":
            argv = [arguments["path"], *arguments["arg"]]
            with self._call(" ".join(argv[:4])):
                stdin = base64.b64decode(arguments.get("input-data", ""))
                self._answers.append(self.guest.execute(argv, stdin))
            return {"pid": len(self._answers) - 1}
        ran = self._answers[arguments["pid"]]
        out, err = (base64.b64encode(one).decode() for one in (ran.stdout, ran.stderr))
        return {"exited": True, "exitcode": ran.code, "out-data": out, "err-data": err}

    def power_off(self) -> None:
        """It is off, and the guest forgets all."""
        self.running = None
        self.guest = Guest()
        self._bound_at = self._gone_at = None

    def reboot(self) -> None:
        """The guest is booted anew in the same QEMU."""
        names = self.guest.names
        self.guest = Guest()
        self.guest.boot = "second"
        if SHADOW in names:
            self.guest.plugged(SHADOW)

    def _catch_up(self) -> None:
        if self._bound_at is not None and self.clock.seconds >= self._bound_at:
            self._bound_at = None
            if not self.driverless:
                self.guest.plugged(SHADOW)
        if self._gone_at is not None and self.clock.seconds >= self._gone_at:
            self._gone_at = self._bound_at = None
            self.guest.unplugged(SHADOW)
            self.running = re.sub(
                rb"<interface (?:(?!<interface ).)*?" + SHADOW.encode() + rb".*?</interface>",
                b"", self.running or b"", flags=re.DOTALL,
            )  # fmt: skip

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        self.passing(f"before {name}")
        if name == self.silent_at:
            raise SilentError("libvirt did not answer")
        if name in self.refuses:
            raise ActionError(self.refuses[name])
        yield
        self.passing(f"behind {name}")


def installed(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Have the notes of the product end the program, too."""
    for name in ("write", "forget"):
        _watch(world, monkeypatch, name)
    return world


def _watch(world: World, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    real = getattr(shadow_notes.ShadowNotes, name)

    def watched(one: shadow_notes.ShadowNotes, what: ShadowNote) -> None:
        world.passing(f"before {name}")
        real(one, what)
        world.passing(f"behind {name}")

    monkeypatch.setattr(shadow_notes.ShadowNotes, name, watched)
