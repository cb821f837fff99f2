"""Guests on this machine's libvirt: define, start, talk to, remove.

What boots is saved once it is up, and the next test that wants the same guest gets it restored: an
emulated guest takes ten seconds to boot and one to restore.
"""

import importlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.rig import dns
from tests.rig.agent import Agent, Ran
from tests.rig.domain_xml import Definition, Manners, Nic, Pieces
from tests.rig.errors import KernelPanicError, RigError
from tests.rig.hypervisor import Hypervisor, forget
from tests.rig.images import guest_image
from tests.rig.inside import Inside
from tests.rig.process import log, wait_for

BOOT_SECONDS = 300
UP, PANICKED = "rig guest is up", "end Kernel panic"
"""Words of a console: of the guest's first program, of a kernel that has stopped."""
AS_USUAL = Manners()
NOTHING_MORE = Pieces()


class Guest(Inside):
    """A defined domain. Use it in a `with` statement to have it removed at the end."""

    def __init__(
        self, hypervisor: Hypervisor, definition: Definition, xml: str | None = None
    ) -> None:
        self.definition = definition
        self.booted_in = 0.0
        """Seconds that its last boot took: what a guest is given to come back in depends on it."""
        self._libvirt: Any = importlib.import_module("libvirt")
        self._connection = hypervisor.connection
        self.domain: Any = self._connection.defineXML(xml or definition.xml())
        self.agent = Agent(self.domain)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def pid(self) -> int:
        """The QEMU process."""
        return int(Path(f"/run/libvirt/qemu/{self.name}.pid").read_text())

    @property
    def has_agent(self) -> bool:
        return self.definition.manners.agent and self.definition.pieces.channel

    def answers_dns(self) -> bool:
        """Whether the guest answers a question of DNS now."""
        return dns.answers(self.address)

    def wait_for_dns(self) -> None:
        """Wait until it does."""
        wait_for(self.answers_dns, f"{self.name} answers DNS")

    def dns_probe(self) -> dns.DnsProbe:
        """Asks all the time: `with guest.dns_probe() as probe: ...; probe.longest_gap`."""
        return dns.DnsProbe(self.address)

    def xml(self, *, secrets: bool = False) -> str:
        return str(self.domain.XMLDesc(self._libvirt.VIR_DOMAIN_XML_SECURE if secrets else 0))

    def attach(self, xml: str) -> None:
        self.domain.attachDeviceFlags(xml, self._libvirt.VIR_DOMAIN_AFFECT_LIVE)

    def detach(self, xml: str) -> None:
        self.domain.detachDeviceFlags(xml, self._libvirt.VIR_DOMAIN_AFFECT_LIVE)

    def ask_agent_to_shut_down(self) -> None:
        """Ask the guest's agent; libvirt waits a minute for one that does not do it."""
        self.domain.shutdownFlags(self._libvirt.VIR_DOMAIN_SHUTDOWN_GUEST_AGENT)

    def press_power_button(self) -> None:
        """On s390x this is a signal that the kernel understands by itself."""
        self.domain.shutdownFlags(self._libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)

    def start(self) -> None:
        """Start QEMU; the guest is not up yet."""
        try:
            self.domain.create()
        except self._libvirt.libvirtError as error:
            raise RigError(f"{self.name} does not start: {error}") from error

    def boot(self, *, seconds: float = BOOT_SECONDS, again: bool = True) -> None:
        """Start and wait until the guest is up; a guest that fails is removed. ``again``: one that
        hangs is started once more."""
        try:
            self._come_up(seconds, again=again)
        except RigError as error:
            console = self.console()[-2000:]
            self.remove()
            raise RigError(f"{error}; its console ends with:\n{console}") from error

    def _come_up(self, seconds: float, *, again: bool) -> None:
        """Start it until it is up; once more if its kernel panics or hangs: where two emulated CPUs
        run, one may still run code that the other has patched."""
        began = time.monotonic()
        self.start()
        try:
            self.wait_until_up(seconds=seconds)
        except RigError as error:
            if not (again or isinstance(error, KernelPanicError)):
                raise
            log(f"{self.name} is started once more: {error}\n{self.console()[-2000:]}")
            if self.domain.isActive():
                self.domain.destroy()
            began = time.monotonic()
            self.start()
            self.wait_until_up(seconds=seconds)
        self.booted_in = time.monotonic() - began

    def save(self, path: Path) -> "SavedGuest":
        """Write the running guest to a file and end it."""
        saved = SavedGuest(self.definition, self._inactive_xml(), path, self.booted_in)
        self.domain.save(str(path))
        return saved

    def restore(self, saved: "SavedGuest") -> None:
        """Go on from where the guest was saved."""
        self._connection.restore(str(saved.path))
        self.wait_until_up()
        self.booted_in = saved.booted_in

    def wait_until_up(self, *, seconds: float = BOOT_SECONDS) -> None:
        """Wait until the guest agent answers, or until the console says that there is none.

        Raises KernelPanicError if its kernel stops first.
        """
        wait_for(self._is_up, f"{self.name} is up", seconds=seconds)

    def wait_until_off(self) -> None:
        """Wait for the end of QEMU."""
        wait_for(lambda: not self.domain.isActive(), f"{self.name} is off")

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> Ran:
        """Run a program in the guest."""
        return self.agent.run(argv, timeout=timeout)

    def console(self) -> str:
        """All that it said there since it was last started."""
        console = self.definition.console
        if console is None or not console.exists():
            return "(no console)"
        return console.read_text(errors="replace")

    def remove(self) -> None:
        """Stop the guest and forget its definition."""
        forget(self.domain)

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def _is_up(self) -> bool:
        console = self.console()
        if PANICKED in console:
            raise KernelPanicError(f"{self.name}: its kernel has stopped")
        return self.agent.answers() if self.has_agent else UP in console

    def _inactive_xml(self) -> str:
        flags = self._libvirt.VIR_DOMAIN_XML_SECURE | self._libvirt.VIR_DOMAIN_XML_INACTIVE
        return str(self.domain.XMLDesc(flags))


@dataclass(frozen=True)
class SavedGuest:
    """A guest that was up, in a file: its definition as libvirt keeps it has its UUID.

    booted_in: seconds
    """

    definition: Definition
    xml: str
    path: Path
    booted_in: float


class GuestFactory:
    """Makes small guests of one architecture, numbered, for one session."""

    def __init__(self, hypervisor: Hypervisor, arch: str, machine: str) -> None:
        self._hypervisor = hypervisor
        self._arch = arch
        self._machine = machine
        self._image = guest_image(arch)
        self._numbers = count(1)
        self._saved: dict[Definition, SavedGuest] = {}
        """By what the guest is, without name and address."""

    def __call__(
        self,
        *nics: Nic,
        machine: str | None = None,
        vcpus: int = 1,
        boot: bool = True,
        manners: Manners = AS_USUAL,
        pieces: Pieces = NOTHING_MORE,
        python: bool = False,
        once: bool = False,
    ) -> Guest:
        """A guest with these NICs and an address: up, or only defined. ``python``: it has one.
        ``once``: no other test wants its like, so it is not saved."""
        definition = Definition(
            name="",
            bridge=self._hypervisor.bridge,
            nics=nics,
            arch=self._arch,
            machine=machine or self._machine,
            vcpus=vcpus,
            image=guest_image(self._arch, python=python) if python else self._image,
            gateway=self._hypervisor.gateway,
            manners=manners,
            pieces=pieces,
        )
        if not boot:
            return Guest(self._hypervisor, self._named(definition))
        saved = self._saved.get(definition)
        if saved is None or self._exists(saved.definition.name):
            return self._booted(definition, once=once)
        guest = Guest(self._hypervisor, saved.definition, saved.xml)
        guest.restore(saved)
        return guest

    def _booted(self, definition: Definition, *, once: bool) -> Guest:
        """A guest that was booted just now. The first of its kind is saved, and goes on from there
        as those will that come after it."""
        guest = Guest(self._hypervisor, self._named(definition))
        guest.boot()
        # whether one without an agent is up is known from its first words alone
        if guest.has_agent and not once and definition not in self._saved:
            self._saved[definition] = guest.save(self._hypervisor.folder / f"{guest.name}.saved")
            guest.restore(self._saved[definition])
        return guest

    def _named(self, definition: Definition) -> Definition:
        name = f"{self._hypervisor.prefix}{self._arch}-{next(self._numbers)}"
        return replace(
            definition,
            name=name,
            address=next(self._hypervisor.addresses),
            console=self._hypervisor.folder / f"{name}.log",
        )

    def _exists(self, name: str) -> bool:
        """Whether the guest that was saved is still there: two of one kind may run at once."""
        return any(one.name() == name for one in self._hypervisor.connection.listAllDomains())
