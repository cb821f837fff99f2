"""An e1000 with `<rom file='pxe-e1000.rom'/>` became virtio with that ROM, "safe", and the guest
had "No bootable device". So did one with a property behind libvirt's back that no virtio NIC has:
QEMU did not start."""

import pytest

from tests.remedy.planning.planned import (
    MAC,
    PC,
    Q35,
    SHARED,
    changed_lines,
    definition,
    interface,
    left,
    live,
    plan,
    step,
)
from tests.remedy.works import work
from tests.rows import rows
from vnicaudit.knowledge import to_virtio
from vnicaudit.model.host import HostConfig
from vnicaudit.model.plan import NotPlanned, UnitStep
from vnicaudit.remedy.planning.run import PlanOptions

OWN = "/usr/lib/ipxe/qemu/pxe-e1000.rom"
BOOT = "<boot order='1'/>\n      "
NAMESPACE = " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"
BEHIND = (
    "{} set behind libvirt's back (<qemu:override>, -set) for a device that is not virtio: "
    "with it, the guest would not start, or not boot; remove it first (virsh edit)"
)


def override(name: str, value: str = "x", alias: str = "net0", kind: str = "string") -> str:
    """`<qemu:override>` of one property."""
    return (
        f"<qemu:override><qemu:device alias='{alias}'><qemu:frontend><qemu:property name='{name}' "
        f"type='{kind}' value='{value}'/></qemu:frontend></qemu:device></qemu:override>"
    )


def set_by(text: str) -> str:
    """`<qemu:commandline>` with one `-set`."""
    return (
        f"<qemu:commandline><qemu:arg value='-set'/><qemu:arg value='{text}'/></qemu:commandline>"
    )


@pytest.mark.parametrize("machine", [PC, Q35])
@pytest.mark.parametrize("rom", ["pxe-e1000.rom", "efi-e1000.rom", "pxe-virtio.rom"])
def test_qemus_rom_for_the_old_device_goes_with_it(rom: str, machine: tuple[str, str]) -> None:
    children = f"{BOOT}<rom file='/usr/lib/ipxe/qemu/{rom}'/>"
    found = step(live(definition(interface("e1000", children=children), machine=machine)))
    assert found.safe
    assert [(one.field, one.new) for one in found.changes] == [
        ("model", "virtio"), ("rom_file", None),
    ]  # fmt: skip
    assert changed_lines(found.diff) == [
        "-      <model type='e1000'/>",
        "+      <model type='virtio'/>",
        f"-      <rom file='/usr/lib/ipxe/qemu/{rom}'/>",
    ]
    assert "the boot ROM is for the old device: without it QEMU gives the NIC its own" in (
        found.reason
    )


def test_no_word_of_a_rule_decides_whether_a_step_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reason was compared with a sentence: said otherwise, the step was called unsafe."""
    monkeypatch.setattr(to_virtio, "_OWN_ROM", "said otherwise")
    assert step(live(definition(interface(children=f"<rom file='{OWN}'/>")))).safe


def test_qemus_rom_makes_no_other_step_safe() -> None:
    text = definition(interface(children=f"<rom file='{OWN}'/>"), os=None)
    assert left(live(text)).code == "unsafe"
    asked = step(live(text), PlanOptions(unsafe=True))
    assert not asked.safe
    assert asked.readiness == "unknown"


def test_what_else_is_said_of_a_rom_stays() -> None:
    """With bar='off' the ROM of the old device is run all the same, and finds no device."""
    found = step(live(definition(interface(children=f"<rom bar='off' file='{OWN}'/>"))))
    assert changed_lines(found.diff) == [
        "-      <model type='e1000'/>", f"-      <rom bar='off' file='{OWN}'/>",
        "+      <model type='virtio'/>", "+      <rom bar='off'/>",
    ]  # fmt: skip


def test_a_rom_of_the_owners_is_not_dropped_unasked() -> None:
    source = live(definition(interface(children=f"{BOOT}<rom file='/srv/gpxe/our.rom'/>")))
    found = left(source)
    assert found.reason.startswith("unsafe: its boot ROM, a custom file")
    asked = step(source, PlanOptions(unsafe=True))
    assert [(one.field, one.safe) for one in asked.changes] == [
        ("model", False), ("rom_file", False),
    ]  # fmt: skip
    assert not asked.safe
    assert "the guest can no longer boot with it" in asked.reason


@pytest.mark.parametrize(
    ("behind", "names"),
    [
        (override("mitigation", "off"), "mitigation"),
        (override("romfile", OWN), "romfile"),
        (override("x-nobody-knows"), "x-nobody-knows"),
        (override("autonegotiation", "off") + override("mitigation", "on"),
         "autonegotiation, mitigation"),
        (set_by("device.net0.mitigation=off"), "mitigation"),
        (set_by("device.net0.romfile=/a.rom"), "romfile"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("options", [PlanOptions(), PlanOptions(unsafe=True)])
def test_a_property_of_the_old_device_alone_is_no_safe_step(
    behind: str, names: str, options: PlanOptions
) -> None:
    source = live(definition(interface(), behind=behind, root=NAMESPACE))
    found = left(source, options)
    assert found.reason == BEHIND.format(names)


@rows
def test_what_virtio_takes_or_another_device_has_is_no_hindrance(behind: str) -> None:
    found = step(live(definition(interface(), behind=behind, root=NAMESPACE)))
    assert (found.safe, found.blocked) == (True, ())


def test_an_alias_that_cannot_be_told_counts_for_each_nic_that_may_have_it() -> None:
    """A network may hand out host devices, which are counted by themselves."""
    text = definition(
        interface(kind="network"), interface("virtio", 2), interface("e1000", 3),
        behind=override("mitigation", "off", alias="net1"), root=NAMESPACE,
    )  # fmt: skip
    found = plan(live(text))
    reasons = {one.about.mac: one.reason for one in found if isinstance(one, NotPlanned)}
    assert reasons == {"52:54:00:00:00:03": BEHIND.format("mitigation")}
    assert [one.about.mac for one in found if isinstance(one, UnitStep)] == [MAC]


@pytest.mark.parametrize(
    ("to", "device"), [("vdpa", "/dev/vhost-vdpa-0"), ("vhostuser", "/run/vhu1")]
)
def test_another_backend_is_not_safer(to: str, device: str) -> None:
    options = PlanOptions(to=to, macs=(MAC,), devices=(device,))  # type: ignore[arg-type]
    text = definition(
        interface(), before=SHARED, behind=override("mitigation", "off"), root=NAMESPACE
    )
    found = step(live(text), options)
    (text,) = (one.text for one in found.blocked if one.code == "behind-libvirt")
    assert text.startswith("mitigation set behind libvirt's back")


def test_nobody_is_sent_to_edit_a_definition_that_nova_writes() -> None:
    nova = "<n:instance xmlns:n='http://openstack.org/xmlns/libvirt/nova/1.1'/>"
    text = definition(
        interface(), metadata=nova, behind=override("mitigation", "off"), root=NAMESPACE
    )
    (found,) = [one for one in plan(live(text)) if isinstance(one, NotPlanned)]
    assert found.reason.endswith("first make Nova write the definition without it")


def test_a_fix_in_place_does_not_do_it_either() -> None:
    """`audit --fix` changes the model alone: with a ROM that is unsafe, with a property no fix."""
    for text, safe in (
        (definition(interface(children=f"<rom file='{OWN}'/>")), False),
        (definition(interface(), behind=override("mitigation", "off"), root=NAMESPACE), None),
    ):
        audited = work().domain(live(text).domain, HostConfig(), "x")
        (finding,) = (one for one in audited.findings if one.rule == "VNIC002")
        assert (finding.change and finding.change.safe) is safe
        if safe is None:
            assert "Remove mitigation of this NIC from <qemu:override>" in finding.fix
