"""What of a file is fixed, what is not, and why."""

from types import ModuleType, SimpleNamespace

import pytest

from tests.remedy.works import work
from vnicaudit.cli.wiring.platforms import every_platform
from vnicaudit.model.finding import Change, Location
from vnicaudit.platforms.domain_xml import write
from vnicaudit.platforms.kubevirt import write as kubevirt
from vnicaudit.platforms.nova_conf import write as nova_conf
from vnicaudit.remedy import in_place
from vnicaudit.remedy.check import MadeChange, Reader, objection
from vnicaudit.remedy.in_place import FixedText, fixed
from vnicaudit.text.edits import Edit

writer_of = every_platform().writer
"""Tests put another in its place."""

_UBUNTU = (
    "<metadata><l:libosinfo xmlns:l='http://libosinfo.org/xmlns/libvirt/domain/1.0'>"
    "<l:os id='http://ubuntu.com/ubuntu/22.04'/></l:libosinfo></metadata>"
)
_NOVA = "<metadata><n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'/></metadata>"


def _domain(*nics: str, metadata: str = _UBUNTU) -> bytes:
    inside = "".join(f"\n    <interface type='bridge'>{nic}</interface>" for nic in nics)
    return (
        f"<domain type='kvm'><name>g</name>{metadata}<vcpu>2</vcpu>"
        f"<os><type arch='x86_64' machine='q35'>hvm</type></os>\n  <devices>{inside}\n"
        "  </devices>\n</domain>\n"
    ).encode()


def _nic(number: int, inside: str) -> str:
    return f"<mac address='52:54:00:00:00:0{number}'/><source bridge='br0'/>{inside}"


def _fixed(data: bytes, *, include_unsafe: bool = False) -> FixedText:
    return fixed(data, "x.xml", work(), writer_of, include_unsafe=include_unsafe)


def _rules(outcome: FixedText) -> list[str]:
    return sorted(finding.rule for finding in outcome.changes)


def test_safe_ones_of_every_nic() -> None:
    data = _domain(
        _nic(1, "<model type='e1000'/>"), _nic(2, "<model type='virtio'/><driver queues='4'/>")
    )
    outcome = _fixed(data)
    assert _rules(outcome) == ["VNIC002", "VNIC031"]
    assert outcome.after == data.replace(b"e1000", b"virtio").replace(b"'4'", b"'2'")
    assert outcome.refused == ()


def test_a_second_run_changes_nothing() -> None:
    once = _fixed(_domain(_nic(1, "<model type='e1000'/>")), include_unsafe=True)
    twice = _fixed(once.after, include_unsafe=True)
    assert (twice.after, twice.changes) == (once.after, ())


def test_unsafe_ones_are_counted_and_left() -> None:
    data = _domain(_nic(1, "<model type='e1000'/>"), metadata="")
    outcome = _fixed(data)
    assert (outcome.after, outcome.unsafe) == (data, 1)
    assert _fixed(data, include_unsafe=True).after == data.replace(b"e1000", b"virtio")


def test_a_more_severe_problem_is_not_brought_up() -> None:
    """An unknown guest's e1000 is a problem of severity low; a ring that libvirt refuses on virtio,
    and does not read on e1000, is one of severity error."""
    data = _domain(_nic(1, "<model type='e1000'/><driver rx_queue_size='511'/>"), metadata="")
    outcome = _fixed(data, include_unsafe=True)
    assert outcome.after == data
    assert outcome.refused[0].reason.startswith("it would cause VNIC035 (error): ")


_ON_A_BRIDGE = "<address type='pci' domain='0x0000' bus='0x09' slot='0x01' function='0x0'/>"


def test_an_address_that_virtio_cannot_have_goes_with_the_model() -> None:
    """libvirt 9.0 adds a PCI bridge for e1000, and for virtio a port with slot 0 alone ("Invalid
    PCI address 0000:09:01.0. slot must be <= 0"); it defines virtio without the address. The guest
    may rename its interface, so nothing is written unless unsafe fixes are asked for."""
    data = _domain(_nic(1, f"<model type='e1000'/>{_ON_A_BRIDGE}"))
    outcome = _fixed(data, include_unsafe=True)
    assert outcome.after == data.replace(b"e1000", b"virtio").replace(_ON_A_BRIDGE.encode(), b"")
    assert outcome.refused == ()
    (finding,) = outcome.changes
    assert finding.change is not None
    assert "its PCI address is removed" in finding.change.reason
    kept = _fixed(data)
    assert (kept.after, kept.changes) == (data, ())
    assert "PCI bus 9 has only slot 0" in kept.refused[0].reason


def test_what_libvirt_refuses_without_the_address_too_is_not_written() -> None:
    nic = f"<model type='e1000'/><driver rx_queue_size='511'/>{_ON_A_BRIDGE}"
    data = _domain(_nic(1, nic))
    outcome = _fixed(data, include_unsafe=True)
    assert (outcome.after, outcome.changes) == (data, ())
    assert len(outcome.refused) == 1


_ZPCI = "<address type='pci' domain='0x0000' bus='0x00' slot='0x01' function='0x0'/>"
_PCI_ONLY = "\n      <rom bar='off'/>\n      <acpi index='3'/>\n      "


@pytest.mark.parametrize("address", ["", _ZPCI])
def test_on_s390x_nothing_of_pci_is_left(address: str) -> None:
    """libvirt refuses ``<rom>`` and ``<acpi>`` on ccw."""
    nic = _nic(1, f"<model type='e1000'/>{_PCI_ONLY}{address}")
    data = _domain(nic).replace(b"x86_64' machine='q35", b"s390x' machine='s390-ccw-virtio")
    outcome = _fixed(data, include_unsafe=True)
    assert set(_rules(outcome)) == {"VNIC008"}
    assert outcome.refused == ()
    assert b"<model type='virtio'/>" in outcome.after
    assert not any(word in outcome.after for word in (b"<rom", b"<acpi", b"<address"))


def test_a_hint_is_no_objection() -> None:
    data = _domain(_nic(1, "<model type='e1000'/>"), metadata="").replace(b"<vcpu>2", b"<vcpu>8")
    outcome = _fixed(data, include_unsafe=True)
    assert (_rules(outcome), outcome.refused) == (["VNIC002", "VNIC030"], ())


def test_several_of_one_nic_one_after_the_other() -> None:
    nic = "<model type='virtio'/><driver name='vhost' queues='4' rx_queue_size='1000'/>"
    outcome = _fixed(_domain(_nic(1, nic)))
    assert _rules(outcome) == ["VNIC031", "VNIC035"]
    assert b"<driver name='vhost' queues='2' rx_queue_size='512'/>" in outcome.after


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            _domain(_nic(1, "<model type='virtio'/><driver queues='4'/>"), metadata=_NOVA),
            "the definition belongs to Nova, which rewrites it: change it there",
        ),
        (
            b"<!--\nWARNING: THIS IS AN AUTO-GENERATED FILE. CHANGES TO IT ARE LIKELY TO BE\n-->\n"
            + _domain(_nic(1, "<model type='virtio'/><driver queues='4'/>")),
            "libvirt's own file, which it overwrites: change it with virsh edit",
        ),
    ],
)
def test_what_is_somebody_elses(data: bytes, reason: str) -> None:
    outcome = _fixed(data)
    assert outcome.after == data
    assert [(one.reason, one.code) for one in outcome.refused] == [(reason, "owner")]


def test_a_problem_that_would_stay_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    def elsewhere(data: bytes, place: Location, change: Change) -> list[Edit]:
        del data, place, change
        return [Edit(0, 0, b" ")]

    _writes(monkeypatch, elsewhere)
    data = _domain(_nic(1, "<model type='e1000'/>"))
    outcome = _fixed(data)
    assert outcome.after == data
    assert outcome.refused[0].reason.startswith("model would not be virtio")
    assert outcome.refused[0].code == "objection"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"e1000'/>", b"virtio'/><driver queues='8'/>", "something else of NIC 0 would change"),
        (b"52:54:00:00:00:01", b"52:54:00:00:00:09", "NIC 0 would become another NIC"),
        (b"<name>g", b"<name>h", "it would become another domain"),
        (b"<vcpu>2", b"<vcpu>3", "something else in the domain would change"),
        (b"</domain>", b"</domain", "the result could not be read as before: not well-formed XML"),
        (b"</domain>", b"</domain><domain/>", "the result would describe fewer things than before"),
    ],
)
def test_other_facts_stay(
    old: bytes, new: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that does more than it was asked to is found out."""

    def careless(data: bytes, place: Location, change: Change) -> list[Edit]:
        start = data.index(old)
        also = Edit(start, start + len(old), new)
        wanted = write.edits_for(data, place, change) if old != b"e1000'/>" else []
        return [*wanted, also]

    _writes(monkeypatch, careless)
    data = _domain(_nic(1, "<model type='e1000'/>"))
    outcome = _fixed(data)
    assert outcome.after == data
    assert (outcome.refused[0].code, outcome.refused[0].reason[: len(reason)]) == (
        "objection", reason,
    )  # fmt: skip


def test_one_that_cannot_be_made_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def half(data: bytes, place: Location, change: Change) -> list[Edit]:
        if "[3]" in (place.xpath or ""):
            return [Edit(0, 0, b"<")]
        return write.edits_for(data, place, change)

    _writes(monkeypatch, half)
    data = _domain(*(_nic(number, "<model type='e1000'/>") for number in range(1, 8)))
    outcome = _fixed(data)
    assert [finding.about.index for finding in outcome.changes] == [0, 1, 3, 4, 5, 6]
    assert [one.finding.about.index for one in outcome.refused] == [2]
    assert outcome.after.count(b"virtio") == 6


def test_it_does_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_place, "_TRIES", 1)
    nic = "<model type='virtio'/><driver queues='4' rx_queue_size='1000'/>"
    outcome = _fixed(_domain(_nic(1, nic)))
    assert len(outcome.changes) == 1
    assert [(one.code, one.reason) for one in outcome.refused] == [
        ("gave-up", "given up after 1 attempts on this file")
    ]


def _writes(
    monkeypatch: pytest.MonkeyPatch, edits_for: object, platform: ModuleType = write
) -> None:
    """Changes are written by that, and not by the platform."""
    careless = SimpleNamespace(**vars(platform) | {"edits_for": edits_for})
    monkeypatch.setattr(f"{__name__}.writer_of", lambda _platform: careless)


_CONF = b"""\
[DEFAULT]
compute_driver = libvirt.LibvirtDriver
libvirt_use_virtio_for_bridges = true
# twice
libvirt_use_virtio_for_bridges = false

[libvirt]
virt_type = kvm
rx_queue_size = '2048'
"""


def test_options_of_nova() -> None:
    outcome = fixed(_CONF, "n01.conf", work(), writer_of, include_unsafe=False)
    assert _rules(outcome) == ["VNIC035", "VNIC061"]
    assert outcome.after == (
        b"[DEFAULT]\ncompute_driver = libvirt.LibvirtDriver\n# twice\n\n[libvirt]\n"
        b"virt_type = kvm\nrx_queue_size = '1024'\n"
    )


def test_what_is_only_read_is_left() -> None:
    data = b"qemu-system-x86_64 -machine pc -netdev tap,id=n -device e1000,netdev=n\n"
    outcome = fixed(data, "x", work(), writer_of, include_unsafe=True)
    assert outcome == FixedText(data, data, (), (), 0, None)


_MACHINE = b"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm1}
spec:
  template:
    spec:
      domain:
        cpu: {cores: 8}
        devices:
          interfaces:
          - name: first   # the first
            masquerade: {}
          - {name: second, bridge: {}, model: e1000}
      networks:
      - {name: first, pod: {}}
      - {name: second, multus: {networkName: x}}
"""


def test_a_virtual_machine_of_kubevirt() -> None:
    outcome = fixed(_MACHINE, "vm.yaml", work(), writer_of, include_unsafe=True)
    assert (_rules(outcome), outcome.refused) == (["VNIC030", "VNIC071"], ())
    assert outcome.after == _MACHINE.replace(b"e1000", b"virtio").replace(
        b"virtio}\n", b"virtio}\n          networkInterfaceMultiqueue: true\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b"masquerade", b"slirp", "something else of NIC 0 would change"),
        (b"cores: 8", b"cores: 9", "something else in the domain would change"),
        (b"name: vm1", b"name: vm2", "it would become another domain"),
    ],
)
def test_other_facts_of_a_virtual_machine_stay(
    old: bytes, new: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def careless(data: bytes, place: Location, change: Change) -> list[Edit]:
        start = data.index(old)
        wanted = kubevirt.edits_for(data, place, change)
        return [*wanted, Edit(start, start + len(old), new)]

    _writes(monkeypatch, careless, kubevirt)
    outcome = fixed(_MACHINE, "vm.yaml", work(), writer_of, include_unsafe=True)
    assert outcome.after == _MACHINE
    assert {one.reason for one in outcome.refused} == {reason}


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit(_CONF.index(b"virt_type"), _CONF.index(b"rx_"), b""), "another option"),
        (Edit(_CONF.index(b"'2048'"), _CONF.index(b"'2048'") + 6, b"512"), "another option"),
    ],
)
def test_other_options_of_nova_stay(
    edit: Edit, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _writes(monkeypatch, lambda *_: [edit], nova_conf)
    outcome = fixed(_CONF, "n01.conf", work(), writer_of, include_unsafe=False)
    assert outcome.after == _CONF
    assert {one.reason for one in outcome.refused} == {f"{reason} of the file would change"}


def test_a_change_of_another_option_than_stands_there() -> None:
    reading = Reader("n01.conf", work()).read(_CONF)
    finding = next(f for f in reading.findings().values() if f.rule == "VNIC035")
    made = MadeChange(0, finding, Change("virt_type", "kvm", "qemu", safe=True))
    assert objection(reading, reading, [made], writer_of) == "virt_type is no longer there"
