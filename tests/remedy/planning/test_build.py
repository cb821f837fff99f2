"""A domain -> steps: one for each NIC, with the change and nothing else in its diff."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.remedy.planning.blocked import codes, why
from tests.remedy.planning.planned import (
    CENTOS_6,
    CENTOS_7,
    HOST,
    MAC,
    OFF,
    Q35,
    RUNNING,
    SECOND,
    URI,
    UUID,
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
from tests.remedy.planning.units import file_of
from tests.rows import rows_of_tuples
from vnicaudit.audit.judging.catalogue import rule_ids
from vnicaudit.audit.settings.keys import PolicyTable
from vnicaudit.cli.wiring.adapters import adapters
from vnicaudit.model.domain import DomainState
from vnicaudit.model.finding import Change, Ref
from vnicaudit.model.host import Network
from vnicaudit.model.plan import DomainUnit, GuestView, NotPlanned
from vnicaudit.platforms.domain_xml.write import rewritten
from vnicaudit.remedy.planning.run import PlanOptions
from vnicaudit.remedy.planning.source import AgentNames, DomainSource
from vnicaudit.remedy.replacing import digest, is_of_source

KEEPS = "the guest already supports virtio; its MAC and device address stay the same"
SWAP = ["-      <model type='e1000'/>", "+      <model type='virtio'/>"]
UNSAFE = PlanOptions(unsafe=True)


def test_one_nic_of_a_live_domain() -> None:
    source = live(definition(interface("e1000")), RUNNING)
    found = step(source)
    assert (found.target, found.unit) == (URI, DomainUnit())
    assert found.about == Ref("nic", "a", UUID, MAC, 0, None)
    assert (found.owner, found.to, found.rules) == ("libvirt", "virtio", ("VNIC002",))
    assert found.changes == (Change("model", "e1000", "virtio", safe=True, reason=KEEPS),)
    assert (found.readiness, found.safe, found.reason) == ("ready", True, KEEPS)
    assert found.running
    assert (found.blocked, found.losses, found.procedure, found.notes) == ((), (), (), ())
    assert found.refused == ()
    assert is_of_source(found, digest(source.text))


def test_the_diff_is_the_change_and_is_named_after_the_domain() -> None:
    found = step(live(definition(interface("e1000"))))
    assert found.diff.startswith("--- a\n+++ a\n@@ ")
    assert changed_lines(found.diff) == SWAP


def test_a_step_of_a_file_says_where_the_nic_stands(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    text = definition(interface("e1000"))
    (source,) = in_file(path, text)
    found = step(source)
    assert (found.target, file_of(found).path) == (str(path), str(path))
    assert file_of(found).place == "/domain/devices/interface[1]"
    assert not found.running
    assert is_of_source(found, digest(text.encode()))
    assert found.diff.startswith(f"--- {path}\n+++ {path}\n@@ ")
    assert changed_lines(found.diff) == SWAP
    assert [(mode.mode, mode.possible) for mode in found.modes] == [
        ("next-boot", True), ("restart", False), ("hotswap", False),
    ]  # fmt: skip


def test_each_nic_has_a_step_of_its_own_and_each_diff_that_nic_alone() -> None:
    both = live(definition(interface("e1000"), interface("virtio", 2), interface("rtl8139", 3)))
    first, third = steps(both)
    assert (first.about.index, first.rules) == (0, ("VNIC002",))
    assert (third.about.index, third.rules) == (2, ("VNIC001",))
    assert changed_lines(first.diff) == SWAP
    assert changed_lines(third.diff) == [
        "-      <model type='rtl8139'/>", "+      <model type='virtio'/>",
    ]  # fmt: skip


def test_virtio_is_left_alone_and_not_mentioned() -> None:
    assert plan(live(definition(interface("virtio")))) == []


def test_assigned_devices_are_left_alone() -> None:
    hostdev = (
        "    <interface type='hostdev'><mac address='52:54:00:00:00:09'/><source>"
        "<address type='pci' domain='0' bus='3' slot='16' function='1'/></source></interface>\n"
    )
    pool = interface("rtl8139", kind="network")
    assert plan(live(definition(hostdev))) == []
    networks = (Network("default", "hostdev"),)
    assert plan(live(definition(pool), networks=networks)) == []


@pytest.mark.parametrize(
    ("system", "readiness", "reason"),
    [
        (None, "unknown", "the guest may have no virtio driver"),
        (WINDOWS, "needs-driver", "Windows does not include a virtio driver: install NetKVM"),
    ],
)
def test_what_may_hurt_the_guest_is_left_unless_it_is_asked_for(
    system: str | None, readiness: str, reason: str
) -> None:
    source = live(definition(interface("e1000"), os=system))
    found = left(source)
    assert (found.about, found.target, found.rules) == (
        Ref("nic", "a", UUID, MAC, 0),
        URI,
        ("VNIC002",),
    )
    assert found.reason.startswith(f"unsafe: {reason}")
    assert found.text.endswith(" (--include-unsafe plans it)")
    asked = step(source, UNSAFE)
    assert (asked.readiness, asked.safe) == (readiness, False)
    assert asked.reason.startswith(reason)


def test_a_disk_alone_does_not_make_it_safe() -> None:
    disk = "    <disk type='file'><source file='/d'/><target dev='vda' bus='virtio'/></disk>\n"
    source = live(definition(interface("e1000"), os=None, devices=disk))
    assert left(source).reason.startswith("unsafe: if this is Windows")
    assert step(source, UNSAFE).readiness == "likely-ready"


@pytest.mark.parametrize("options", [PlanOptions(), UNSAFE], ids=["safe", "unsafe"])
def test_a_guest_that_cannot_is_named_and_never_planned(options: PlanOptions) -> None:
    source = live(definition(interface("e1000"), os=WINDOWS_95))
    found = left(source, options)
    assert (found.rules, found.code) == (("VNIC002",), "no-proposal")


def test_an_old_driver_keeps_its_conventional_slot() -> None:
    found = step(live(definition(interface("e1000"), os=CENTOS_6)))
    assert (found.readiness, found.safe) == ("ready-transitional", True)
    assert changed_lines(found.diff) == SWAP
    assert found.guest.id_after == "1af4:1000"


_PORTS = (
    "    <controller type='pci' index='0' model='pcie-root'/>\n"
    "    <controller type='pci' index='1' model='pcie-root-port'/>\n"
)
_BEHIND_PORT = "type='pci' domain='0x0000' bus='0x01' slot='0x00' function='0x0'"


def test_an_old_driver_behind_a_port_gets_a_transitional_device_if_asked_for() -> None:
    nic = interface("e1000e", address=_BEHIND_PORT)
    source = live(definition(nic, os=CENTOS_6, machine=Q35, devices=_PORTS))
    assert "supports only virtio 0.9 and this address is a PCI Express port" in left(source).reason
    found = step(source, UNSAFE)
    assert (found.changes[0].new, found.safe) == ("virtio-transitional", False)


def test_the_id_behind_a_port_is_known_in_a_file_too(tmp_path: Path) -> None:
    nic = interface("e1000e", address=_BEHIND_PORT)
    text = definition(nic, machine=Q35, devices=_PORTS)
    (source,) = in_file(tmp_path / "a.xml", text)
    for found in (step(source), step(live(text))):
        assert (found.guest.id_before, found.guest.id_after) == ("8086:10d3", "1af4:1041")


@rows_of_tuples
def test_a_name_that_is_lost_makes_a_step_unsafe(
    system: str, interfaces: tuple[str, ...], says: str
) -> None:
    """Its configuration, an address perhaps, is not for the new name: the guest is cut off."""
    found = step(live(definition(interface("e1000"), *interfaces, os=system)))
    assert all(change.safe for change in found.changes)
    assert not found.safe
    assert found.reason.startswith(says)


def test_a_name_that_the_agent_knows_to_be_the_kernels_stays() -> None:
    """CentOS 7 with net.ifnames=0."""
    source = live(definition(interface("e1000"), os=CENTOS_7), RUNNING)
    found = step(source, names=lambda _source: {MAC: "eth0"})
    assert (found.safe, found.guest.name.after) == (True, "eth0")
    found = step(source, names=lambda _source: {MAC: "ens3"})
    assert not found.safe


class _Names(AgentNames):
    """Two names, and the domains that were asked."""

    def __init__(self) -> None:
        super().__init__(adapters(), 1)
        self.asked: list[str] = []

    def _ask(self, source: DomainSource) -> dict[str, str]:
        self.asked.append(source.domain.name)
        return {MAC: "ens3", SECOND: "ens4"}


def test_a_guest_is_asked_for_its_names_once() -> None:
    names = _Names()
    text = definition(interface("e1000"), interface("e1000", 2), interface("virtio", 3))
    found = steps(live(text, RUNNING), names=names)
    assert [one.guest.name.before for one in found] == ["ens3", "ens4"]
    assert names.asked == ["a"]
    assert plan(live(definition(interface("virtio")), RUNNING), names=names) == []
    assert names.asked == ["a"]


def test_more_queues_do_not_rename_anything() -> None:
    options = PlanOptions(policy=PolicyTable(queues=2))
    found = step(live(definition(interface("virtio"), os=CENTOS_7)), options)
    assert (found.rules, found.safe) == (("policy",), True)


def test_nothing_is_said_of_snippets_or_names_where_nothing_changes(tmp_path: Path) -> None:
    """A step that is blocked before there is a change has nothing for the guest to see."""
    (source,) = in_file(tmp_path / "a.xml", definition(interface("virtio")))
    options = PlanOptions(to="vdpa", macs=(MAC,), devices=("/dev/vhost-vdpa-0",))
    found = step(source, options)
    assert (found.diff, found.changes, found.guest) == ("", (), GuestView())
    assert why(found) == ("a definition in a file cannot be converted: plan on the host",)


def test_transient_domains_have_nothing_to_be_changed() -> None:
    state = replace(RUNNING, persistent=False)
    found = left(live(definition(interface("e1000")), state))
    assert found.reason == "it is transient: it has no persistent definition to change"
    options = PlanOptions(to="vdpa", macs=(MAC,), devices=("/dev/vhost-vdpa-0",))
    assert left(live(definition(interface("virtio")), state), options).reason == found.reason


_BACK = "would bring the old NIC back"


@rows_of_tuples
def test_what_would_bring_the_old_nic_back_blocks(known: tuple[bool, int, int], says: str) -> None:
    assert why(step(live(definition(interface("e1000")), _kept(*known)))) == (says,)


@rows_of_tuples
def test_what_else_is_known_of_its_state_is_noted(
    known: tuple[bool | None, int | None, int | None], notes: tuple[str, ...]
) -> None:
    found = step(live(definition(interface("e1000")), _kept(*known)))
    assert (found.notes, found.blocked) == (notes, ())


def _kept(saved: bool | None, snapshots: int | None, with_memory: int | None) -> DomainState:
    return replace(OFF, managed_save=saved, snapshots=snapshots, memory_snapshots=with_memory)


def test_two_nics_with_one_mac_are_not_touched_on_a_host() -> None:
    """They are known by it when the plan is applied."""
    twins = definition(interface("e1000"), interface("rtl8139", 2, mac=MAC))
    same = "another NIC of the domain has the same MAC address: they cannot be told apart"
    assert [why(found) for found in steps(live(twins))] == [(same,), (same,)]


def test_two_nics_with_one_mac_are_told_apart_in_a_file(tmp_path: Path) -> None:
    twins = definition(interface("e1000"), interface("rtl8139", 2, mac=MAC))
    (source,) = in_file(tmp_path / "a.xml", twins)
    first, second = steps(source)
    assert (file_of(first).place, changed_lines(first.diff)) == (
        "/domain/devices/interface[1]",
        SWAP,
    )
    assert file_of(second).place == "/domain/devices/interface[2]"
    assert changed_lines(second.diff)[0] == "-      <model type='rtl8139'/>"
    assert first.blocked == second.blocked == ()


def test_nics_without_mac(tmp_path: Path) -> None:
    """In a file they have a place; libvirt always writes one."""
    text = definition(interface("e1000", mac=None), interface("rtl8139", 2, mac=None), uuid=None)
    (source,) = in_file(tmp_path / "a.xml", text)
    assert [(found.about, found.blocked) for found in steps(source)] == [
        (Ref("nic", "a", None, None, 0), ()), (Ref("nic", "a", None, None, 1), ()),
    ]  # fmt: skip
    none = "its definition has no MAC address to identify it by"
    assert [why(found) for found in steps(live(text))] == [(none,), (none,)]


def test_a_nic_without_model_becomes_virtio(tmp_path: Path) -> None:
    """By hand, on x86: libvirt would make it an rtl8139."""
    (source,) = in_file(tmp_path / "a.xml", definition(interface(None)))
    found = step(source)
    assert found.rules == ("VNIC006",)
    assert changed_lines(found.diff) == ["+      <model type='virtio'/>"]


_QEMU_NIC = (
    "<qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
    "<qemu:arg value='-netdev'/><qemu:arg value='tap,id=n1,ifname=t1'/>"
    "<qemu:arg value='-device'/>"
    "<qemu:arg value='e1000,netdev=n1,mac=52:54:00:00:00:77'/></qemu:commandline>"
)


def test_nics_of_qemu_arguments_are_named_and_left() -> None:
    found = plan(live(definition(interface("e1000"), behind=_QEMU_NIC)))
    (there,) = (one for one in found if isinstance(one, NotPlanned))
    assert (there.about.mac, there.about.index) == ("52:54:00:00:00:77", 1)
    assert there.reason == "it is not an <interface> of a definition: change it where it is added"
    (made,) = (one for one in found if not isinstance(one, NotPlanned))
    assert made.about.index == 0


def test_a_nic_that_only_the_running_guest_has_is_named() -> None:
    now = definition(interface("virtio"), interface("e1000", 2))
    found = left(live(definition(interface("virtio")), RUNNING, running=now))
    assert found.about.mac == SECOND
    assert found.reason == (
        "only the running guest has it: it was attached live and is not in the definition"
    )  # fmt: skip


def test_what_is_staged_already_is_not_planned_again() -> None:
    now = definition(interface("e1000"))
    assert plan(live(definition(interface("virtio")), RUNNING, running=now)) == []


def test_the_persistent_definition_is_changed_not_what_runs() -> None:
    """What libvirt adds while it runs is nowhere in the step."""
    now = definition(interface("e1000", children="<target dev='vnet3'/><alias name='net0'/>"))
    source = live(definition(interface("e1000")), RUNNING, running=now)
    found = step(source)
    assert "vnet3" not in found.diff
    assert is_of_source(found, digest(source.text))


def test_the_domains_that_are_named_by_name_or_uuid() -> None:
    source = live(definition(interface("e1000")))
    for name in ("a", UUID, UUID.upper()):
        assert len(steps(source, PlanOptions(domains=frozenset({name, "x"})))) == 1
    assert plan(source, PlanOptions(domains=frozenset({"b", "A"}))) == []


def test_the_nics_that_are_named() -> None:
    source = live(definition(interface("e1000"), interface("e1000", 2)))
    assert [found.about.mac for found in steps(source, PlanOptions(macs=(SECOND,)))] == [SECOND]


def test_equal_nics_have_steps_of_their_own() -> None:
    source = live(definition(interface("e1000"), interface("e1000", 2)))
    first, second = (found.diff for found in steps(source))
    assert changed_lines(first) == changed_lines(second)
    places = [[line for line in diff.splitlines() if line[:2] == "@@"] for diff in (first, second)]
    assert places[0] != places[1]


def test_only_what_the_chosen_rules_find() -> None:
    source = live(definition(interface("e1000"), interface("rtl8139", 2)))
    assert [found.rules for found in steps(source, rules=("VNIC001",))] == [("VNIC001",)]
    assert plan(source, rules=("VNIC034",)) == []


def test_what_goes_with_the_model_is_in_the_same_step() -> None:
    """libvirt passes tuning over beside e1000 and reads it beside virtio."""
    tuned = "<driver queues='16' rx_queue_size='2048' tx_queue_size='1024'/>"
    source = live(definition(interface("e1000", children=tuned)))
    found = step(source)
    assert found.changes[0].field == "model"
    assert {change.field: change.new for change in found.changes} == {
        "model": "virtio", "rx_queue_size": "1024", "tx_queue_size": None, "queues": "4",
    }  # fmt: skip
    assert "<driver queues='4' rx_queue_size='1024'/>" in found.diff


def test_an_error_that_would_come_up_blocks_whatever_rules_are_chosen() -> None:
    """libvirt passes the driver over beside e1000, and not beside virtio."""
    source = live(
        definition(interface("e1000", children="<driver name='vhost'/>")),
        host=replace(HOST, vhost_net=False, kvm=True),
    )
    for rules in ((), ("VNIC002",)):
        found = step(source, rules=rules)
        assert found.rules == ("VNIC002",)
        assert codes(found) == ("brings-up-error",)


def test_findings_that_the_domain_itself_suppresses_are_not_planned() -> None:
    entry = (
        "<vnicaudit:suppressions xmlns:vnicaudit='https://vnicaudit.org/xmlns/1'>"
        "<vnicaudit:suppress rule='VNIC002' reason='old appliance'/></vnicaudit:suppressions>"
    )
    text = definition(interface("e1000"), metadata=entry)
    source = live(text)
    assert source.domain.suppressions, "the test's entry is read"
    assert plan(source) == []


def test_what_is_planned_makes_the_finding_go_away() -> None:
    source = live(definition(interface("e1000"), interface("rtl8139", 2)))
    text = source.text
    for found in steps(source):
        text = rewritten(
            text, f"/domain/devices/interface[{(found.about.index or 0) + 1}]", found.changes
        )
    assert plan(live(text.decode())) == []


def test_all_rules_are_the_default() -> None:
    source = live(definition(interface("e1000")))
    assert steps(source, rules=rule_ids()) == steps(source)


def test_a_crashing_rule_costs_its_domain_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from vnicaudit.rules import vnic002

    def crash(_subject: object) -> None:
        raise ZeroDivisionError("no")

    judges = tuple(replace(judge, check=crash) for judge in vnic002.RULE.judges)
    monkeypatch.setattr(vnic002, "RULE", replace(vnic002.RULE, judges=judges))
    source = live(definition(interface("e1000"), interface("virtio", 2)))
    found = plan(source, PlanOptions(macs=(MAC,)), rules=("VNIC002",))
    assert [one.reason for one in found if isinstance(one, NotPlanned)] == [
        "rule VNIC002 crashes on it: ZeroDivisionError: no"
    ]


def test_several_domains_of_one_file(tmp_path: Path) -> None:
    text = definition(interface("e1000")) + definition(
        interface("rtl8139", 2), name="b", uuid=UUID.replace("6f", "7f")
    )
    first, second = in_file(tmp_path / "both.xml", text)
    one, two = step(first), step(second)
    assert (one.about.name, file_of(one).place) == ("a", "/domain[1]/devices/interface[1]")
    assert (two.about.name, file_of(two).place) == ("b", "/domain[2]/devices/interface[1]")
    assert all(is_of_source(each, digest(text.encode())) for each in (one, two))
    assert changed_lines(one.diff) == SWAP
    assert changed_lines(two.diff)[0] == "-      <model type='rtl8139'/>"


def test_a_network_is_resolved_by_its_host() -> None:
    """A filter holds on a tap, which is what the network gives."""
    source = live(definition(interface("e1000", kind="network")), networks=(
        Network("default", "bridge"),
    ))  # fmt: skip
    found = step(source)
    assert (found.safe, found.blocked) == (True, ())
