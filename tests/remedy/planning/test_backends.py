"""What a NIC needs, and loses, to be on vhost-vDPA or vhost-user."""

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from tests.remedy.planning.blocked import codes, why
from tests.remedy.planning.guests import PC, guest, pci
from tests.rows import rows
from vnicaudit.model.domain import Domain, DomainConfig
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.host import HostConfig, VdpaDevice, Version
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import DomainUnit, Goal, Loss, Step
from vnicaudit.remedy.planning.backends import still_against, to_backend
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.subject import ProposedChanges

DEVICE = "/dev/vhost-vdpa-0"
SOCKET = "/run/vhu-1"
SHARED = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
HOST = HostConfig(libvirt_version=Version(11, 3), qemu_version=Version(10, 0, 13))
VDUSE = VdpaDevice("rig", DEVICE, "vhost_vdpa", vduse=True, shared_memory=True)
CARD = VdpaDevice("vdpa0", DEVICE, "vhost_vdpa", shared_memory=False)
SIMULATOR = VdpaDevice("sim", DEVICE, "vhost_vdpa", shared_memory=True)
UNHEARD_OF = VdpaDevice("odd", DEVICE, "vhost_vdpa")
NIC = pci("virtio")
READY = replace(PC, readiness="ready", shared_memory=False)
SHARING = replace(READY, shared_memory=True)


def to_vdpa(
    nic: Nic = NIC,
    declared: DomainConfig = SHARING,
    devices: tuple[VdpaDevice, ...] | None = (VDUSE,),
    *,
    others: tuple[Nic, ...] = (),
    children: Mapping[str, str] = {},
    host: HostConfig = HOST,
    accepted: frozenset[str] = frozenset(),
    memory: int | None = None,
) -> ProposedChanges:
    domain = guest(declared, nic, *others)
    options = PlanOptions("vdpa", macs=(nic.mac or "",), devices=(DEVICE,), accepted=accepted)
    return to_backend(options, nic, domain, host, children, devices, memory)


def to_vhostuser(domain: Domain) -> ProposedChanges:
    nic = domain.nics[0]
    options = PlanOptions(
        "vhostuser", macs=(nic.mac or "",), devices=(SOCKET,), socket_mode="client"
    )
    return to_backend(options, nic, domain, HostConfig(), {}, None, None)


def test_nothing_is_in_the_way() -> None:
    made = to_vdpa(children={"source": "<source bridge='br0'>", "model": "<model type='virtio'>"})
    assert made.blocked == ()
    assert made.losses == ()
    assert [(one.field, one.old, one.new, one.safe) for one in made.changes] == [
        ("type", "bridge", "vdpa", True),
        ("source", "<source bridge='br0'>", None, True),
        ("device", None, DEVICE, True),
    ]


NEEDS_SHARED = (
    f"{DEVICE} is {{}}, which needs the guest's memory shared: without {SHARED} the guest starts "
    "but passes no packets"
)
UNKNOWN = f"it is unknown whether {DEVICE} needs the guest's memory shared: share it to be safe"


@pytest.mark.parametrize(
    ("device", "says"),
    [
        (VDUSE, NEEDS_SHARED.format("served by a program (VDUSE)")),
        (SIMULATOR, NEEDS_SHARED.format("simulated by the kernel")),
        (UNHEARD_OF, f"{UNKNOWN} ({SHARED})"),
        (CARD, None),
    ],
)
def test_shared_memory(device: VdpaDevice, says: str | None) -> None:
    assert why(to_vdpa(declared=READY, devices=(device,))) == ((says,) if says else ())
    assert why(to_vdpa(declared=SHARING, devices=(device,))) == ()


def test_memory_of_which_it_cannot_be_told_is_taken_for_not_shared() -> None:
    assert codes(to_vdpa(declared=replace(READY, shared_memory=None))) == ("shared-memory",)


MISSING = f"{DEVICE} does not exist: create it first (vdpa dev add, driver vhost_vdpa)"


@pytest.mark.parametrize(
    ("devices", "says"),
    [
        ((), MISSING),
        ((replace(VDUSE, path=None, driver="virtio_vdpa"),), MISSING),
        ((replace(CARD, driver=""),), f"{DEVICE} is bound to no driver, not to vhost_vdpa"),
        (None, f"{DEVICE} cannot be checked from here: run this on the host itself"),
    ],
)
def test_the_device_must_be_there(devices: tuple[VdpaDevice, ...] | None, says: str) -> None:
    assert why(to_vdpa(devices=devices)) == (says,)


def test_two_nics_of_a_domain_are_not_put_on_one_device() -> None:
    other = replace(pci("virtio", "0000:00:04.0", 1, type="vdpa", device=DEVICE), source=DEVICE)
    says = f"{DEVICE} is used by another NIC of this domain"
    assert why(to_vdpa(others=(other,))) == (says,)


def test_two_nics_of_a_domain_are_not_put_on_one_socket() -> None:
    other = replace(pci("virtio", "0000:00:04.0", 1, type="vhostuser"), source=SOCKET)
    says = f"{SOCKET} is used by another NIC of this domain"
    assert why(to_vhostuser(guest(SHARING, NIC, other))) == (says,)


def test_a_bridge_of_that_name_is_no_device() -> None:
    other = replace(pci("virtio", "0000:00:04.0", 1), source=DEVICE)
    assert to_vdpa(others=(other,)).blocked == ()


def test_vhostuser_needs_shared_memory() -> None:
    says = f"vhost-user needs the guest's memory shared: {SHARED}"
    assert why(to_vhostuser(guest(READY, NIC))) == (says,)
    assert to_vhostuser(guest(SHARING, NIC)).blocked == ()


@rows
@pytest.mark.parametrize("model", ["e1000", None, "virtio-transitional"])
def test_the_model_is_safe_where_the_guest_drives_it(
    model: str | None, readiness: str, reason: str
) -> None:
    made = to_vdpa(pci(model), replace(SHARING, readiness=readiness))
    change = made.changes[0]
    assert (change.field, change.old, change.new) == ("model", model, "virtio")
    assert (change.safe, change.reason) == (readiness == "ready", reason)


def test_vhostuser_takes_every_virtio_model() -> None:
    fields = [one.field for one in to_vhostuser(guest(SHARING, pci("virtio-transitional"))).changes]
    assert fields == ["type", "source_type", "source_path", "source_mode"]


def test_encrypted_memory_needs_more_than_the_model() -> None:
    encrypted = replace(SHARING, encrypted=True)
    assert not to_vdpa(pci("e1000"), encrypted).changes[0].safe
    assert to_vdpa(pci("e1000", iommu="on"), encrypted).changes[0].safe


def test_a_guest_that_does_not_support_virtio_is_left_alone() -> None:
    made = to_vdpa(pci("e1000"), replace(SHARING, readiness="not-supported"))
    assert codes(made) == ("not-supported",)


@rows
def test_nics_that_are_not_converted(set_: dict[str, Any], says: str) -> None:
    (text,) = why(to_vdpa(pci("virtio", **set_)))
    assert text.startswith(says)


@pytest.mark.parametrize(
    ("host", "says"),
    [
        (
            replace(HOST, libvirt_version=Version(6, 8)),
            "vDPA needs libvirt 6.9.0; the host has 6.8.0",
        ),
        (replace(HOST, qemu_version=Version(5, 0)), "vDPA needs QEMU 5.1.0; the host has 5.0.0"),
        (replace(HOST, qemu_version=None), "the version of QEMU is unknown (vDPA needs 5.1.0)"),
    ],
)
def test_versions(host: HostConfig, says: str) -> None:
    assert why(to_vdpa(host=host)) == (says,)


def test_what_is_lost_blocks_until_it_is_accepted_by_name() -> None:
    children = {"filterref": "<filterref>", "mtu": "<mtu>", "port": "<port>"}
    made = to_vdpa(children=children, accepted=frozenset({"mtu"}))
    assert [(loss.function, loss.accepted) for loss in made.losses] == [
        ("filterref", False),
        ("isolation", False),
        ("mtu", True),
    ]
    removed = [one.field for one in made.changes if one.new is None]
    assert removed == ["filterref", "port", "mtu"]


def test_memory_that_is_locked_for_each_device() -> None:
    other = replace(pci("virtio", "0000:00:04.0", 1, type="vdpa"), source="/dev/vhost-vdpa-1")
    mib = 1024
    for others, limit in (((), 1024 + 1024), ((other,), 2 * 1024 + 1024)):
        notes = to_vdpa(others=others, memory=1024 * mib).notes
        assert (
            f"all of the guest's memory is pinned: libvirt raises its limit to {limit} MiB, where "
            "no <hard_limit> sets another"
        ) in notes


def edited(to: Goal, *losses: Loss) -> Step:
    """A step of a plan from which somebody took what blocks it."""
    field = "device" if to == "vdpa" else "source_path"
    changes = (Change(field, None, DEVICE, safe=True),)
    return Step(
        "1", "qemu:///system", Ref("nic"), "libvirt", to, (), changes, "ready",
        safe=True, reason="", running=False, modes=(), digest="", diff="",
        unit=DomainUnit(), losses=losses,
    )  # fmt: skip


def test_what_blocks_a_step_is_looked_at_again_when_it_is_made() -> None:
    domain, filtered = guest(READY, NIC), {"filterref": "<filterref>"}
    assert still_against(edited("vdpa"), NIC, domain, filtered, (VDUSE,)) == (
        "filterref would be lost, which the plan does not accept",
        NEEDS_SHARED.format("served by a program (VDUSE)"),
    )
    accepted = edited("vdpa", Loss("filterref", "", accepted=True))
    assert still_against(accepted, NIC, guest(SHARING, NIC), filtered, (VDUSE,)) == ()
    assert still_against(accepted, NIC, guest(SHARING, NIC), filtered, ()) == (MISSING,)
    assert still_against(edited("vhostuser"), NIC, domain, {}, None) == (
        f"vhost-user needs the guest's memory shared: {SHARED}",
    )
