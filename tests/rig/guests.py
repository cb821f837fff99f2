"""Guests on this machine's libvirt: define, start, talk to, remove."""

import importlib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.rig.agent import Agent, Ran
from tests.rig.domain_xml import Definition, Nic
from tests.rig.errors import RigError
from tests.rig.hypervisor import Hypervisor
from tests.rig.images import guest_image

BOOT_SECONDS = 180


class Guest:
    """A defined domain. Use it in a `with` statement to have it removed at the end."""

    def __init__(self, hypervisor: Hypervisor, definition: Definition) -> None:
        self.definition = definition
        self._libvirt: Any = importlib.import_module("libvirt")
        self.domain: Any = hypervisor.connection.defineXML(definition.xml())
        self.agent = Agent(self.domain)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def pid(self) -> int:
        """The QEMU process."""
        return int(Path(f"/run/libvirt/qemu/{self.name}.pid").read_text())

    def xml(self) -> str:
        """What libvirt says about the domain now."""
        return str(self.domain.XMLDesc())

    def start(self) -> None:
        """Start QEMU; the guest is not up yet."""
        try:
            self.domain.create()
        except self._libvirt.libvirtError as error:
            raise RigError(f"{self.name} does not start: {error}") from error

    def boot(self) -> None:
        """Start and wait until the guest agent answers; a guest that fails is removed."""
        try:
            self.start()
            self.agent.wait(seconds=BOOT_SECONDS)
        except RigError as error:
            console = self._console_end()
            self.remove()
            raise RigError(f"{error}; its console ends with:\n{console}") from error

    def run(self, argv: Sequence[str], *, timeout: float = 60) -> Ran:
        """Run a program in the guest."""
        return self.agent.run(argv, timeout=timeout)

    def remove(self) -> None:
        """Stop the guest and forget its definition."""
        if self.domain.isActive():
            self.domain.destroy()
        self.domain.undefine()

    def __enter__(self) -> "Guest":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def _console_end(self) -> str:
        console = self.definition.console
        if console is None or not console.exists():
            return "(no console)"
        return console.read_text(errors="replace")[-2000:]


class GuestFactory:
    """Makes small guests of one architecture, numbered, for one session."""

    def __init__(self, hypervisor: Hypervisor, arch: str, machine: str) -> None:
        self._hypervisor = hypervisor
        self._arch = arch
        self._machine = machine
        self._image = guest_image(arch)
        self._numbers = count(1)

    def __call__(
        self, *nics: Nic, machine: str | None = None, vcpus: int = 1, boot: bool = True
    ) -> Guest:
        """A guest with these NICs: booted and answering, or only defined."""
        name = f"{self._hypervisor.prefix}{self._arch}-{next(self._numbers)}"
        definition = Definition(
            name=name,
            bridge=self._hypervisor.bridge,
            nics=nics,
            arch=self._arch,
            machine=machine or self._machine,
            vcpus=vcpus,
            image=self._image,
            console=self._hypervisor.folder / f"{name}.log",
        )
        guest = Guest(self._hypervisor, definition)
        if boot:
            guest.boot()
        return guest
