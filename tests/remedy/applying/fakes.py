"""A host that answers at once and a clock that only moves when somebody waits.

What a real libvirtd and real guests do is shown in ``tests/rig``; here each call that changes
something can be the last one, in every order, within seconds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.errors import ActionError, GoneError, GuestError, NoResponseError
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.guest_network import GuestLink, GuestNetwork
from vnicaudit.model.host import HostLock, MachineState, PowerPhase, Traffic
from vnicaudit.model.plan import MODES, DomainUnit, Mode, ModeOption, Step
from vnicaudit.platforms.domain_xml.write import rewritten
from vnicaudit.remedy.applying.apply import RunContext, apply
from vnicaudit.remedy.applying.history import runs
from vnicaudit.remedy.applying.journal import journal_file
from vnicaudit.remedy.applying.journal.events import Event, RunLimits, name_of
from vnicaudit.remedy.applying.journal.state import StateFolder
from vnicaudit.remedy.applying.rollback import RollbackSelection, rollback
from vnicaudit.remedy.applying.runner import RunResult
from vnicaudit.remedy.applying.unit_queue import Schedule
from vnicaudit.remedy.hypervisor import CloudAccess, Trials
from vnicaudit.remedy.replacing import digest, step_digest, unified_diff

TARGET = "qemu:///system"
CHANGE = Change("model", "e1000", "virtio", safe=True)
UNPLUG_SECONDS = 0.3
SHUTDOWN_SECONDS = 2.0
BOOT_SECONDS = 5.0
BIND_SECONDS = 0.4


class Killed(BaseException):
    """The program was ended here."""


def reaching(there: Any) -> Any:
    """How a host or a cloud is reached that is a fake."""
    return lambda _name, **_deadline: there


class Clock:
    """Stands for :mod:`time`."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def monotonic(self) -> float:
        """Seconds."""
        return self.seconds

    time = monotonic

    def sleep(self, seconds: float) -> None:
        """Let time pass, in larger steps than who waits for a real guest."""
        self.seconds += max(seconds, 0.1)

    def now(self) -> str:
        """As the journal writes it."""
        return datetime.fromtimestamp(self.seconds, timezone.utc).isoformat()


def definition(name: str, number: int, *, nics: int = 1) -> bytes:
    """The persistent definition of one of the guests, as it is at first."""
    interfaces = "".join(
        f"""\
    <interface type='bridge'>
      <mac address='{mac_of(number, nic)}'/>
      <source bridge='br0'/>
      <model type='e1000'/>
      <address type='pci' domain='0x0000' bus='0x00' slot='0x{2 + nic:02x}' function='0x0'/>
    </interface>
"""
        for nic in range(1, nics + 1)
    )
    return f"""\
<domain type='kvm'>
  <name>{name}</name>
  <uuid>{uuid_of(number)}</uuid>
  <memory unit='KiB'>262144</memory>
  <vcpu placement='static'>1</vcpu>
  <os>
    <type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type>
  </os>
  <on_poweroff>destroy</on_poweroff>
  <devices>
{interfaces}    <graphics type='vnc' passwd='s3cret'/>
  </devices>
</domain>
""".encode()


def mac_of(number: int, nic: int = 1) -> str:
    """The MAC of a NIC."""
    return f"52:54:00:00:{number:02x}:{nic:02x}"


def uuid_of(number: int) -> str:
    """The UUID of a guest."""
    return f"00000000-0000-4000-8000-{number:012d}"


class Machine:
    """A domain, and the guest in it. ``deaf``: it does not shut down; ``driverless``: it has no
    virtio driver; ``stubborn``: it gives no NIC up; ``keeps``: not the one with that MAC;
    ``crashes_with``: it goes off a second after it was started with such a NIC; ``left``: it is
    not there any more, ``leaves_at``: … from that call on; ``defines_at``: when a definition comes
    that was on its way, and which."""

    def __init__(self, world: World, number: int, *, nics: int = 1) -> None:
        self.name = f"guest-{number}"
        self.uuid = uuid_of(number)
        self.macs = tuple(mac_of(number, nic) for nic in range(1, nics + 1))
        self.persistent = definition(self.name, number, nics=nics)
        self.running: bytes | None = None
        self.deaf = self.driverless = self.stubborn = False
        self.refuses: dict[str, str] = {}
        self.makes_of_it: Callable[[bytes], bytes] = lambda text: text
        self.managed_save = False
        self.keeps = self.crashes_with = self.leaves_at = ""
        self.left = False
        self.defines_at: tuple[float, bytes] | None = None
        self.at_define_late: Callable[[], None] = lambda: None
        self.world = world
        self._off_at: float | None = None
        self._gone_at: dict[str, float] = {}
        self._bound_at: dict[str, float] = {}
        self._set_up: set[str] = set()

    def boot(self, seconds: float = 0.0) -> None:
        """It runs, and will have its NICs set up after some seconds."""
        self.running = self.persistent
        self._bound_at = dict.fromkeys(self.macs, self.world.clock.seconds + seconds)
        models = self._models(self.persistent)
        self._set_up = {mac for mac in self.macs if self._drives(models[mac])}

    @property
    def active(self) -> bool:
        """Whether it runs now."""
        self._catch_up()
        return self.running is not None

    @property
    def at_work(self) -> dict[str, str]:
        """What it runs: MAC -> model, of the NICs that its guest has set up."""
        self._catch_up()
        models = self._models(self.running or b"")
        return {mac: model for mac, model in models.items() if mac in self._set_up}

    def must_be_here(self) -> None:
        """Raises GoneError where it is not."""
        if self.left:
            raise GoneError(f"cannot find domain {self.uuid}: Domain not found")

    def state(self) -> MachineState:
        self.must_be_here()
        self._catch_up()
        phase: PowerPhase = "off" if self.running is None else "running"
        return MachineState(
            phase, persistent=True, managed_save=self.managed_save, memory_snapshots=0, job=False,
            migrating=False,
        )  # fmt: skip

    def definition(self, *, secrets: bool) -> bytes:
        self.must_be_here()
        if self.defines_at is not None and self.world.clock.seconds >= self.defines_at[0]:
            self.persistent, self.defines_at = self.defines_at[1], None
            self.at_define_late()
        return self.persistent if secrets else self.persistent.replace(b" passwd='s3cret'", b"")

    def live(self) -> bytes:
        self.must_be_here()
        self._catch_up()
        return self.persistent if self.running is None else self.running

    def define(self, text: bytes) -> None:
        with self._call("define"):
            self.persistent = self.makes_of_it(text)

    def shut_down(self, *, agent: bool) -> None:
        del agent
        with self._call("shut_down"):
            if self.running is None:
                raise ActionError("cannot shut down: domain is not running")
            if not self.deaf and self._off_at is None:
                self._off_at = self.world.clock.seconds + SHUTDOWN_SECONDS

    def power_off(self) -> None:
        with self._call("power_off"):
            self.running = None

    def start(self) -> None:
        with self._call("start"):
            self._catch_up()
            if self.running is not None:
                raise ActionError("cannot start the domain: it is running")
            self._off_at = None
            self._gone_at = {}
            self.boot(BOOT_SECONDS)
            if self.crashes_with in self._models(self.persistent).values():
                self._off_at = self.world.clock.seconds + 1.0

    def detach(self, element: bytes) -> None:
        with self._call("detach"):
            self._catch_up()
            mac = self._mac(element)
            if mac in self._gone_at:
                raise ActionError("Device net0 is already in the process of unplug")
            if element not in (self.running or b""):
                raise ActionError("cannot detach: device not found")
            if not (self.stubborn or mac == self.keeps):
                self._gone_at[mac] = self.world.clock.seconds + UNPLUG_SECONDS

    def attach(self, element: bytes) -> None:
        with self._call("attach"):
            self._catch_up()
            if self.running is None:
                raise ActionError("cannot attach: domain is not running")
            mac = self._mac(element)
            if mac in self._models(self.running):
                raise AssertionError("two NICs with one MAC")
            devices = b"  <devices>\n"
            self.running = self.running.replace(devices, devices + element + b"\n")
            self._bound_at[mac] = self.world.clock.seconds + BIND_SECONDS

    def traffic(self, device: str) -> Traffic | None:
        del device
        return None

    def ask_agent(self, command: str, seconds: int, **arguments: object) -> Any:
        del seconds, arguments
        self._catch_up()
        if self.running is None:
            raise GuestError("domain is not running")
        if command == "guest-ping":
            return {}
        return [
            {"name": "eth0", "hardware-address": mac, "ip-addresses": self._addresses(mac)}
            for mac in self._bound()
        ]

    def capture(self, mac: str) -> GuestNetwork:
        """Stands for what would be read by ``ip``."""
        if mac not in self._set_up:
            raise GuestError("nothing is set up")
        return GuestNetwork(mac, "eth0", GuestLink(up=True, mtu=1500))

    def restore(self, mac: str, network: GuestNetwork) -> None:
        """Stands for what would be set by ``ip``."""
        del network
        if mac not in self._bound():
            raise GuestError(f"no interface of the guest has the MAC address {mac}")
        self._set_up.add(mac)

    def missing(self, mac: str, network: GuestNetwork) -> tuple[str, ...]:
        """Stands for a look by ``ip``."""
        del network
        return () if mac in self._set_up else (f"the interface with the MAC address {mac}",)

    def _catch_up(self) -> None:
        """What the guest has done meanwhile."""
        now = self.world.clock.seconds
        if self._off_at is not None and now >= self._off_at:
            self.running = None
            self._off_at = None
        for mac in [mac for mac, at in self._gone_at.items() if now >= at]:
            del self._gone_at[mac]
            self._set_up.discard(mac)
            self._bound_at.pop(mac, None)
            if self.running is not None:
                self.running = re.sub(
                    rb"<interface (?:(?!<interface ).)*?" + mac.encode() + rb".*?</interface>\s*",
                    b"", self.running, flags=re.DOTALL,
                )  # fmt: skip

    def _bound(self) -> list[str]:
        now, models = self.world.clock.seconds, self._models(self.running or b"")
        return [
            mac for mac, at in self._bound_at.items()
            if mac in models and now >= at and self._drives(models[mac])
        ]  # fmt: skip

    def _drives(self, model: str) -> bool:
        return not (self.driverless and model == "virtio")

    def _addresses(self, mac: str) -> list[dict[str, object]]:
        return [{"ip-address": "192.0.2.1", "prefix": 24}] if mac in self._set_up else []

    def _models(self, text: bytes) -> dict[str, str]:
        found = re.findall(rb"<mac address='(.*?)'.*?<model type='(.*?)'", text, re.DOTALL)
        return {mac.decode(): model.decode() for mac, model in found}

    def _mac(self, element: bytes) -> str:
        (mac,) = re.findall(rb"<mac address='(.*?)'", element)
        return str(mac.decode())

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        self.world.calls.append((self.name, name))
        self.world.passing(f"before {name}")
        self.left = self.left or name == self.leaves_at
        self.must_be_here()
        if name == self.world.silent_at:
            raise NoResponseError(f"libvirt did not answer when asked to {name}")
        if name in self.refuses:
            raise ActionError(self.refuses[name])
        yield
        self.world.passing(f"behind {name}")


def settings_of(machine: object, _clock: object) -> Machine:
    """What the guest has set on its interfaces is known to the fake itself."""
    assert isinstance(machine, Machine)
    return machine


def with_codes(done: RunResult) -> RunResult:
    """How a run went. None of our own drivers refuses anything without a code for it."""
    for unit in done.run.steps:
        assert unit.outcome != "refused" or unit.codes, unit
        assert "other" not in unit.codes, unit
    return done


class Stage:
    """A folder for runs, a clock, and the program, which may be ended anywhere."""

    deadline = 30.0
    reach = CloudAccess()
    platforms = every_platform()

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.adapters = adapters()._replace(clock=self.clock)
        self.folder = folder
        self.passed: list[str] = []
        self.kill_at: int | None = None
        self.kill_when = ("", 1)
        self.interrupt_at = ""
        self.told: list[tuple[str, str]] = []

    @property
    def wiring(self) -> Wiring:
        """For the program: the world is all that it reaches."""
        return Wiring(adapters=lambda: self.adapters)

    def passing(self, place: str) -> None:
        """Ends the program where that was asked for."""
        self.passed.append(place)
        if self.kill_at is not None and len(self.passed) > self.kill_at:
            raise Killed(place)
        if (place, self.passed.count(place)) == self.kill_when:
            raise Killed(place)
        if place == self.interrupt_at:
            raise KeyboardInterrupt

    def context(self, mode: Mode = "next-boot", **given: Any) -> RunContext:
        """What is asked for."""
        limits = RunLimits(
            given.pop("guest_deadline", 60.0), given.pop("force_off", False),
            given.pop("manage_seconds", 180.0), given.pop("confirm_seconds", 60.0),
        )  # fmt: skip
        schedule = Schedule(**given)
        state = StateFolder(str(self.folder))
        return RunContext(
            mode,
            limits,
            schedule,
            self.deadline,
            state,
            self.platforms.unit_kinds(),
            self.adapters,
            self.reach,
        )

    def apply(
        self,
        steps: tuple[Step, ...],
        context: RunContext,
        text: bytes = b"plan",
        trials: Trials | None = None,
    ) -> RunResult:
        """Carry it out, or go on with it."""
        return with_codes(apply(steps, text, context, self._tell, trials))

    def rollback(
        self, context: RunContext, chosen: RollbackSelection | None = None, run: str | None = None
    ) -> tuple[RunResult, ...]:
        """Take a run back, the first one if none is named."""
        run = run or runs(str(self.folder))[-1].id
        done = rollback(run, chosen or RollbackSelection(), context, self._tell)
        return tuple(map(with_codes, done))

    def _tell(self, name: str, said: str) -> None:
        self.told.append((name, said))


class World(Stage):
    """A host, its guests, and the program that works on them."""

    uri = TARGET
    key = "host"
    name = "host.example"
    local = False

    def __init__(self, folder: Path, guests: int = 1, nics: int = 1) -> None:
        super().__init__(folder)
        self.machines = [Machine(self, number, nics=nics) for number in range(1, guests + 1)]
        self.calls: list[tuple[str, str]] = []
        self.silent_at = ""
        self.adapters = self.adapters._replace(connect=reaching(self), settings=settings_of)
        self.plan_again()

    def plan_again(self) -> None:
        """Steps for the guests as they are now."""
        self.steps = tuple(
            step_of(machine, nic)
            for machine in self.machines for nic in range(1, len(machine.macs) + 1)
        )  # fmt: skip
        self.before = [machine.persistent for machine in self.machines]

    def machine(self, uuid: str) -> Machine:
        """The guest with that UUID. Raises GoneError where it has left."""
        (found,) = (machine for machine in self.machines if machine.uuid == uuid)
        found.must_be_here()
        return found

    def leaves(self, number: int) -> None:
        """That guest is undefined, or goes to another host."""
        self.machines[number - 1].left = True

    def take_lock(self, lock: HostLock) -> HostLock:
        """Nobody else is there."""
        return lock

    def find_lock(self) -> HostLock | None:
        return None

    def drop_lock(self, owner: str) -> None:
        del owner

    def close(self) -> None:
        """Nothing is open."""


def step_of(machine: Machine, nic: int = 1) -> Step:
    """One NIC's step."""
    shown = machine.definition(secrets=False)
    about = Ref("nic", machine.name, machine.uuid, machine.macs[nic - 1], nic - 1)
    return Step(
        id=f"{machine.name}-{nic}",
        target=TARGET,
        about=about,
        owner="libvirt",
        to="virtio",
        rules=("VNIC001",),
        changes=(CHANGE,),
        readiness="ready",
        safe=True,
        reason="",
        running=machine.active,
        modes=tuple(ModeOption(mode, possible=True) for mode in MODES),
        digest=step_digest(digest(shown), about),
        diff=unified_diff(
            shown,
            rewritten(shown, f"/domain/devices/interface[{nic}]", (CHANGE,)),
            machine.name,
        ),
        unit=DomainUnit(),
    )


def installed(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """Have the product work on it."""
    watch(world, monkeypatch)
    return world


def watch(world: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each line and each file that is written be a place to be ended at."""
    monkeypatch.setattr(journal_file, "timestamp", world.clock.now)
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)  # no power is lost here
    _watch_lines(world, monkeypatch)
    _watch_files(world, monkeypatch)


def _watch_lines(world: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = journal_file.Journal.write

    def write(one: journal_file.Journal, event: Event, unit: str = "") -> journal_file.Entry:
        world.passing(f"before line {name_of(event)}")
        entry = real(one, event, unit)
        world.passing(f"behind line {name_of(event)}")
        return entry

    monkeypatch.setattr(journal_file.Journal, "write", write)


def _watch_files(world: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.replace

    def put(part: Path | str, path: Path | str) -> None:
        world.passing(f"before file {Path(path).name}")
        real(part, path)
        world.passing(f"behind file {Path(path).name}")

    monkeypatch.setattr(os, "replace", put)
