"""A made-up fleet of any size: some NICs emulated, some without vhost, most in order."""

import random
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vnicaudit.model.finding import Change, Finding, Location, Owner, Ref, Severity
from vnicaudit.model.fleet import Coverage
from vnicaudit.model.names import RuleInfo
from vnicaudit.model.nic import NONE, Resolved
from vnicaudit.model.ranking import FindingHistory, PageChanges
from vnicaudit.model.report import Audited, NicRow, Placed, Tool
from vnicaudit.reports.page.from_audit import (
    PageAbout,
    PageEnd,
    PageHost,
    PageNote,
    PageSubject,
)
from vnicaudit.reports.page.summary import HtmlPage

GUESTS = 50
"""On each host."""
NICS = 2
"""Of each guest."""
KINDS: tuple[tuple[str, str, Severity, str, str, str], ...] = (
    ("VNIC001", "legacy-emulated-nic", "high", "model", "virtio",
     "rtl8139 is emulated packet by packet: no offload, no vhost"),
    ("VNIC002", "emulated-e1000", "high", "model", "virtio",
     "e1000 is emulated frame by frame: no offload, no vhost"),
    ("VNIC030", "single-queue", "medium", "queues", "8", "one queue pair for 8 vCPUs"),
    ("VNIC033", "small-rx-ring", "low", "rx_queue_size", "1024",
     "a receive ring of 256 behind a switch that never waits: bursts overflow it"),
    ("VNIC041", "vhostuser-without-shared-memory", "error", "", "",
     "vhost-user without shared guest memory: no packet passes"),
)  # fmt: skip
MODELS = ("rtl8139", "e1000", "virtio", "virtio", "virtio", "virtio", "virtio")
WHY = ("as declared", "QEMU's command line has it")
"""Of the model: of the first NIC, of the second."""
RULES = tuple(
    RuleInfo(kind[0], kind[1], kind[2], "nic", kind[1].replace("-", " "), "") for kind in KINDS
)


class PageData(NamedTuple):
    """Everything shown on a page. ``subjects`` is iterated once and may be a generator."""

    about: PageAbout
    subjects: Iterable[PageSubject]
    end: PageEnd


def render_page(data: PageData) -> Iterator[str]:
    """The page of this data."""
    page = HtmlPage()
    for one in data.subjects:
        page.add(one)
    yield from page.finish(data.about, data.end)


def fleet(hosts: int, seed: int = 1) -> PageData:
    """1,000 hosts have 50,000 guests, 100,000 NICs and some 120,000 findings."""
    return PageData(
        about=PageAbout(
            title="Fleet of a test", tool=Tool("vnicaudit", "0"), started="2026-11-26T03:00:00Z",
            coverage=Coverage(("VNIC001",)),
        ),
        subjects=subjects(hosts, seed),
        end=PageEnd(
            finished="2026-11-26T03:12:00Z",
            hosts=tuple(host(number) for number in range(hosts)),
            rules=RULES,
            notes=(PageNote("not judged", "", "VNIC020 was not judged for 24 NICs: needs /proc"),),
            changes=PageChanges(since="2026-11-25T03:00:00Z", new=12, fixed=40, reopened=3),
        ),
    )  # fmt: skip


def host(number: int) -> PageHost:
    """Every hundredth was not read, and its last state is shown."""
    name, site = host_name(number), f"zone-{number % 4}"
    if number % 100 == 99:
        day = "2026-11-20T03:00:00Z"
        return PageHost(name=name, status="failed", site=site, error="no route", stale_since=day)
    return PageHost(name=name, status="ok", site=site, domains=GUESTS, nics=GUESTS * NICS)


def host_name(number: int) -> str:
    """As operators call them."""
    return f"kvm-{number:04}.dc{number % 4}.example.net"


def subjects(hosts: int, seed: int) -> Iterator[PageSubject]:
    """All guests, host by host."""
    draw = random.Random(seed)
    for number in range(hosts):
        for at in range(GUESTS):
            yield subject(number, at, draw)


def subject(number: int, at: int, draw: random.Random) -> PageSubject:
    """One guest with its NICs."""
    name, uuid = f"instance-{number * GUESTS + at:08x}", uuid_of(draw)
    rows = tuple(nic(name, uuid, index, number, draw) for index in range(NICS))
    findings = tuple(one for row in rows for one in findings_of(row, draw))
    states = ("known", "known", "known", "new", "reopened")
    history = {
        one.fingerprint: FindingHistory(draw.choice(states), "2026-11-01T03:00:00Z")
        for one in findings
    }
    server, image = f"web-{draw.randrange(10**6)}", f"debian-{draw.randrange(40)}"
    flavor, project = f"m1.{draw.randrange(12)}", f"team-{draw.randrange(500)}"
    audited = Audited(
        target(number), name, uuid, owner="nova" if number % 2 else "libvirt", nics=NICS,
        findings=findings, server=server, rows=rows,
        placed=Placed(image=image, flavor=flavor, project=project),
    )  # fmt: skip
    return PageSubject(audited, host_name(number), f"zone-{number % 4}", history)


def target(number: int) -> str:
    """The libvirt of a host."""
    return f"qemu+ssh://{host_name(number)}/system"


def uuid_of(draw: random.Random) -> str:
    """Any one."""
    text = f"{draw.getrandbits(128):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def nic(name: str, uuid: str, index: int, number: int, draw: random.Random) -> NicRow:
    """A NIC, declared and effective."""
    model = draw.choice(MODELS)
    virtio = model == "virtio"
    why = "the tap of QEMU has a vhost descriptor" if virtio else f"{model} has no vhost"
    ring = (
        Resolved[int](None, 256, "none declared: QEMU's default")
        if virtio
        else Resolved[int](None, None, f"{model} has no virtio ring", NONE)
    )
    mac = draw.getrandbits(24)
    return NicRow(
        domain=name, uuid=uuid, index=index,
        mac=f"52:54:00:{mac >> 16:02x}:{mac >> 8 & 255:02x}:{mac & 255:02x}",
        type="bridge", actual_type="bridge", origin="declared",
        owner=("libvirt", "nova")[number % 2], arch="x86_64", machine="pc-q35-7.2",
        vcpus=draw.choice((2, 4, 8)), active=True, target_dev=f"vnet{draw.randrange(100)}",
        model=Resolved(model, model, WHY[index]), vhost=Resolved(None, virtio, why),
        queues=Resolved(None, 1, "none declared: one"), rx_queue_size=ring, tx_queue_size=ring,
        starts=True, location=Location(target(number)),
    )  # fmt: skip


def findings_of(row: NicRow, draw: random.Random) -> Iterator[Finding]:
    """None to three."""
    emulated = row.model.effective != "virtio"
    kinds = [KINDS[MODELS.index(row.model.effective or "")]] if emulated else []
    kinds += draw.sample(
        KINDS[2:], draw.choice((0, 0, 1, 2)) if emulated else draw.choice((0, 1, 2))
    )
    for rule, name, severity, field, new, message in kinds:
        owner: Owner = "nova" if row.owner == "nova" else "libvirt"
        safe = draw.random() < 0.7
        yield Finding(
            rule=rule, name=name, severity=severity, confidence="high", message=message,
            about=Ref("nic", row.domain, row.uuid, row.mac, row.index), location=row.location,
            owner=owner, change=Change(field, None, new, safe) if field else None,
            fingerprint=f"{draw.getrandbits(96):024x}", fix=fix(owner, row, field, new),
        )  # fmt: skip


def fix(owner: Owner, row: NicRow, field: str, new: str) -> str:
    """What the owner does."""
    if not field:
        return "Share the guest's memory: <memoryBacking> with <access mode='shared'/>."
    if owner == "nova":
        return (
            f"openstack server stop {row.uuid}; nova-manage image_property set {row.uuid} {field}"
        )
    return f"Set {field} to {new} (virsh edit {row.domain}), then power the guest off and on."
