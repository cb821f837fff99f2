"""A running NIC whose persistent definition is another is not sent to be edited for nothing."""

import pytest
from msgspec.structs import replace

from tests.rows import rows
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.judging.domains import DomainAuditor
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import (
    Domain,
    DomainConfig,
    DomainState,
    LiveFacts,
    PendingChanges,
    StagedNic,
)
from vnicaudit.model.finding import Finding, KnownOwner, Location
from vnicaudit.model.fix import AlreadyStaged, NothingToEdit
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic, NicConfig, RunningNic

MAC = "52:54:00:00:00:01"
VIRTIO = NicConfig(type="bridge", actual_type="bridge", model="virtio")
E1000 = replace(VIRTIO, model="e1000")
CYCLE = "Power the guest off and start it again; a reboot inside the guest keeps the old device."
NOTHING = (
    "There is nothing to edit: this NIC is not in the persistent definition and disappears at the "
    "next power cycle. If it should stay, fix this when you add it there."
)


def guest(
    now: NicConfig, *staged: StagedNic, owner: KnownOwner = "libvirt", vcpus: int = 2
) -> Domain:
    config = DomainConfig(
        type="kvm",
        arch="x86_64",
        vcpus=vcpus,
        readiness="ready",
        nics=1,
        owner=owner,
        described_by="live",
    )
    state = DomainState(active=True, persistent=True)
    nic = Nic(0, now, Location("t"), MAC)
    return Domain(
        "guest", config, Location("t"), (nic,), live=LiveFacts(state, PendingChanges(staged))
    )


def differs(now: NicConfig, later: NicConfig, *fields: str) -> StagedNic:
    """As :mod:`vnicaudit.platforms.libvirt.domains` finds it."""
    pairs = ((field, getattr(now, field), getattr(later, field)) for field in fields)
    return StagedNic(
        MAC, tuple((field, str(old or ""), str(new or "")) for field, old, new in pairs), later
    )


def findings(domain: Domain, *rules: str) -> list[Finding]:
    audited = DomainAuditor(rules or rule_ids(), every_platform()).audit_domain(
        domain, HostConfig(), "t"
    )
    assert audited.crashed == ()
    return list(audited.findings)


@rows
def test_what_is_staged_needs_a_power_cycle_and_no_edit(
    rule: str, now: dict[str, object], later: dict[str, object], field: str, what: str
) -> None:
    runs, waits = (replace(VIRTIO, **more) for more in (now, later))
    (before,) = findings(guest(runs), rule)
    assert before.change is not None
    assert "virsh edit" in before.fix
    (after,) = findings(guest(runs, differs(runs, waits, field)), rule)
    assert after.fix == (
        f"The change is already pending: the persistent definition has {what}. {CYCLE}"
    )
    value = AlreadyStaged(field, what.removeprefix("no ").partition(" ")[2] or None)
    assert after == replace(before, change=None, fix=after.fix, fixes=(value,))


def test_single_queue_is_staged_with_any_number_that_is_enough() -> None:
    """Four are staged where eight would have been proposed."""
    runs, waits = VIRTIO, replace(VIRTIO, queues=4)
    (before,) = findings(guest(runs, vcpus=8), "VNIC030")
    assert before.change is not None
    assert before.change.new == "8"
    (after,) = findings(guest(runs, differs(runs, waits, "queues"), vcpus=8), "VNIC030")
    assert after.change is None
    assert after.fixes == (AlreadyStaged("queues", "4"),)
    assert after.fix.startswith(
        "The change is already pending: the persistent definition has queue"
    )


def test_a_staged_value_that_is_wrong_too_is_still_to_be_edited() -> None:
    runs, waits = replace(VIRTIO, queues=8), replace(VIRTIO, queues=4)
    staged = differs(runs, waits, "queues")
    assert findings(guest(runs, staged), "VNIC031") == findings(guest(runs), "VNIC031")


def test_another_field_that_is_staged_changes_nothing() -> None:
    runs, waits = replace(VIRTIO, queues=8), replace(VIRTIO, queues=8, mtu=9000)
    staged = differs(runs, waits, "mtu")
    assert findings(guest(runs, staged), "VNIC031") == findings(guest(runs), "VNIC031")


def test_a_model_that_another_rule_would_change_again_is_still_to_be_edited() -> None:
    """e1000e is staged for an e1000: VNIC002 has nothing against it, VNIC003 has."""
    waits = replace(E1000, model="e1000e")
    staged = differs(E1000, waits, "model")
    (found,) = (f for f in findings(guest(E1000, staged)) if f.rule == "VNIC002")
    assert found.change is not None
    assert found.fix.startswith("Set <model type='virtio'/> (virsh edit)")


def test_of_a_rule_that_cannot_be_judged_there_the_change_stays() -> None:
    """Nothing tells what the network, on which the NIC is to be, is connected to."""
    runs = replace(VIRTIO, type="network", tx_queue_size=1024)
    waits = replace(runs, actual_type=None, tx_queue_size=512)
    staged = differs(runs, waits, "tx_queue_size")
    assert findings(guest(runs, staged), "VNIC034") == findings(guest(runs), "VNIC034")


@pytest.mark.parametrize("owner", ["nova", "kubevirt", "ovirt"])
def test_what_is_staged_behind_an_owner_will_be_overwritten(owner: KnownOwner) -> None:
    runs, waits = replace(VIRTIO, queues=8), replace(VIRTIO, queues=2)
    staged = differs(runs, waits, "queues")
    (told,) = findings(guest(runs, staged, owner=owner), "VNIC031")
    assert [told] == findings(guest(runs, owner=owner), "VNIC031")
    assert told.change is not None


@pytest.mark.parametrize(
    ("now", "rule"),
    [
        (E1000, "VNIC002"),
        (replace(VIRTIO, queues=8), "VNIC031"),
        (replace(VIRTIO, driver_name="qemu"), "VNIC021"),
        (replace(E1000, origin="commandline"), "VNIC002"),
    ],
)
def test_there_is_nothing_to_edit_where_a_nic_is_gone(now: NicConfig, rule: str) -> None:
    (before,) = findings(guest(now), rule)
    assert "virsh edit" in before.fix
    (after,) = findings(guest(now, StagedNic(MAC, gone=True)), rule)
    assert after == replace(before, change=None, fix=NOTHING, fixes=(NothingToEdit(),))


def test_no_rule_sends_the_user_to_edit_a_nic_that_is_gone() -> None:
    now = replace(VIRTIO, driver_name="qemu", queues=8, tx_queue_size=1024, host_off=("csum",))
    found = findings(guest(now, StagedNic(MAC, gone=True)))
    assert {"VNIC013", "VNIC021", "VNIC031", "VNIC034", "VNIC037"} <= {each.rule for each in found}
    assert [each.rule for each in found if each.change or "virsh" in each.fix] == []


def test_a_running_queue_count_is_settled_by_what_the_definition_says_now() -> None:
    """The queues that run come from QEMU, what waits from the definition."""
    runs, waits = replace(VIRTIO, queues=8), replace(VIRTIO, queues=2)
    domain = guest(runs, differs(runs, waits, "queues"))
    seen = RunningNic("virtio-net-pci", "virtio", "tap", queues=8, vhost=True)
    domain = replace(domain, nics=(replace(domain.nics[0], running=seen),))
    (found,) = findings(domain, "VNIC031")
    assert found.message == "8 queue pairs for 2 vCPUs: 6 of them idle"
    assert found.fix == (
        f"The change is already pending: the persistent definition has queues 2. {CYCLE}"
    )


def test_verdicts_from_memory_keep_nics_apart_that_are_staged_differently() -> None:
    runs, waits = replace(VIRTIO, queues=8), replace(VIRTIO, queues=2)
    auditor = DomainAuditor(["VNIC031"], every_platform())
    fixes = [
        auditor.audit_domain(guest(runs, *staged), HostConfig(), "t").findings[0].fix
        for staged in ((), (differs(runs, waits, "queues"),), (StagedNic(MAC, gone=True),), ())
    ]
    assert [fix.partition(" ")[0] for fix in fixes] == ["Set", "The", "There", "Set"]
    assert fixes[0] == fixes[3]
