"""Which layer says what of a NIC, and why a layer says nothing."""

import pytest
from msgspec.structs import replace

from vnicaudit.audit.explain_layers import layers
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.domain import (
    Domain,
    DomainConfig,
    DomainState,
    LiveFacts,
    PendingChanges,
    StagedNic,
)
from vnicaudit.model.finding import Location
from vnicaudit.model.host import HostConfig
from vnicaudit.model.nic import Nic, NicConfig, RunningNic, RunningQemu
from vnicaudit.model.report import Layer, LayerFact
from vnicaudit.platforms.qemu.proc import join

MAC, PLUGGED = "52:54:00:00:00:01", "52:54:00:00:00:02"
CONFIG = NicConfig(type="bridge", actual_type="bridge", model="virtio")
LIVE = Location("qemu:///system")
GUEST = Domain(
    "guest",
    DomainConfig(type="kvm", arch="x86_64", vcpus=2, nics=2, described_by="live"),
    LIVE,
    (Nic(0, CONFIG, LIVE, MAC), Nic(1, CONFIG, LIVE, PLUGGED)),
    uuid="6f2b8a54-6a1b-4c5e-9d0c-2f6f6b1f7a01",
    live=LiveFacts(DomainState(active=True, persistent=True)),
)
QEMU = RunningQemu(
    Location("host", "/proc/7/cmdline"),
    uuid=GUEST.uuid,
    nics=(RunningNic("virtio-net-pci", "virtio", "tap", mac=MAC),),
)


REFLECTED = (
    "guests of one host meet only if the switch reflects frames; its own host cannot reach it"
)


def layer(name: str, domain: Domain, index: int) -> Layer:
    nic = domain.nics[index]
    effective = every_platform().resolver(domain.declared)(
        nic.declared, domain.declared, HostConfig(), nic.running
    )
    (found,) = (
        it
        for it in layers(
            domain, nic, HostConfig(), effective, every_platform().title(domain.declared)
        )
        if it.name == name
    )
    return found


def test_a_nic_plugged_in_later_is_not_on_qemus_command_line() -> None:
    joined = join(GUEST, QEMU)
    assert layer("QEMU", joined, 0).missing == ""
    assert layer("QEMU", joined, 1).missing == (
        "it is not on the command line that QEMU was started with, usually because it was attached "
        "later; QEMU's monitor would show it"
    )


def test_the_only_nic_may_have_been_plugged_in_later() -> None:
    alone = replace(GUEST, nics=GUEST.nics[1:])
    joined = join(alone, replace(QEMU, nics=()))
    assert layer("QEMU", joined, 0).missing.startswith("it is not on the command line")


@pytest.mark.parametrize(
    ("state", "missing"),
    [
        (None, "no process or log of it was read (/proc on the hypervisor has it)"),
        (GUEST.state, "no process or log of it was read (/proc on the hypervisor has it)"),
        (DomainState(active=False), "the domain is shut off"),
    ],
)
def test_where_no_qemu_was_read(state: DomainState | None, missing: str) -> None:
    assert layer("QEMU", GUEST.with_state(state), 0).missing == missing


def test_a_nic_that_the_persistent_definition_has_not() -> None:
    gone = replace(GUEST, live=LiveFacts(pending=PendingChanges((StagedNic(PLUGGED, gone=True),))))
    assert layer("Persistent definition", gone, 1).facts == (
        LayerFact("NIC", "none", note="it is gone after the next power cycle"),
    )
    with pytest.raises(ValueError, match="not enough values"):
        layer("Persistent definition", gone, 0)


def test_what_the_persistent_definition_says_otherwise() -> None:
    later = replace(CONFIG, queues=2)
    staged = (StagedNic(MAC, (("queues", "", "2"),), later),)
    assert layer(
        "Persistent definition", replace(GUEST, live=LiveFacts(pending=PendingChanges(staged))), 0
    ).facts == (LayerFact("queues", "2", note="from the next cold start on; now none"),)


@pytest.mark.parametrize(
    ("mode", "fact"),
    [
        (None, LayerFact("mode", "vepa", note=f"libvirt's default: {REFLECTED}")),
        ("vepa", LayerFact("mode", "vepa", note=REFLECTED)),
        ("bridge", LayerFact("mode", "bridge", note="its own host cannot reach it")),
    ],
)
def test_the_mode_of_macvtap(mode: str | None, fact: LayerFact) -> None:
    config = NicConfig(type="direct", actual_type="direct", model="virtio", source_mode=mode)
    domain = replace(GUEST, nics=(Nic(0, config, LIVE, MAC),))
    title = every_platform().title(domain.declared)
    assert fact in layer(title, domain, 0).facts
