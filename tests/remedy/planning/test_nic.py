"""What is to become of a NIC: findings, s390x, conversions, queues and rings together."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.planning.blocked import codes, why
from tests.remedy.planning.planned import (
    CENTOS_7,
    HOST,
    MAC,
    Q35,
    RUNNING,
    S390X,
    SECOND,
    SHARED,
    URI,
    WINDOWS,
    WINDOWS_95,
    changed_lines,
    definition,
    in_file,
    interface,
    left,
    live,
    plan,
    step,
    steps,
)
from tests.rows import rows
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.host import VdpaDevice, Version
from vnicaudit.model.plan import NotPlanned, UnitStep
from vnicaudit.remedy.planning.run import PlanOptions

DEVICE = "/dev/vhost-vdpa-0"
CARD = (VdpaDevice("v0", DEVICE, "vhost_vdpa", shared_memory=False),)
VDPA = PlanOptions(to="vdpa", macs=(MAC,), devices=(DEVICE,))
SOCKET = "/run/openvswitch/vhu1"
VHOSTUSER = PlanOptions(to="vhostuser", macs=(MAC,), devices=(SOCKET,))
PCI_ONLY = "<rom bar='off'/>\n      <acpi index='1'/>"
CCW = "type='ccw' cssid='0xfe' ssid='0x0' devno='0x0001'"
NEWER = replace(HOST, libvirt_version=Version(11, 3), qemu_version=Version(10, 0), arch="s390x")


def test_a_step_keeps_rule_and_fingerprint_of_its_findings_alone() -> None:
    (found,) = step(live(definition(interface("e1000")))).findings
    assert (found.rule, len(found.fingerprint) > 9) == ("VNIC002", True)


def test_an_impossible_nic_on_s390x_becomes_ccw() -> None:
    """It never started: there is nothing in the guest to be renamed, so it is safe."""
    source = live(definition(interface("e1000", children=PCI_ONLY), machine=S390X))
    found = step(source)
    assert [(one.field, one.new, one.safe) for one in found.changes] == [
        ("model", "virtio", True), ("address_type", None, True),
    ]  # fmt: skip
    assert found.reason == (
        "the guest has never started with this NIC: there is no name or address in it to keep"
    )
    assert changed_lines(found.diff) == [
        "-      <model type='e1000'/>",
        "-      <rom bar='off'/>",
        "-      <acpi index='1'/>",
        "-      <address type='pci' domain='0x0000' bus='0x00' slot='0x03' function='0x0'/>",
        "+      <model type='virtio'/>",
    ]


def test_an_address_that_virtio_cannot_have_goes_with_the_model(tmp_path: Path) -> None:
    """libvirt adds a PCI bridge for e1000, and for virtio a port with slot 0 alone, in a definition
    without controllers: as audit --fix does, if unsafe changes are asked for."""
    bridge = "type='pci' domain='0x0000' bus='0x09' slot='0x01' function='0x0'"
    (source,) = in_file(
        tmp_path / "a.xml", definition(interface("e1000", address=bridge), machine=Q35)
    )
    assert codes(step(source)) == ("brings-up-error",)
    found = step(source, PlanOptions(unsafe=True))
    assert [(one.field, one.new, one.safe) for one in found.changes] == [
        ("model", "virtio", True), ("address", None, False),
    ]  # fmt: skip
    assert (found.safe, found.blocked) == (False, ())


def test_an_emulated_nic_that_does_start_on_s390x_is_not_safe() -> None:
    """QEMU 10 has e1000e there: the guest knows it by its address."""
    text = definition(interface("e1000e", children=PCI_ONLY), machine=S390X)
    source = live(text, host=NEWER)
    assert left(source).text == (
        "unsafe: the guest sees a different device and may rename the interface (--include-unsafe "
        "plans it)"
    )
    found = step(source, PlanOptions(unsafe=True))
    assert not found.safe
    assert [one.field for one in found.changes] == ["model", "address_type"]


def test_virtio_on_zpci_moves_to_ccw_if_asked_for() -> None:
    source = live(definition(interface("virtio", children=PCI_ONLY), machine=S390X), host=NEWER)
    assert isinstance(plan(source)[0], NotPlanned)
    found = step(source, PlanOptions(unsafe=True))
    assert [(one.field, one.new) for one in found.changes] == [("address_type", None)]
    assert all("virtio" not in line for line in changed_lines(found.diff))


def test_virtio_on_ccw_stays() -> None:
    assert plan(live(definition(interface("virtio", address=CCW), machine=S390X))) == []


_OTHER = interface("virtio", 2, children="<driver name='vhost' iommu='on'/>", address=CCW)


@rows
def test_secure_execution_gets_an_iommu(text: str, tmp_path: Path) -> None:
    """Without it the guest has no network; in a file as on a host."""
    (filed,) = in_file(tmp_path / "a.xml", text)
    for source in (live(text), filed):
        found = step(source)
        assert [(one.field, one.old, one.new) for one in found.changes][-1] == (
            "iommu", None, "on",
        )  # fmt: skip
        assert "+      <driver iommu='on'/>" in changed_lines(found.diff)
        assert found.safe


def test_secure_execution_in_a_file_of_several_domains(tmp_path: Path) -> None:
    """Each by what stands in its own definition."""
    text = definition(interface("e1000"), machine=S390X) + definition(
        interface("e1000"), _OTHER, machine=S390X, name="b"
    )
    plain, secure = in_file(tmp_path / "a.xml", text)
    assert [one.field for one in step(plain).changes] == ["model", "address_type"]
    assert [one.field for one in step(secure).changes] == ["model", "address_type", "iommu"]


def test_an_iommu_is_nobody_elses_business() -> None:
    """On x86 it is for device assignment in the guest."""
    other = interface("virtio", 2, children="<driver iommu='on'/>")
    found = step(live(definition(interface("e1000"), other)))
    assert [one.field for one in found.changes] == ["model"]


def test_encrypted_memory_on_x86_is_not_safe() -> None:
    sev = "<launchSecurity type='sev'><policy>0x1</policy></launchSecurity>"
    source = live(definition(interface("e1000"), behind=sev))
    assert left(source).reason.startswith("unsafe: the guest's memory is encrypted")


@pytest.mark.parametrize(
    ("options", "source"),
    [
        (VDPA, f"<source dev='{DEVICE}'/>"),
        (VHOSTUSER, f"<source type='unix' path='{SOCKET}' mode='server'/>"),
    ],
    ids=["vdpa", "vhostuser"],
)
def test_a_conversion_is_one_step_with_the_model(options: PlanOptions, source: str) -> None:
    found = step(live(definition(interface("e1000"), before=SHARED)), options, devices=CARD)
    assert (found.to, found.safe, found.blocked) == (options.to, True, ())
    lines = changed_lines(found.diff)
    assert lines == [
        "-    <interface type='bridge'>",
        f"+    <interface type='{options.to}'>",
        "-      <source bridge='br0'/>",
        "-      <model type='e1000'/>",
        f"+      {source}",
        "+      <model type='virtio'/>",
    ]


@pytest.mark.parametrize("options", [VDPA, VHOSTUSER], ids=["vdpa", "vhostuser"])
@pytest.mark.parametrize("system", [None, WINDOWS], ids=["unknown", "needs-driver"])
def test_a_conversion_goes_through_the_readiness_gate(
    options: PlanOptions, system: str | None
) -> None:
    """It makes the NIC virtio as well: a guest without its driver would lose its network."""
    source = live(definition(interface("e1000"), os=system, before=SHARED))
    found = left(source, options, devices=CARD)
    assert found.reason.startswith("unsafe: ")
    assert found.text.endswith("(--include-unsafe plans it)")
    asked = step(source, replace(options, unsafe=True), devices=CARD)
    assert not asked.safe


@pytest.mark.parametrize("unsafe", [False, True])
def test_a_guest_that_cannot_is_never_converted(unsafe: bool) -> None:
    source = live(definition(interface("e1000"), os=WINDOWS_95))
    found = step(source, replace(VDPA, unsafe=unsafe), devices=CARD)
    assert codes(found)[0] == "not-supported"


def test_a_virtio_nic_is_converted_whatever_the_guest() -> None:
    """The guest drives it already."""
    found = step(live(definition(interface("virtio"), os=None)), VDPA, devices=CARD)
    assert (found.safe, found.blocked) == (True, ())
    assert [one.field for one in found.changes] == ["type", "source", "device"]


def test_a_conversion_that_renames_is_not_safe() -> None:
    found = step(live(definition(interface("e1000"), os=CENTOS_7)), VDPA, devices=CARD)
    assert not found.safe


def test_only_the_named_nics_are_converted() -> None:
    source = live(definition(interface("e1000"), interface("e1000", 2)))
    (found,) = steps(source, VDPA, devices=CARD)
    assert found.about.mac == MAC


def test_what_is_lost_blocks_until_it_is_accepted_by_name() -> None:
    children = "<filterref filter='clean-traffic'/>\n      <mtu size='9000'/>"
    source = live(definition(interface("virtio", children=children)))
    found = step(source, VDPA, devices=CARD)
    assert [(loss.function, loss.accepted) for loss in found.losses] == [
        ("filterref", False), ("mtu", False),
    ]  # fmt: skip
    assert len(found.refused) == 2
    assert found.refused[1].endswith("(accept it by name: mtu)")
    some = step(source, replace(VDPA, accepted=frozenset({"mtu"})), devices=CARD)
    assert len(some.refused) == 1
    both = step(source, replace(VDPA, accepted=frozenset({"mtu", "filterref"})), devices=CARD)
    assert both.refused == ()
    assert both.diff == found.diff


def test_a_device_that_another_domain_has_is_not_planned() -> None:
    source = live(definition(interface("virtio")))
    found = step(source, VDPA, devices=CARD, users={(URI, DEVICE): "b"})
    assert why(found) == (f"{DEVICE} is used by domain b",)
    assert step(source, VDPA, devices=CARD, users={(URI, DEVICE): "a"}).blocked == ()
    assert step(source, VDPA, devices=CARD, users={("qemu+ssh://x/", DEVICE): "b"}).blocked == ()


def test_devices_of_another_machine_cannot_be_seen() -> None:
    found = step(live(definition(interface("virtio")), local=False), VDPA, devices=CARD)
    assert why(found) == (f"{DEVICE} cannot be checked from here: run this on the host itself",)


def test_a_conversion_is_not_for_a_running_guest() -> None:
    found = step(live(definition(interface("virtio")), RUNNING), VDPA, devices=CARD)
    assert found.mode("hotswap").code == "virtio-only"
    waits = step(live(definition(interface("virtio"), before=SHARED), RUNNING), VHOSTUSER)
    assert not waits.mode("restart").possible


def test_the_second_nic_is_converted_alone() -> None:
    source = live(definition(interface("virtio"), interface("e1000", 2)))
    (found,) = steps(source, replace(VDPA, macs=(SECOND,)), devices=CARD)
    assert found.about.mac == SECOND
    assert [one.field for one in found.changes] == ["model", "type", "source", "device"]


AUTO = PlanOptions(policy=PolicyTable(queues="auto", rx_queue_size=1024, tx_queue_size=1024))


def test_the_policy_goes_with_the_model_and_says_what_was_cut() -> None:
    found = step(live(definition(interface("e1000"))), AUTO)
    assert found.rules == ("VNIC002", "policy")
    assert [(one.field, one.new) for one in found.changes] == [
        ("model", "virtio"), ("queues", "4"), ("rx_queue_size", "1024"),
    ]  # fmt: skip
    assert found.notes == (
        "256 instead of 1024 descriptors of the transmit ring: more is for vhost-user and vDPA "
        "only",
    )
    assert "+      <driver queues='4' rx_queue_size='1024'/>" in changed_lines(found.diff)


def test_the_policy_alone_makes_a_step_of_a_virtio_nic() -> None:
    found = step(live(definition(interface("virtio"))), AUTO)
    assert (found.rules, found.safe) == (("policy",), True)


def test_without_a_policy_queues_stay() -> None:
    """VNIC030 reports one queue pair for 4 vCPUs; a plan gives none unasked."""
    assert plan(live(definition(interface("virtio")))) == []


def test_fewer_queues_are_a_finding_that_is_planned() -> None:
    found = step(live(definition(interface("virtio", children="<driver queues='8'/>"))))
    assert (found.rules, found.changes[0].new) == (("VNIC031",), "4")


def test_the_policy_is_not_for_a_nic_that_stays_emulated() -> None:
    found = plan(live(definition(interface("e1000"), os=None)), AUTO)
    assert not any(isinstance(one, UnitStep) for one in found)


def test_unsafe_queues_are_for_those_who_ask() -> None:
    """A tap that is there before the guest must have been made for them."""
    source = live(definition(interface("virtio", kind="ethernet")))
    options = PlanOptions(policy=PolicyTable(queues="auto"))
    assert plan(source, options) == []
    found = step(source, replace(options, unsafe=True))
    assert (found.safe, found.changes[0].field) == (False, "queues")
