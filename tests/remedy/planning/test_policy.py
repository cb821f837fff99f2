"""How many queues and how large rings a policy gives."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.remedy.planning.guests import PC, Q35, S390X, ccw, nic, pci
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import GOALS, Goal
from vnicaudit.remedy.planning.policy import Tuning, planned_tuning

AUTO = PolicyTable(queues="auto")
KEEP = PolicyTable()
ASKED = "the policy asks for it; the guest uses at most one queue pair per vCPU"
FEWER = "queues beyond what the guest or the backend can use only cost"
RING = "the policy asks for it; the driver reads a ring's size"
BIG = msgspec.structs.replace(PC, vcpus=16, vcpus_max=16)


def vcpus(number: int | None, most: int | None = None, **set_: object) -> DomainConfig:
    return msgspec.structs.replace(PC, vcpus=number, vcpus_max=most or number, **set_)


def queues(
    old: str | None, new: str | None, *, safe: bool = True, reason: str = ASKED
) -> tuple[Change, ...]:
    return (Change("queues", old, new, safe=safe, reason=reason),)


class Case(NamedTuple):
    policy: PolicyTable
    domain: DomainConfig
    nic: Nic
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    goal: Goal = "virtio"


QUEUES = {
    "keep": Case(KEEP, PC, pci("virtio", queues=2)),
    "auto": Case(AUTO, PC, pci("virtio"), queues(None, "4")),
    "auto, of a NIC that becomes virtio": Case(AUTO, PC, pci("rtl8139"), queues(None, "4")),
    "auto, with many vCPUs": Case(AUTO, BIG, pci("virtio"), queues(None, "8")),
    "auto, with another limit": Case(
        PolicyTable(queues="auto", queues_max=3), BIG, pci("virtio"), queues(None, "3")
    ),
    "auto lowers nothing": Case(AUTO, BIG, pci("virtio", queues=12)),
    "auto, above what the guest has": Case(
        AUTO, vcpus(2), pci("virtio", queues=8), queues("8", "2", reason="the policy asks for it"),
        ("2 instead of 8 queue pairs: the guest has 2 vCPUs at most",),
    ),
    "auto leaves what vCPUs to come will use": Case(AUTO, vcpus(2, 8), pci("virtio", queues=8)),
    "auto, one vCPU": Case(AUTO, vcpus(1), pci("virtio")),
    "auto, vCPUs not known": Case(
        AUTO, vcpus(None), pci("virtio"),
        notes=("no queue pairs are added: the number of vCPUs is unknown",),
    ),
    "auto in userspace": Case(
        AUTO, vcpus(4, type="qemu"), pci("virtio"),
        notes=(
            "no queue pairs are added: QEMU carries the packets in one thread however many it has",
        ),
    ),
    "auto, driver qemu": Case(
        AUTO, PC, pci("virtio", driver_name="qemu"),
        notes=(
            "no queue pairs are added: QEMU carries the packets in one thread however many it has",
        ),
    ),
    "a number": Case(PolicyTable(queues=3), PC, pci("virtio"), queues(None, "3")),
    "a number above the limit of auto": Case(
        PolicyTable(queues=12), BIG, pci("virtio"), queues(None, "12")
    ),
    "a number above the vCPUs": Case(
        PolicyTable(queues=8), PC, pci("virtio"), queues(None, "4"),
        ("4 instead of 8 queue pairs: the guest has 4 vCPUs",),
    ),
    "a number above the vCPUs at start": Case(
        PolicyTable(queues=8), vcpus(1, 8), pci("virtio"), (),
        ("1 instead of 8 queue pairs: the guest has 1 vCPU",),
    ),
    "a number below what is set": Case(
        PolicyTable(queues=2), PC, pci("virtio", queues=4),
        queues("4", "2", reason="the policy asks for it"),
    ),
    "one is none": Case(
        PolicyTable(queues=1), PC, pci("virtio", queues=4),
        queues("4", None, reason="the policy asks for it"),
    ),
    "one where one is written": Case(PolicyTable(queues=1), PC, pci("virtio", queues=1)),
    "a number, vCPUs not known, below what is set": Case(
        PolicyTable(queues=2), vcpus(None), pci("virtio", queues=4),
        queues("4", "2", reason="the policy asks for it"),
        ("no queue pairs are added: the number of vCPUs is unknown",),
    ),
    "type user": Case(
        AUTO, PC, pci("virtio", type="user", actual_type="user"),
        notes=("1 instead of 4 queue pairs: a NIC of type user has one",),
    ),
    "passt": Case(
        AUTO, PC, pci("virtio", type="vhostuser", actual_type="vhostuser", backend_type="passt"),
        notes=("1 instead of 4 queue pairs: passt has one",),
    ),
    "a network": Case(
        AUTO, PC, pci("virtio", type="network", actual_type=None), queues(None, "4")
    ),
    "ethernet": Case(
        AUTO, PC, pci("virtio", type="ethernet", actual_type="ethernet"),
        queues(
            None, "4", safe=False,
            reason="a tap that exists before the guest must have been created for several queues",
        ),
    ),
    "vhost-user": Case(
        AUTO, PC, pci("virtio", type="vhostuser", actual_type="vhostuser"),
        queues(
            None, "4", safe=False,
            reason="the switch must offer as many queues, otherwise QEMU does not start",
        ),
    ),
    "to vhost-user": Case(
        AUTO, PC, pci("virtio"),
        queues(
            None, "4", safe=False,
            reason="the switch must offer as many queues, otherwise QEMU does not start",
        ),
        goal="vhostuser",
    ),
    "to vhost-user in userspace": Case(
        AUTO, vcpus(4, type="qemu"), pci("virtio"),
        queues(
            None, "4", safe=False,
            reason="the switch must offer as many queues, otherwise QEMU does not start",
        ),
        goal="vhostuser",
    ),
    "vDPA": Case(
        PolicyTable(queues=2), PC, pci("virtio", queues=4),
        notes=("queue pairs stay as they are: for a vDPA NIC the device decides",), goal="vdpa",
    ),
    "vDPA, keep": Case(KEEP, PC, pci("virtio", queues=4), goal="vdpa"),
    "more than a tap has": Case(
        PolicyTable(queues=300), vcpus(400), ccw("virtio"), queues(None, "256"),
        ("256 instead of 300 queue pairs: its backend supports no more",),
    ),
    "s390x": Case(
        AUTO, S390X, ccw("virtio"), queues(None, "2"),
        ("2 instead of 4 queue pairs: on s390x, more are only for guests known to be under load",),
    ),
    "s390x, a number": Case(PolicyTable(queues=4), S390X, ccw("virtio"), queues(None, "4")),
    "s390x, more is set": Case(AUTO, S390X, ccw("virtio", queues=4)),
    "passed over until now, and too many": Case(
        KEEP, PC, pci("e1000", queues=8), queues("8", "4", reason=FEWER)
    ),
    "passed over until now, and not possible": Case(
        KEEP, PC, pci("e1000", queues=8, type="user", actual_type="user"),
        queues("8", None, reason=FEWER),
    ),
    "passed over until now, and right": Case(KEEP, PC, pci("e1000", queues=4)),
    "no number": Case(AUTO, PC, pci("virtio", invalid=(("queues", "four"),))),
    "a template's to say": Case(AUTO, PC, pci("virtio", unseen=("queues",))),
    "somebody else's definition": Case(AUTO, vcpus(4, owner="nova"), pci("virtio")),
}  # fmt: skip

RX = PolicyTable(rx_queue_size=1024)
TX = PolicyTable(tx_queue_size=1024)


def ring(
    field: str, old: str | None, new: str | None, *, safe: bool = True, reason: str = RING
) -> tuple[Change, ...]:
    return (Change(field, old, new, safe=safe, reason=reason),)


NOT_TAKEN = "QEMU does not accept it here, and with the new model libvirt would apply it"
TAP = "256 instead of 1024 descriptors of the transmit ring: more is for vhost-user and vDPA only"
DEVICE = "the policy asks for it; the vDPA device must support rings of that size"
ROM = (
    "rings stay as they are: it has a boot order, and an old boot ROM supports only 256 descriptors"
)

RINGS = {
    "receive": Case(RX, PC, pci("virtio"), ring("rx_queue_size", None, "1024")),
    "receive, set": Case(
        RX, PC, pci("virtio", rx_queue_size=512), ring("rx_queue_size", "512", "1024")
    ),
    "receive, set so": Case(RX, PC, pci("virtio", rx_queue_size=1024)),
    "256 is what there is": Case(PolicyTable(rx_queue_size=256), PC, pci("virtio")),
    "transmit on a tap": Case(TX, PC, pci("virtio"), notes=(TAP,)),
    "transmit on a tap, set": Case(
        TX, PC, pci("virtio", tx_queue_size=1024), ring("tx_queue_size", "1024", "256"), (TAP,)
    ),
    "transmit to vhost-user": Case(
        TX, PC, pci("virtio"), ring("tx_queue_size", None, "1024"), goal="vhostuser"
    ),
    "transmit to vDPA": Case(
        TX, PC, pci("virtio"), ring("tx_queue_size", None, "1024", safe=False, reason=DEVICE),
        goal="vdpa",
    ),
    "boot order": Case(RX, PC, pci("virtio", boot_order=1), notes=(ROM,)),
    "a driver of virtio 0.9": Case(
        RX, vcpus(4, readiness="ready-transitional"), pci("virtio"),
        notes=(
            "rings stay as they are: drivers for virtio 0.9 support only 256 descriptors",
        ),
    ),
    "passt": Case(
        RX, PC, pci("virtio", backend_type="passt"),
        notes=("rings stay as they are: nothing is known about those of passt",),
    ),
    "no number": Case(RX, PC, pci("virtio", invalid=(("rx_queue_size", "big"),))),
    "passed over until now, and too large": Case(
        KEEP, PC, pci("e1000", rx_queue_size=2048, tx_queue_size=1024),
        (*ring("rx_queue_size", "2048", None, reason=NOT_TAKEN),
         *ring("tx_queue_size", "1024", None, reason=NOT_TAKEN)),
    ),
    "passed over until now, and right": Case(
        KEEP, PC, pci("e1000", rx_queue_size=512, tx_queue_size=256)
    ),
    "passed over until now, and right on vhost-user": Case(
        KEEP, PC, pci("e1000", tx_queue_size=1024), goal="vhostuser"
    ),
    "what is read is left to findings": Case(KEEP, PC, pci("virtio", tx_queue_size=1024)),
    "somebody else's definition": Case(RX, vcpus(4, owner="kubevirt"), pci("virtio")),
}  # fmt: skip


@pytest.mark.parametrize("case", QUEUES.values(), ids=QUEUES)
def test_queues(case: Case) -> None:
    _check(case)


@pytest.mark.parametrize("case", RINGS.values(), ids=RINGS)
def test_rings(case: Case) -> None:
    _check(case)


def _check(case: Case) -> None:
    tuning = planned_tuning(case.policy, case.domain, (case.nic,), {0: case.goal})
    ours = case.domain.owner == "libvirt"
    assert tuning == ({0: Tuning(case.changes, case.notes)} if ours else {})


@pytest.mark.parametrize("owner", ["nova", "terraform"])
def test_nothing_is_given_where_the_definition_is_kept_elsewhere(owner: str) -> None:
    tuning = planned_tuning(AUTO, vcpus(4, owner=owner), (pci("virtio", queues=2),), {0: "virtio"})
    assert tuning == {}


@pytest.mark.parametrize(
    ("domain", "one", "is_cut"),
    [
        (S390X, ccw("virtio"), False),
        (PC, nic("virtio", None, "virtio-mmio", 0), False),
        (S390X, pci("virtio"), True),
    ],
    ids=["ccw", "virtio-mmio", "pci on s390x"],
)
def test_there_are_no_vectors_on_ccw_and_mmio(domain: DomainConfig, one: Nic, is_cut: bool) -> None:
    wanted = PolicyTable(queues=2, vectors_max=1)
    tuned = planned_tuning(wanted, domain, (one,), {0: "virtio"})[0]
    assert any("interrupt vectors" in note for note in tuned.notes) == is_cut
    assert bool(tuned.changes) != is_cut


def test_vectors_are_shared_evenly() -> None:
    """20 NICs with 8 queue pairs would take 360 vectors; with 4 it is 200."""
    nics = tuple(pci("virtio", f"0000:00:{number + 2:02x}.0", number) for number in range(20))
    tuning = planned_tuning(AUTO, BIG, nics, dict.fromkeys(range(20), GOALS[0]))
    assert {one.changes for one in tuning.values()} == {queues(None, "4")}
    assert tuning[7].notes == (
        "4 instead of 8 queue pairs: the NICs of the guest would need more than 200 interrupt "
        "vectors",
    )


def test_what_a_nic_has_is_not_taken_for_others() -> None:
    policy = PolicyTable(queues="auto", vectors_max=30)
    nics = (pci("virtio", queues=8), pci("virtio", "0000:00:04.0", 1))
    tuning = planned_tuning(policy, BIG, nics, {0: "virtio", 1: "virtio"})
    assert (tuning[0].changes, tuning[1].changes) == ((), queues(None, "5"))


def test_too_many_vectors_already() -> None:
    nics = tuple(pci("virtio", f"0000:00:{number + 2:02x}.0", number) for number in range(20))
    tuning = planned_tuning(
        PolicyTable(queues="auto", vectors_max=40), BIG, nics, {0: "virtio", 1: "virtio"}
    )
    assert (tuning[0].changes, tuning[1].changes) == ((), ())
    assert len(tuning[0].notes) == 1


COUNT = st.none() | st.integers(1, 12) | st.sampled_from([256, 2**32 - 1])
NIC = st.builds(
    lambda model, kind, queues, rx, tx, passt: pci(
        model, type=kind, actual_type=None if kind == "network" else kind, queues=queues,
        rx_queue_size=rx, tx_queue_size=tx, backend_type="passt" if passt else None,
    ),
    st.sampled_from(["virtio", "e1000", "rtl8139", "virtio-transitional", None]),
    st.sampled_from(["bridge", "network", "user", "vhostuser", "vdpa", "ethernet", "made-up"]),
    COUNT,
    COUNT,
    COUNT,
    st.booleans(),
)  # fmt: skip
SIZE = st.sampled_from(["keep", 256, 512, 1024])
POLICY = st.builds(
    PolicyTable,
    queues=st.sampled_from(["keep", "auto"]) | st.integers(1, 2**70),
    queues_max=st.integers(1, 2**70),
    rx_queue_size=SIZE,
    tx_queue_size=SIZE,
    vectors_max=st.integers(1, 400),
)
DOMAIN = st.builds(
    lambda base, vcpus, more, kind: msgspec.structs.replace(
        base, vcpus=vcpus, vcpus_max=None if vcpus is None else vcpus + more, type=kind
    ),
    st.sampled_from([PC, Q35, S390X]),
    st.none() | st.integers(1, 40) | st.just(2**32 - 1),
    st.integers(0, 8),
    st.sampled_from(["kvm", "qemu"]),
)


def _placed(nics: Sequence[Nic]) -> tuple[Nic, ...]:
    return tuple(msgspec.structs.replace(one, index=place) for place, one in enumerate(nics))


def _after(one: Nic, changes: tuple[Change, ...]) -> int:
    new = {change.field: change.new for change in changes}
    return int(new["queues"] or 1) if "queues" in new else one.declared.queues or 1


def _vectors(nics: tuple[Nic, ...], tuning: dict[int, Tuning]) -> int:
    """Interrupt vectors of the NICs on PCI that are to be changed."""
    return sum(2 * _after(nics[index], one.changes) + 2 for index, one in tuning.items())


@given(POLICY, DOMAIN, st.lists(NIC, max_size=25).map(_placed), st.data())
def test_limits_hold_whatever_the_policy(
    policy: PolicyTable, domain: DomainConfig, nics: tuple[Nic, ...], data: st.DataObject
) -> None:
    goals = st.dictionaries(st.sampled_from(range(len(nics) or 1)), st.sampled_from(GOALS))
    chosen = {index: goal for index, goal in data.draw(goals).items() if index < len(nics)}
    tuning = planned_tuning(policy, domain, nics, chosen)
    assert tuning == planned_tuning(policy, domain, nics, chosen)
    assert tuning.keys() == chosen.keys()
    for index, one in tuning.items():
        before, after = nics[index].declared.queues or 1, _after(nics[index], one.changes)
        assert all(change.new != "1" for change in one.changes)
        if after > before:
            assert domain.vcpus is not None
            assert after <= domain.vcpus
    least = planned_tuning(msgspec.structs.replace(policy, vectors_max=1), domain, nics, chosen)
    assert _vectors(nics, tuning) <= max(policy.vectors_max, _vectors(nics, least))
