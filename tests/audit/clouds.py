"""A cloud without its API: servers as the reader of ``vnicaudit/platforms/openstack`` gives them,
and the platforms that read it; and libvirt hosts beside it."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from tests.cli.wired import platforms_with
from vnicaudit.audit.accepting.suppression import Suppression
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.run import AuditRun
from vnicaudit.audit.work import Assumptions, AuditWork, NicsWork, Work
from vnicaudit.cli.wiring import Wiring
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform
from vnicaudit.knowledge.systems import KVM_OR_QEMU
from vnicaudit.model.domain import Domain, DomainConfig, Server
from vnicaudit.model.finding import LIBVIRT, OPENSTACK, Finding, Location
from vnicaudit.model.fleet import CloudItem, LiveDomain, LiveOptions
from vnicaudit.model.host import Host, HostConfig
from vnicaudit.model.nic import Nic, NicConfig
from vnicaudit.model.openstack import (
    CloudServer,
    Flavor,
    Image,
    PortBinding,
    PropertiesSource,
    Property,
    ServerConfig,
)
from vnicaudit.model.report import Audited, ReadError

TARGET = "openstack:prod"
UUID = "6e1f1c2e-6a0f-4d53-a1f2-0d8f3f0a4a{:02x}"
MAC = "fa:16:3e:00:00:{:02x}"
PLACE = Location(TARGET)
PLAIN_PORT = PortBinding("normal", "ovs", "system", hybrid=False)


def image(name: str = "jammy", **properties: str) -> Image:
    """An image as Glance has it."""
    return Image(
        TARGET,
        name,
        Location(TARGET, None, None, f"images/{name}"),
        tuple(Property(key, value, PLACE) for key, value in properties.items()),
        complete=True,
        disk_format="qcow2",
        id=f"image-{name}",
        servers=1,
    )


def flavor(name: str = "m1.small", vcpus: int = 1, **specs: str) -> Flavor:
    """A flavor; of its extra specs ``hw_`` stands for ``hw:``."""
    return Flavor(
        TARGET,
        name,
        Location(TARGET, None, None, f"flavors/{name}"),
        tuple(Property(key.replace("hw_", "hw:", 1), value, PLACE) for key, value in specs.items()),
        complete=True,
        vcpus=vcpus,
        id=name,
        servers=1,
    )


def config(kept_by: PropertiesSource = "api", **kept: str) -> ServerConfig:
    """What Nova keeps of a server."""
    properties = tuple(sorted(kept.items()))
    return ServerConfig("ACTIVE", properties, kept_by, image(), "there", flavor())


def port(model: str | None = "virtio", **more: Any) -> NicConfig:
    """A port on a tap, as it will be wired."""
    facts = {"type": "ethernet", "actual_type": "ethernet", "model": model} | more
    return NicConfig(**facts)


def server(
    number: int = 1,
    *ports: NicConfig,
    kept: ServerConfig | None = None,
    host: str | None = "cmp1",
    name: str | None = None,
) -> Server:
    """A server with these ports (one with virtio by default)."""
    ports = ports or (port(),)
    uuid = UUID.format(number)
    place = Location(TARGET, None, None, f"servers/{uuid}")
    kept = replace(
        kept or config(hw_vif_model=ports[0].model or ""), bindings=(PLAIN_PORT,) * len(ports)
    )
    declared = DomainConfig(
        type=KVM_OR_QEMU,
        vcpus=1 if kept.flavor is None else kept.flavor.vcpus,
        owner="nova",
        described_by=kept,
        platform=OPENSTACK,
        readiness="ready",
        nics=len(ports),
    )
    nics = tuple(
        Nic(
            index,
            declared_port,
            replace(place, xpath=f"{place.xpath}/ports/port-{number}-{index}"),
            MAC.format(number * 16 + index),
            f"port-{number}-{index}",
        )
        for index, declared_port in enumerate(ports)
    )
    known = CloudServer(
        uuid, name or f"web-{number}", "project-1", host, f"instance-{number:08x}", target=TARGET
    )
    return Server(known.name, declared, place, nics, uuid=uuid, cloud=known)


class FakeCloud:
    """The clouds there are, and who asked: at first one, ``prod``, in which nothing is. ``hosts``:
    what each libvirt host has."""

    def __init__(self) -> None:
        fields = {"cloud": self._opened, "check": lambda: None}
        local = {"read": self._read_host, "check": lambda: None}
        self.platforms = platforms_with({OPENSTACK: fields, LIBVIRT: local})
        self.wiring = Wiring(platforms=lambda: self.platforms)
        self.clear()

    def clear(self) -> FakeCloud:
        """As it was made."""
        self.clouds: dict[str, Sequence[CloudItem]] = {"prod": ()}
        self.hosts: dict[str, list[Domain | ReadError]] = {}
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.failure: Exception | None = None
        self.asked: list[tuple[str, float]] = []
        return self

    def _opened(self, target: str, live: LiveOptions) -> FakeReading:
        """As the reader does; ``failure`` comes after the items."""
        cloud = target.removeprefix("openstack:")
        self.asked.append((cloud, live.deadline))
        return FakeReading(self, self.clouds[cloud])

    def _read_host(
        self, uri: str, _options: LiveOptions
    ) -> Iterator[Host | LiveDomain | ReadError]:
        yield Host("cmp1", HostConfig(arch="x86_64"))
        for item in self.hosts[uri]:
            yield item if isinstance(item, ReadError) else LiveDomain(item, HostConfig())

    def work(self, *rules: str) -> AuditWork:
        """Judging what is read here by these rules."""
        return audit_work(*rules, platforms=self.platforms)

    def resolved(self, *names: str) -> list[Domain]:
        """Every domain of these targets, in the order in which they come."""
        run = run_of(NicsWork(Assumptions(), self.platforms))
        return [item for item in run.items(names) if isinstance(item, Domain)]


class FakeReading:
    """``notes`` and ``calls`` are there when ``items`` have ended, and not before."""

    def __init__(self, cloud: FakeCloud, items: Iterable[CloudItem]) -> None:
        self._cloud = cloud
        self.notes: tuple[str, ...] = ()
        self.calls: dict[str, int] = {}
        self.items = self._items(items)

    def _items(self, items: Iterable[CloudItem]) -> Iterator[CloudItem]:
        yield from items
        if self._cloud.failure is not None:
            raise self._cloud.failure
        self.notes, self.calls = self._cloud.notes, self._cloud.calls


def audit_work(
    *rules: str, suppress: tuple[Suppression, ...] = (), platforms: PlatformRegistry | None = None
) -> AuditWork:
    """Judging by these rules; ``platforms``: None: those of the program."""
    suppressor = Suppressor(suppress, datetime.date(2026, 11, 21), rules)
    return AuditWork(rules, Assumptions(), suppressor, {}, platforms or every_platform())


def run_of(work: Work) -> AuditRun:
    """A run in this process alone."""
    return AuditRun(work, RunOptions(jobs=1))


def findings(items: Iterable[object]) -> list[Finding]:
    """All findings of what was audited."""
    return [finding for item in items if isinstance(item, Audited) for finding in item.findings]
