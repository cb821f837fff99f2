"""What a plan said, and apply did otherwise: hot swaps that libvirt refuses, addresses that were
put back, a bridge that was left without a word, one reason for several changes, half a word."""

import pytest
from msgspec.structs import replace

from tests.remedy.planning.planned import (
    DEBIAN,
    MAC,
    RUNNING,
    S390X,
    SHARED,
    definition,
    interface,
    live,
    step,
)
from tests.remedy.works import work
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.model.host import HostConfig
from vnicaudit.model.plan import Plan, Step
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.reports.plan import from_json, to_json
from vnicaudit.reports.plan.text import render
from vnicaudit.reports.writers import Options

AGENT = (
    "    <channel type='unix'><target type='virtio' name='org.qemu.guest_agent.0' "
    "state='connected'/></channel>\n"
)
SLOT = "type='pci' domain='0x0000' bus='0x00' slot='0x05' function='{}'{}"
FIRST = SLOT.format("0x0", " multifunction='on'")
SOCKET = PlanOptions(to="vhostuser", macs=(MAC,), devices=("/run/openvswitch/vhu1",))
LOST = replace(SOCKET, accepted=frozenset({"filterref"}))


def plan_of(found: Step) -> Plan:
    """A plan of this step alone."""
    return Plan(
        tool="vnicaudit",
        version="1",
        created="2026-11-22T00:00:00Z",
        to="virtio",
        targets=("x",),
        steps=(found,),
    )


def text_of(found: Step) -> str:
    """The step as it is shown, on one line."""
    return " ".join("".join(render(plan_of(found), Options(100))).split())


@pytest.mark.parametrize("other", ["interface", "device"])
def test_no_hot_swap_of_one_function_of_a_slot(other: str) -> None:
    """libvirt: cannot hot unplug interface device with multifunction PCI guest address."""
    second = SLOT.format("0x1", "")
    if other == "interface":
        second_nic = interface("virtio", 2, address=second)
        text = definition(interface(address=FIRST), second_nic, devices=AGENT)
    else:
        sound = f"<sound model='ich6'><address {second}/></sound>\n"
        text = definition(interface(address=FIRST), devices=sound + AGENT)
    found = step(live(text, RUNNING))
    assert not found.mode("hotswap").possible
    assert found.mode("hotswap").reason == (
        "another device shares its PCI slot (as another function): libvirt cannot unplug either"
    )
    assert found.mode("restart").possible


def test_a_function_that_is_alone_on_its_slot_is_swapped() -> None:
    text = definition(interface(address=FIRST), interface("virtio", 2), devices=AGENT)
    assert step(live(text, RUNNING)).mode("hotswap").possible


def test_no_hot_swap_on_the_root_bus_of_q35() -> None:
    """QEMU: Bus 'pcie.0' does not support hotplugging. A port or a bridge does."""
    text = definition(interface(address=SLOT.format("0x0", "")), devices=AGENT)
    assert step(live(text, RUNNING)).mode("hotswap").possible, "pc has one bus, with hot plug"
    text = text.replace("pc-i440fx-7.2", "pc-q35-7.2")
    found = step(live(text, RUNNING)).mode("hotswap")
    assert (found.possible, found.code) == (False, "root-bus")
    bridged = text.replace("bus='0x00' slot='0x05'", "bus='0x02' slot='0x05'")
    assert step(live(bridged, RUNNING)).mode("hotswap").possible


def test_a_guest_that_is_off_is_offered_no_hot_swap() -> None:
    found = step(live(definition(interface())))
    assert "mode: next-boot (the guest is off: the change takes effect when it is started)" in (
        text_of(found)
    )
    assert "hotswap" not in text_of(found)
    assert not step(live(definition(interface(), before=SHARED)), SOCKET).mode("hotswap").possible


def test_a_hot_swap_puts_addresses_back() -> None:
    notes = step(live(definition(interface(), devices=AGENT), RUNNING)).guest.notes
    assert not any("without the addresses" in note for note in notes)
    assert any(
        "the guest agent reads its addresses and routes before the change" in note for note in notes
    )


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (SOCKET, "/run/openvswitch/vhu1"),
        (PlanOptions(to="vdpa", macs=(MAC,), devices=("/dev/vhost-vdpa-0",)), "/dev/vhost-vdpa-0"),
    ],
)
def test_a_nic_that_leaves_its_bridge_says_so(options: PlanOptions, place: str) -> None:
    found = step(live(definition(interface(), before=SHARED)), options)
    assert found.notes[0] == (
        f"the NIC leaves bridge br0: connect {place} to the same network, with the same VLAN, "
        "before the guest starts"
    )


def test_the_folder_of_a_socket_is_named() -> None:
    found = step(live(definition(interface(), before=SHARED)), SOCKET)
    assert (
        "the folder /run/openvswitch must be there, and QEMU's user may write to it" in found.notes
    )


def test_each_change_has_its_reason() -> None:
    rom = "<rom file='/usr/lib/ipxe/qemu/pxe-e1000.rom'/>"
    options = PlanOptions(policy=PolicyTable(queues=2))
    found = step(live(definition(interface(children=rom))), options)
    assert len({one.reason for one in found.changes}) > 1
    for change in found.changes:
        assert change.reason in found.reason


def test_each_change_shows_its_own_reason() -> None:
    """An unsafe change hid why the others are safe; of several it could not be told whose reason
    was whose."""
    rom = "<rom file='/srv/roms/own.rom'/>"
    options = PlanOptions(policy=PolicyTable(queues=2), unsafe=True)
    found = step(live(definition(interface(children=rom))), options)
    words = text_of(found)
    assert {one.safe for one in found.changes} == {True, False}
    for change in found.changes:
        new = "removed" if change.new is None else change.new
        safety = "safe" if change.safe else "unsafe"
        assert f"change: {change.field} {change.old or 'not set'} → {new} " in words
        assert f" → {new} ({safety}: {change.reason})" in words
    queues = next(one for one in found.changes if one.field == "queues")
    assert queues.safe
    assert queues.reason not in found.reason
    assert not found.safe
    carried = from_json(to_json(plan_of(found)), "p.json").steps[0]
    assert [one.reason for one in carried.changes] == [one.reason for one in found.changes]


def test_a_reason_is_not_told_twice() -> None:
    """Beside the changes stands only what none of them says: here, that the name is another."""
    options = PlanOptions(policy=PolicyTable(queues=2))
    found = step(live(definition(interface())), options)
    words = text_of(found)
    assert len(found.changes) == 2
    assert all(words.count(one.reason) == 1 for one in found.changes)
    named = replace(found, safe=False, reason="the name is another")
    assert " unsafe: the name is another mode:" in text_of(named)
    another = "the name is another"
    both = replace(found, reason=f"{found.reason}; {another}", risk=another)
    for one in (both, from_json(to_json(plan_of(both)), "p.json").steps[0]):
        assert " safe: the name is another mode:" in text_of(one)
    edited = replace(found, reason="somebody's own words")
    assert " safe: somebody's own words mode:" in text_of(edited)


@pytest.mark.parametrize("options", [PlanOptions(), LOST], ids=["one change", "one reason"])
def test_one_reason_is_told_once_for_the_step(options: PlanOptions) -> None:
    found = step(live(definition(interface(), before=SHARED)), options)
    assert f" → virtio {'change' if len(found.changes) > 1 else 'safe'}: " in text_of(found)
    assert text_of(found).count(f"safe: {found.reason}") == 1


def test_no_word_is_cut() -> None:
    """An element that is longer than a line has place for ends between two words, and says so."""
    rules = "<filterref filter='clean-traffic'><parameter name='IP' value='192.0.2.1'/></filterref>"
    found = step(live(definition(interface(children=rules), before=SHARED)), LOST)
    (change,) = (one for one in found.changes if one.field == "filterref")
    assert change.old == '<filterref filter="clean-traffic"><parameter name="IP" …'


@pytest.mark.parametrize("address", ["", "type='pci' domain='0' bus='0' slot='1' function='0'"])
def test_audit_and_plan_agree_on_a_nic_that_never_started(address: str) -> None:
    source = live(definition(interface(address=address), machine=S390X, os=DEBIAN))
    audited = work().domain(source.domain, HostConfig(), "x")
    (finding,) = (one for one in audited.findings if one.rule == "VNIC008")
    assert finding.change is not None
    assert finding.change.safe
    assert step(source).safe
