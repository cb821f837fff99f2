"""How many queues and how large rings a policy gives."""

from collections.abc import Sequence
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.remedy.planning.guests import PC, Q35, S390X, ccw, domain_in, nic, nic_in, pci
from tests.rows import rows
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.domain import DomainConfig
from vnicaudit.model.finding import Change
from vnicaudit.model.nic import Nic
from vnicaudit.model.plan import Goal
from vnicaudit.remedy.planning.policy import Tuning, planned_tuning

AUTO = PolicyTable(queues="auto")
RING = "the policy asks for it; the driver reads a ring's size"
REASONS = {
    "queues": "the policy asks for it; the guest uses at most one queue pair per vCPU",
    "rx_queue_size": RING, "tx_queue_size": RING,
}  # fmt: skip
"""Why a field is changed, where a table says nothing else."""
BIG = domain_in(vcpus=16, vcpus_max=16)


def changed(*, field: str, safe: bool = True, reason: str = "", **old_and_new: Any) -> Change:
    return Change(field, **old_and_new, safe=safe, reason=reason or REASONS[field])


@rows
def test_queues(case: dict[str, Any]) -> None:
    _check(case)


@rows
def test_rings(case: dict[str, Any]) -> None:
    _check(case)


def _check(case: dict[str, Any]) -> None:
    domain, goal = domain_in(**case.get("domain", {})), case.get("goal", "virtio")
    policy = PolicyTable(**case.get("policy", {}))
    tuning = planned_tuning(policy, domain, (nic_in(**case["nic"]),), {0: goal})
    changes = tuple(changed(**one) for one in case.get("changes", ()))
    expected = Tuning(changes, tuple(case.get("notes", ())))
    assert tuning == ({0: expected} if domain.owner == "libvirt" else {})


@pytest.mark.parametrize("owner", ["nova", "terraform"])
def test_nothing_is_given_where_the_definition_is_kept_elsewhere(owner: str) -> None:
    tuning = planned_tuning(AUTO, domain_in(owner=owner), (pci("virtio", queues=2),), {0: "virtio"})
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
    tuning = planned_tuning(AUTO, BIG, nics, dict.fromkeys(range(20), "virtio"))
    assert {one.changes for one in tuning.values()} == {
        (changed(field="queues", old=None, new="4"),)
    }
    assert tuning[7].notes == (
        "4 instead of 8 queue pairs: the NICs of the guest would need more than 200 interrupt "
        "vectors",
    )


def test_what_a_nic_has_is_not_taken_for_others() -> None:
    policy = PolicyTable(queues="auto", vectors_max=30)
    nics = (pci("virtio", queues=8), pci("virtio", "0000:00:04.0", 1))
    tuning = planned_tuning(policy, BIG, nics, {0: "virtio", 1: "virtio"})
    assert (tuning[0].changes, tuning[1].changes) == (
        (),
        (changed(field="queues", old=None, new="5"),),
    )


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
    goals = st.dictionaries(st.sampled_from(range(len(nics) or 1)), st.sampled_from(get_args(Goal)))
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
