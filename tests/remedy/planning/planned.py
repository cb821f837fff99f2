"""Definitions as text, planned as ``vnicaudit plan`` does, without a libvirt."""

from datetime import date
from pathlib import Path

from tests.remedy.planning.blocked import coded
from tests.remedy.works import work
from vnicaudit.audit.accepting.suppressions import Suppressor
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.reading.selection import RunOptions
from vnicaudit.audit.reading.targets import SeenFiles, Target
from vnicaudit.audit.tally import RunProgress
from vnicaudit.audit.work import Assumptions, AuditWork
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.cli.wiring.platforms import PlatformRegistry, every_platform
from vnicaudit.model.domain import DomainState
from vnicaudit.model.host import HostConfig, Network, VdpaDevice, Version
from vnicaudit.model.plan import NotPlanned, Planned, Step, UnitStep
from vnicaudit.model.report import ReadError
from vnicaudit.platforms.libvirt.domains import Fetched, Surroundings, definition_from
from vnicaudit.remedy.planning.domain_targets import DomainPlanner
from vnicaudit.remedy.planning.nic import NicFacts
from vnicaudit.remedy.planning.run import PlanOptions, PlanRequest
from vnicaudit.remedy.planning.source import AskNames, DomainSource, no_names, sources
from vnicaudit.text.targets import parse

URI = "qemu:///system"
UUID = "6f4d3c1e-0e5a-4c52-8f6c-0d2f8f4f3a11"
MAC = "52:54:00:00:00:01"
SECOND = "52:54:00:00:00:02"

DEBIAN = "http://debian.org/debian/12"
CENTOS_6 = "http://centos.org/centos/6.9"
CENTOS_7 = "http://centos.org/centos/7.0"
WINDOWS = "http://microsoft.com/win/10"
WINDOWS_95 = "http://microsoft.com/win/95"

NOVA = (
    "<nova:instance xmlns:nova='http://openstack.org/xmlns/libvirt/nova/1.1'>"
    "<nova:name>web</nova:name></nova:instance>"
)
KUBEVIRT = "<kubevirt xmlns='http://kubevirt.io'><uid>u</uid></kubevirt>"
OVIRT = "<ovirt-vm:vm xmlns:ovirt-vm='http://ovirt.org/vm/1.0'/>"
SHARED = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"

PC, Q35, S390X = (
    ("x86_64", "pc-i440fx-7.2"), ("x86_64", "pc-q35-7.2"), ("s390x", "s390-ccw-virtio-7.2"),
)  # fmt: skip

_SOURCES = {"bridge": "<source bridge='br0'/>", "network": "<source network='default'/>"}
VIRTIO = PlanOptions()
"""What is asked for where nothing is said."""

HOST = HostConfig(libvirt_version=Version(9, 0), qemu_version=Version(7, 2), arch="x86_64")
OFF = DomainState(
    active=False, persistent=True, managed_save=False, snapshots=0, memory_snapshots=0
)  # fmt: skip
RUNNING = DomainState(
    active=True, persistent=True, managed_save=False, snapshots=0, memory_snapshots=0
)  # fmt: skip


def interface(
    model: str | None = "e1000", number: int = 1, *, mac: str | None = "", kind: str = "bridge",
    children: str = "", address: str | None = None,
) -> str:  # fmt: skip
    """An ``<interface>`` at a slot of its own; ``mac`` None: without, ``""``: the number's."""
    if mac == "":
        mac = f"{MAC[:-1]}{number}"
    if address is None:
        address = f"type='pci' domain='0x0000' bus='0x00' slot='0x{2 + number:02x}' function='0x0'"
    lines = [
        f"<mac address='{mac}'/>" if mac else "",
        _SOURCES.get(kind, ""),
        f"<model type='{model}'/>" if model else "",
        children,
        f"<address {address}/>" if address else "",
    ]  # fmt: skip
    inner = "".join(f"      {line}\n" for line in lines if line)
    return f"    <interface type='{kind}'>\n{inner}    </interface>\n"


def definition(
    *interfaces: str, name: str = "a", uuid: str | None = UUID, os: str | None = DEBIAN,
    machine: tuple[str, str] = PC, metadata: str = "", before: str = "", behind: str = "",
    devices: str = "", vcpus: int = 4, root: str = "",
) -> str:  # fmt: skip
    """A domain. ``before`` and ``behind``: elements before and behind its devices."""
    system = (
        "<libosinfo:libosinfo xmlns:libosinfo='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
        f"<libosinfo:os id='{os}'/></libosinfo:libosinfo>"
    )
    inner = (system if os else "") + metadata
    arch, type_ = machine
    lines = [
        f"  <name>{name}</name>",
        f"  <uuid>{uuid}</uuid>" if uuid else "",
        f"  <metadata>{inner}</metadata>" if inner else "",
        "  <memory unit='KiB'>1048576</memory>",
        f"  {before}" if before else "",
        f"  <vcpu placement='static'>{vcpus}</vcpu>",
        f"  <os><type arch='{arch}' machine='{type_}'>hvm</type></os>",
        "  <devices>",
        "".join(interfaces) + devices + "  </devices>",
        f"  {behind}" if behind else "",
    ]
    inside = "".join(f"{line}\n" for line in lines if line)
    return f"<domain type='kvm'{root}>\n{inside}</domain>\n"


def live(
    text: str, state: DomainState = OFF, *, running: str | None = None, host: HostConfig = HOST,
    networks: tuple[Network, ...] = (), local: bool = True,
) -> DomainSource:  # fmt: skip
    """What libvirt hands out of a domain with this persistent definition. Of a transient one
    (``state.persistent`` False) only ``running`` counts."""
    now = (running or text).replace("<domain ", "<domain id='7' ", 1) if state.active else text
    fetched = Fetched(now, state, text if state.active and state.persistent else None)
    around = Surroundings(parse(URI), {network.name: network for network in networks}, {})
    found = definition_from(fetched, around)
    assert not isinstance(found, ReadError)
    return DomainSource(URI, found.running, found.domain, found.text, host, local=local)


def in_file(path: Path, content: str | bytes) -> list[DomainSource]:
    """What is read of a file with that content."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    found = list(sources(Target(str(path), "path"), RunOptions(), every_platform(), SeenFiles(())))
    assert all(isinstance(one, DomainSource) for one in found), found
    return [one for one in found if isinstance(one, DomainSource)]


def selected(
    *rules: str, platforms: PlatformRegistry | None = None, kind: type[AuditWork] = AuditWork
) -> AuditWork:
    """What judges by these rules alone."""
    suppressor = Suppressor((), date(2026, 11, 21), rules)
    return kind(rules, Assumptions(), suppressor, {}, platforms or every_platform())


def requested(
    asked: AuditWork, every: AuditWork | None = None, options: PlanOptions = VIRTIO
) -> PlanRequest:
    """The request for a plan by these rules, of targets that the test reads itself."""
    return PlanRequest(asked, every or asked, options, adapters(), RunOptions())


class Told(RunProgress):
    """Remembers the targets of which something was read."""

    def __init__(self) -> None:
        self.targets: set[str] = set()

    def __call__(self, target: str, domains: int) -> None:
        del domains
        self.targets.add(target)


def plan(
    source: DomainSource, options: PlanOptions = VIRTIO, *, rules: tuple[str, ...] = (),
    devices: tuple[VdpaDevice, ...] | None = None, names: AskNames = no_names,
    users: dict[tuple[str, str], str] | None = None, platforms: PlatformRegistry | None = None,
) -> list[Planned]:  # fmt: skip
    """The steps of a domain, and what is left. ``rules``: only these are asked for."""
    if platforms is not None:
        asked = selected(*rule_ids(), platforms=platforms)
    else:
        asked = selected(*rules) if rules and rules != rule_ids() else work()
    request = requested(asked, work() if rules else asked, options)
    return coded(DomainPlanner(request, NicFacts(devices, users or {}, names)).plan(source))


def steps(source: DomainSource, options: PlanOptions = VIRTIO, **given: object) -> list[Step]:
    """All steps, where nothing is left."""
    found = plan(source, options, **given)  # type: ignore[arg-type]
    assert all(isinstance(one, UnitStep) for one in found), found
    return [one for one in found if isinstance(one, UnitStep)]


def step(source: DomainSource, options: PlanOptions = VIRTIO, **given: object) -> Step:
    """The one step."""
    (found,) = steps(source, options, **given)
    return found


def left(source: DomainSource, options: PlanOptions = VIRTIO, **given: object) -> NotPlanned:
    """The one NIC that is left."""
    (found,) = plan(source, options, **given)  # type: ignore[arg-type]
    assert isinstance(found, NotPlanned), found
    return found


def changed_lines(diff: str) -> list[str]:
    """What a diff takes away and puts in."""
    return [
        line for line in diff.splitlines()
        if line[:1] in "+-" and not line.startswith(("---", "+++"))
    ]  # fmt: skip
